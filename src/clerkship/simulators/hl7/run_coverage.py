"""What run coverage counts at an interface engine: message types with their trigger events, in each direction."""

from clerkship.formats.hl7.tables import DEFAULT_VERSION, load_tables
from clerkship.sandbox.run_coverage import CoverageDimension
from clerkship.simulators.hl7.events import ARRIVED_EVENTS, SENT_EVENTS

_TYPES = {event.kind: (f"{type} sent", type) for type, event in SENT_EVENTS.items()}
_TYPES |= {event.kind: (f"{type} arrived", type) for type, event in ARRIVED_EVENTS.items()}
DIMENSIONS = (
    CoverageDimension(
        "HL7 message types",
        lambda config, base: [
            (group, trigger)
            for group, type in _TYPES.values()
            for trigger in load_tables(DEFAULT_VERSION)["events"].get(type, ())
        ],
        lambda event: [(_TYPES[event["kind"]][0], event["payload"]["trigger"])],
    ),
)
