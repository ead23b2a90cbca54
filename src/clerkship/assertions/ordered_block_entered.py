"""`ordered_block_entered`: an ordered block of a skill was entered."""

from typing import ClassVar

from clerkship.assertions.skill import BlockAssertion
from clerkship.events import agent
from clerkship.events.event import Payload


class OrderedBlockEntered(BlockAssertion):
    """The block was entered."""

    name: ClassVar[str] = "ordered_block_entered"
    event: ClassVar[type[Payload]] = agent.BlockEntered
