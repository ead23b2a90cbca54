"""`skill_resumed`: an interrupted skill was resumed."""

from typing import ClassVar

from clerkship.assertions.skill import SkillAssertion, StepMatch
from clerkship.events import agent
from clerkship.events.event import Payload


class SkillResumedAssertion(SkillAssertion, StepMatch):
    """The skill was resumed, at `step_id` if given."""

    name: ClassVar[str] = "skill_resumed"
    event: ClassVar[type[Payload]] = agent.SkillResumed
