"""What run coverage counts in charts: the agent's interactions with each resource type."""

from clerkship.sandbox.run_coverage import CoverageDimension, CoveredItem, LoggedEvent
from clerkship.simulators.fhir.events import HistoryRead

_READS, _WRITES = ("read", "vread", "search", "history"), ("create", "update", "patch", "delete")


def _find_interaction(event: LoggedEvent) -> list[CoveredItem]:
    """Return type and interaction of a request of the agent; nothing for a search of all types."""
    payload = event["payload"]
    name = "history" if event["kind"] == HistoryRead.kind else payload["operation"]
    return [(payload["type"], name)] if event["actor"] == "agent" and payload["type"] else []


DIMENSIONS = (
    CoverageDimension(
        "FHIR interactions",
        # Only with types that the chart has at the start: R4 has many that no suite needs.
        lambda config, chart: [
            (type, name) for type in chart.types for name in (_READS if config.read_only else _READS + _WRITES)
        ],
        _find_interaction,
    ),
)
