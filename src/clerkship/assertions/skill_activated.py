"""`skill_activated`: a skill was taken up."""

from typing import ClassVar

from clerkship.assertions.skill import SkillAssertion
from clerkship.events import agent
from clerkship.events.event import Payload


class SkillActivatedAssertion(SkillAssertion):
    """The skill was taken up."""

    name: ClassVar[str] = "skill_activated"
    event: ClassVar[type[Payload]] = agent.SkillActivated
