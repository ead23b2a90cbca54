"""`skill_cancelled`: a skill was called off."""

from typing import ClassVar

from clerkship.assertions.skill import AtStep, Skill
from clerkship.events import agent
from clerkship.events.event import Payload


class SkillCancelled(Skill, AtStep):
    """The skill was called off, at the step given if one is."""

    name: ClassVar[str] = "skill_cancelled"
    event: ClassVar[type[Payload]] = agent.SkillCancelled
