"""`skill_interrupted`: a skill was interrupted by another."""

from typing import ClassVar

from clerkship.assertions.skill import SkillAssertion, StepMatch
from clerkship.events import agent
from clerkship.events.event import Payload


class SkillInterruptedAssertion(SkillAssertion, StepMatch):
    """The skill was interrupted, at `step_id` if given."""

    name: ClassVar[str] = "skill_interrupted"
    event: ClassVar[type[Payload]] = agent.SkillInterrupted
