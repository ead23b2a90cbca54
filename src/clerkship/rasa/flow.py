"""A flow of a Rasa project: its steps, and where each leads."""

from typing import Annotated, Literal, NamedTuple

from pydantic import Field, JsonValue

from clerkship.model.frozen import Frozen

StepKind = Literal["collect", "action", "call", "link", "set_slots", "noop"]
END = "END"
"""The `next` of a step that ends the flow."""


class FlowEdge(NamedTuple):
    """One way from a step to the next."""

    to: int | None
    """The number of the next step; None if the flow ends."""
    condition: str | None = None
    """The condition; None if there is none."""
    unless: tuple[str, ...] = ()
    """The conditions of earlier branches, which must all be false."""


class FlowStep(Frozen):
    """One step: what it does, its target, and where it leads."""

    id: Annotated[str | None, Field(description="id of the step")] = None
    kind: StepKind
    target: Annotated[str, Field(description="name of a slot, an action or a flow")] = ""
    hint: Annotated[str, Field(description="description of the step")] = ""
    rejections: Annotated[tuple[str, ...], Field(description="responses to an invalid value")] = ()
    rejected_if: Annotated[tuple[str, ...], Field(description="conditions under which a value is invalid")] = ()
    slots: Annotated[dict[str, JsonValue], Field(description="slots that it sets")] = {}
    edges: tuple[FlowEdge, ...] = ()


class Flow(Frozen):
    """One flow of an assistant."""

    id: str
    name: str = ""
    description: str = ""
    guard: Annotated[str | None, Field(description="condition for users to start it")] = None
    steps: tuple[FlowStep, ...]
    file: str = ""
    line: int = 0
    column: int = 0

    @property
    def words(self) -> str:
        """The name of the flow for people."""
        return self.name or self.id.replace("_", " ").replace("-", " ").strip() or self.id

    @property
    def is_for_people(self) -> bool:
        """Whether a user can start it. Other flows are only called by flows."""
        return (self.guard or "").strip().lower() not in ("false", "0", "no")
