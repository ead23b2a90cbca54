"""The HTTP routes of tables. The route of a function follows from the dataset."""

from typing import Any

from clerkship.sandbox.route import Route
from clerkship.simulators.tables.operations import build_operation, list_functions, read_policy
from clerkship.simulators.tables.table_set import TableSet

MAX_ARGUMENTS = 100_000
"""Bytes of the arguments of one call. They are stored in the log."""

ROUTES = (
    Route("GET", "/functions", list_functions),
    Route("GET", "/policy", read_policy),
)


def build_function_routes(config: Any, base: Any) -> tuple[Route, ...]:
    """Return the route of each function of a dataset."""
    functions = base.agent_functions if isinstance(base, TableSet) else ()
    return tuple(
        Route("POST", f"/functions/{each.name}", build_operation(each), max_body=MAX_ARGUMENTS) for each in functions
    )
