"""`skill_interrupted`: a skill was put aside for another."""

from typing import ClassVar

from clerkship.assertions.skill import SkillAssertion, StepMatch
from clerkship.events import agent
from clerkship.events.event import Payload


class SkillInterruptedAssertion(SkillAssertion, StepMatch):
    """The skill was put aside, at the step given if one is."""

    name: ClassVar[str] = "skill_interrupted"
    event: ClassVar[type[Payload]] = agent.SkillInterrupted
