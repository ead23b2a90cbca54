"""`skill_activated`: a skill was activated."""

from typing import ClassVar

from clerkship.assertions.skill import SkillAssertion
from clerkship.events import agent
from clerkship.events.event import Payload


class SkillActivatedAssertion(SkillAssertion):
    """The skill was activated."""

    name: ClassVar[str] = "skill_activated"
    event: ClassVar[type[Payload]] = agent.SkillActivated
