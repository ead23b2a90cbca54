"""Assertions on skills and their ordered blocks: `skill_…` and `ordered_block_…`."""

from types import new_class
from typing import Annotated, ClassVar, cast

from pydantic import Field

from clerkship.assertions.occurrence import HappenedAssertion, Name
from clerkship.events import agent
from clerkship.events.event import Payload
from clerkship.model.frozen import Frozen
from clerkship.sandbox.assertion import Engine


class SkillAssertion(HappenedAssertion):
    """Events of one skill."""

    engines: ClassVar[tuple[Engine, ...]] = ("mantle",)
    about: ClassVar[str] = "skill_id"
    shorthand: ClassVar[str | None] = "skill_id"
    skill_id: Annotated[Name, Field(description="the skill; a bare name sets this field (ours)")]


class BlockAssertion(HappenedAssertion):
    """Events of one ordered block."""

    engines: ClassVar[tuple[Engine, ...]] = ("mantle",)
    about: ClassVar[str] = "block_id"
    skill_id: Annotated[Name, Field(description="the skill it is part of")]
    block_id: Annotated[Name, Field(description="the block")]


class StepMatch(Frozen):
    """The step at which an event happened."""

    step_id: Annotated[Name | None, Field(description="the step at which it happened; any if not given")] = None


ALL: list[type[HappenedAssertion]] = []
"""Every assertion of this module."""


def _build(name: str, event: type[Payload], does: str) -> type[HappenedAssertion]:
    """Build the class of an assertion whose event says all about it; `does` is the end of its docstring."""
    base = SkillAssertion if name.startswith("skill_") else BlockAssertion
    has_step = "step_id" in event.model_fields
    description = f"The {base.about.removesuffix('_id')} {does}{', at `step_id` if given' if has_step else ''}."
    fields = {"name": name, "event": event, "__doc__": description, "__module__": __name__}
    class_name = "".join(map(str.capitalize, name.split("_"))) + "Assertion"
    bases = (base, StepMatch) if has_step else (base,)
    built = new_class(class_name, bases, exec_body=lambda space: space.update(fields))
    ALL.append(cast(type[HappenedAssertion], built))
    return ALL[-1]


SkillActivatedAssertion = _build("skill_activated", agent.SkillActivated, "was activated")
SkillCompletedAssertion = _build("skill_completed", agent.SkillCompleted, "completed")
SkillCancelledAssertion = _build("skill_cancelled", agent.SkillCancelled, "was cancelled")
SkillInterruptedAssertion = _build("skill_interrupted", agent.SkillInterrupted, "was interrupted")
SkillResumedAssertion = _build("skill_resumed", agent.SkillResumed, "was resumed")
OrderedBlockEnteredAssertion = _build("ordered_block_entered", agent.BlockEntered, "was entered")
OrderedBlockCompletedAssertion = _build("ordered_block_completed", agent.BlockCompleted, "completed")
OrderedBlockCancelledAssertion = _build("ordered_block_cancelled", agent.BlockCancelled, "was cancelled")
OrderedBlockInterruptedAssertion = _build("ordered_block_interrupted", agent.BlockInterrupted, "was interrupted")
OrderedBlockResumedAssertion = _build("ordered_block_resumed", agent.BlockResumed, "was resumed")
