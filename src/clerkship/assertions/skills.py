"""Assertions on skills and their ordered blocks: `skill_…` and `ordered_block_…`."""

from typing import Annotated, ClassVar

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


class SkillActivatedAssertion(SkillAssertion):
    """The skill was activated."""

    name: ClassVar[str] = "skill_activated"
    event: ClassVar[type[Payload]] = agent.SkillActivated


class SkillCompletedAssertion(SkillAssertion):
    """The skill completed."""

    name: ClassVar[str] = "skill_completed"
    event: ClassVar[type[Payload]] = agent.SkillCompleted


class SkillCancelledAssertion(SkillAssertion, StepMatch):
    """The skill was cancelled, at `step_id` if given."""

    name: ClassVar[str] = "skill_cancelled"
    event: ClassVar[type[Payload]] = agent.SkillCancelled


class SkillInterruptedAssertion(SkillAssertion, StepMatch):
    """The skill was interrupted, at `step_id` if given."""

    name: ClassVar[str] = "skill_interrupted"
    event: ClassVar[type[Payload]] = agent.SkillInterrupted


class SkillResumedAssertion(SkillAssertion, StepMatch):
    """The skill was resumed, at `step_id` if given."""

    name: ClassVar[str] = "skill_resumed"
    event: ClassVar[type[Payload]] = agent.SkillResumed


class OrderedBlockEntered(BlockAssertion):
    """The block was entered."""

    name: ClassVar[str] = "ordered_block_entered"
    event: ClassVar[type[Payload]] = agent.BlockEntered


class OrderedBlockCompleted(BlockAssertion, StepMatch):
    """The block completed, at `step_id` if given."""

    name: ClassVar[str] = "ordered_block_completed"
    event: ClassVar[type[Payload]] = agent.BlockCompleted


class OrderedBlockCancelled(BlockAssertion, StepMatch):
    """The block was cancelled, at `step_id` if given."""

    name: ClassVar[str] = "ordered_block_cancelled"
    event: ClassVar[type[Payload]] = agent.BlockCancelled


class OrderedBlockInterrupted(BlockAssertion, StepMatch):
    """The block was interrupted, at `step_id` if given."""

    name: ClassVar[str] = "ordered_block_interrupted"
    event: ClassVar[type[Payload]] = agent.BlockInterrupted


class OrderedBlockResumed(BlockAssertion, StepMatch):
    """The block was resumed, at `step_id` if given."""

    name: ClassVar[str] = "ordered_block_resumed"
    event: ClassVar[type[Payload]] = agent.BlockResumed
