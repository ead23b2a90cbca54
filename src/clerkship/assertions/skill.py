"""Base classes of assertions on skills and their ordered blocks."""

from typing import Annotated, ClassVar

from pydantic import Field

from clerkship.assertions.occurrence import HappenedAssertion, Name
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
