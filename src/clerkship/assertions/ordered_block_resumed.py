"""`ordered_block_resumed`: an interrupted block of a skill was resumed."""

from typing import ClassVar

from clerkship.assertions.skill import BlockAssertion, StepMatch
from clerkship.events import agent
from clerkship.events.event import Payload


class OrderedBlockResumed(BlockAssertion, StepMatch):
    """The block was resumed, at `step_id` if given."""

    name: ClassVar[str] = "ordered_block_resumed"
    event: ClassVar[type[Payload]] = agent.BlockResumed
