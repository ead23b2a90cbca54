"""`skill_cancelled`: a skill was cancelled."""

from typing import ClassVar

from clerkship.assertions.skill import SkillAssertion, StepMatch
from clerkship.events import agent
from clerkship.events.event import Payload


class SkillCancelledAssertion(SkillAssertion, StepMatch):
    """The skill was cancelled, at `step_id` if given."""

    name: ClassVar[str] = "skill_cancelled"
    event: ClassVar[type[Payload]] = agent.SkillCancelled
