"""`ordered_block_resumed`: an ordered block of a skill that was put aside went on."""

from typing import ClassVar

from clerkship.assertions.skill import BlockAssertion, StepMatch
from clerkship.events import agent
from clerkship.events.event import Payload


class OrderedBlockResumed(BlockAssertion, StepMatch):
    """The block went on, at the step given if one is."""

    name: ClassVar[str] = "ordered_block_resumed"
    event: ClassVar[type[Payload]] = agent.BlockResumed
