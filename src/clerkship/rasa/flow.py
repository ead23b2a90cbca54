"""A flow of a Rasa project, as its file has it: steps, and where each leads."""

from typing import Annotated, Literal, NamedTuple

from pydantic import Field, JsonValue

from clerkship.model.frozen import Frozen

StepKind = Literal["collect", "action", "call", "link", "set_slots", "noop"]
END = "END"
"""What a step is followed by when the flow is over."""


class FlowEdge(NamedTuple):
    """Where a step may lead."""

    to: int | None
    """The step by its number; None where the flow ends."""
    condition: str | None = None
    """When it leads there; None if always, or if nothing before it held."""
    unless: tuple[str, ...] = ()
    """The conditions before it, none of which held."""


class FlowStep(Frozen):
    """One step: what it does, of what, and where it leads."""

    id: Annotated[str | None, Field(description="as its author calls it")] = None
    kind: StepKind
    target: Annotated[str, Field(description="a slot, an action, a flow")] = ""
    hint: Annotated[str, Field(description="what its author says of it")] = ""
    rejections: Annotated[tuple[str, ...], Field(description="responses to a value that will not do")] = ()
    slots: Annotated[dict[str, JsonValue], Field(description="that it sets")] = {}
    edges: tuple[FlowEdge, ...] = ()


class Flow(Frozen):
    """One thing an assistant does for people."""

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
        """What people call it."""
        return self.name or self.id.replace("_", " ").replace("-", " ").strip() or self.id

    @property
    def is_for_people(self) -> bool:
        """Whether a person may start it; others are called by flows alone."""
        return (self.guard or "").strip().lower() not in ("false", "0", "no")
