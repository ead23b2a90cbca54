"""`skill_resumed`: a skill that was put aside went on."""

from typing import ClassVar

from clerkship.assertions.skill import SkillAssertion, StepMatch
from clerkship.events import agent
from clerkship.events.event import Payload


class SkillResumedAssertion(SkillAssertion, StepMatch):
    """The skill went on, at the step given if one is."""

    name: ClassVar[str] = "skill_resumed"
    event: ClassVar[type[Payload]] = agent.SkillResumed
