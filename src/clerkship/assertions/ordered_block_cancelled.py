"""`ordered_block_cancelled`: an ordered block of a skill was cancelled."""

from typing import ClassVar

from clerkship.assertions.skill import BlockAssertion, StepMatch
from clerkship.events import agent
from clerkship.events.event import Payload


class OrderedBlockCancelled(BlockAssertion, StepMatch):
    """The block was cancelled, at `step_id` if given."""

    name: ClassVar[str] = "ordered_block_cancelled"
    event: ClassVar[type[Payload]] = agent.BlockCancelled
