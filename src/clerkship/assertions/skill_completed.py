"""`skill_completed`: a skill completed."""

from typing import ClassVar

from clerkship.assertions.skill import SkillAssertion
from clerkship.events import agent
from clerkship.events.event import Payload


class SkillCompletedAssertion(SkillAssertion):
    """The skill completed."""

    name: ClassVar[str] = "skill_completed"
    event: ClassVar[type[Payload]] = agent.SkillCompleted
