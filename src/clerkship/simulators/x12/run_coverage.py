"""What run coverage counts at a clearinghouse: the transaction sets that were requested and answered."""

from clerkship.sandbox.run_coverage import CoverageDimension
from clerkship.simulators.x12.events import ANSWERED_EVENTS, REQUESTED_EVENTS

_SETS = {event.kind: ("requested", code) for code, event in REQUESTED_EVENTS.items()}
_SETS |= {event.kind: ("answered", code) for code, event in ANSWERED_EVENTS.items()}
DIMENSIONS = (
    CoverageDimension(
        "X12 transaction sets", lambda config, base: _SETS.values(), lambda event: [_SETS[event["kind"]]]
    ),
)
