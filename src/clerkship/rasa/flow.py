"""A flow of a Rasa project: its steps, and where each leads."""

from typing import Annotated, Literal, NamedTuple

from pydantic import Field, JsonValue

from clerkship.model.frozen import Frozen

StepKind = Literal["collect", "action", "call", "link", "set_slots", "noop"]
END = "END"
"""What a step is followed by when the flow is over."""


class FlowEdge(NamedTuple):
    """One way from a step to the next."""

    to: int | None
    """The step by its number; None where the flow ends."""
    condition: str | None = None
    """When it leads there; None if always, or if nothing before it held."""
    unless: tuple[str, ...] = ()
    """The conditions before it, none of which held."""


class FlowStep(Frozen):
    """One step: what it does, its target, and where it leads."""

    id: Annotated[str | None, Field(description="as its author calls it")] = None
    kind: StepKind
    target: Annotated[str, Field(description="a slot, an action, a flow")] = ""
    hint: Annotated[str, Field(description="what its author says of it")] = ""
    rejections: Annotated[tuple[str, ...], Field(description="responses to a value that will not do")] = ()
    slots: Annotated[dict[str, JsonValue], Field(description="that it sets")] = {}
    edges: tuple[FlowEdge, ...] = ()


class Flow(Frozen):
    """One flow of an assistant."""

    id: str
    name: str = ""
    description: str = ""
    guard: Annotated[str | None, Field(description="the condition under which people may start it")] = None
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
