"""What run coverage counts in tables: the functions of the dataset, called and refused."""

from clerkship.sandbox.run_coverage import CoverageDimension, CoveredItem, LoggedEvent
from clerkship.simulators.tables.events import FunctionCalled
from clerkship.simulators.tables.table_set import TableSet


def _find_called(event: LoggedEvent) -> list[CoveredItem]:
    payload = event["payload"]
    if event["kind"] != FunctionCalled.kind or event["actor"] != "agent":
        return []
    return [("refused" if payload["refusal"] else "called", payload["name"])]


DIMENSIONS = (
    CoverageDimension(
        "functions of tables",
        lambda config, base: [
            (outcome, name)
            for outcome in ("called", "refused")
            for name in (base.agent_function_names if isinstance(base, TableSet) else ())
        ],
        _find_called,
    ),
)
