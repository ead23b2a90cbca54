"""`ordered_block_cancelled`: an ordered block of a skill was called off."""

from typing import ClassVar

from clerkship.assertions.skill import BlockAssertion, StepMatch
from clerkship.events import agent
from clerkship.events.event import Payload


class OrderedBlockCancelled(BlockAssertion, StepMatch):
    """The block was called off, at the step given if one is."""

    name: ClassVar[str] = "ordered_block_cancelled"
    event: ClassVar[type[Payload]] = agent.BlockCancelled
