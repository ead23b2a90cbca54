"""A criterion: a labelled, weighted, typed assertion on a task."""

from collections.abc import Collection
from typing import Annotated

from pydantic import Field

from clerkship.model.call import AssertionCall
from clerkship.model.frozen import Flag, Frozen, Number


class Criterion(Frozen):
    """What must be true at the end, how much it counts, and whether the run fails without it."""

    label: Annotated[str, Field(min_length=1, description="what is checked, in words for a reviewer")]
    assertion: Annotated[AssertionCall, Field(description="a map with one key, the assertion's name")]
    weight: Annotated[
        Number, Field(ge=0, le=1_000_000, description="weight in the task's score; 0: shown, but not counted")
    ] = 1.0
    axis: Annotated[str | None, Field(description="group of criteria with a score of its own, such as safety")] = None
    input_entity_id: Annotated[
        str | None, Field(description="one of the task's entity ids: only what is about that record is checked")
    ] = None
    gate: Annotated[
        Flag | None,
        Field(
            description="whether the run fails if this fails, whatever the score; default: if `gate_axes` has its axis"
        ),
    ] = None

    def gated_by(self, axes: Collection[str]) -> "Criterion":
        """Return a copy with `gate` set: as written, otherwise by whether its axis is one of these."""
        names = {axis.strip().casefold() for axis in axes}
        gate = (self.axis or "").strip().casefold() in names if self.gate is None else self.gate
        return self if gate is self.gate else self.model_copy(update={"gate": gate})
