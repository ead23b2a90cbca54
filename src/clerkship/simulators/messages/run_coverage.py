"""What run coverage counts in messages: the channels, in each direction."""

from typing import get_args

from clerkship.sandbox.run_coverage import CoverageDimension
from clerkship.simulators.messages.events import MessageArrived, MessageSent
from clerkship.simulators.messages.records import Channel

_DIRECTIONS = {MessageSent.kind: "sent", MessageArrived.kind: "arrived"}
DIMENSIONS = (
    CoverageDimension(
        "message channels",
        lambda config, base: [(channel, each) for channel in get_args(Channel) for each in _DIRECTIONS.values()],
        lambda event: [(event["payload"]["header"]["channel"], _DIRECTIONS[event["kind"]])],
    ),
)
