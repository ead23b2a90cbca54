"""`skill_cancelled`: a skill was called off."""

from typing import ClassVar

from clerkship.assertions.skill import SkillAssertion, StepMatch
from clerkship.events import agent
from clerkship.events.event import Payload


class SkillCancelledAssertion(SkillAssertion, StepMatch):
    """The skill was called off, at the step given if one is."""

    name: ClassVar[str] = "skill_cancelled"
    event: ClassVar[type[Payload]] = agent.SkillCancelled
