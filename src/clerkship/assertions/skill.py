"""A skill, and an ordered block of one: what the checks on either take."""

from typing import Annotated, ClassVar

from pydantic import Field

from clerkship.assertions.contract import Engine
from clerkship.assertions.occurrence import HappenedAssertion, Name
from clerkship.model.frozen import Frozen


class SkillAssertion(HappenedAssertion):
    """Which skill is meant."""

    engines: ClassVar[tuple[Engine, ...]] = ("mantle",)
    about: ClassVar[str] = "skill_id"
    shorthand: ClassVar[str | None] = "skill_id"
    skill_id: Annotated[Name, Field(description="the skill; a bare name is one (ours)")]


class BlockAssertion(HappenedAssertion):
    """Which ordered block is meant."""

    engines: ClassVar[tuple[Engine, ...]] = ("mantle",)
    about: ClassVar[str] = "block_id"
    skill_id: Annotated[Name, Field(description="the skill it is part of")]
    block_id: Annotated[Name, Field(description="the block")]


class StepMatch(Frozen):
    """The step something was at."""

    step_id: Annotated[Name | None, Field(description="the step it was at; any if not given")] = None
