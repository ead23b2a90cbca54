"""`skill_completed`: a skill did what it is for."""

from typing import ClassVar

from clerkship.assertions.skill import SkillAssertion
from clerkship.events import agent
from clerkship.events.event import Payload


class SkillCompletedAssertion(SkillAssertion):
    """The skill did what it is for."""

    name: ClassVar[str] = "skill_completed"
    event: ClassVar[type[Payload]] = agent.SkillCompleted
