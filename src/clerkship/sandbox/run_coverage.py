"""What run coverage counts in sandboxes of one kind, such as the nodes of phone trees: see `run_coverage` of a SPEC."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

LoggedEvent = Mapping[str, Any]
"""An event as its log line has it."""
CoveredItem = tuple[str, str]
"""Something that a run can exercise: what it belongs to, such as a phone tree, and its name."""


class CoverageDimension(NamedTuple):
    """One table of run coverage."""

    name: str
    """What it counts, in the plural, for readers: `phone nodes`."""
    list_possible: Callable[[Any, Any], Iterable[CoveredItem]]
    """Returns what a sandbox with this config and base can do."""
    find_exercised: Callable[[LoggedEvent], Iterable[CoveredItem]]
    """Returns what an event of such a sandbox exercised. A KeyError means nothing: other kinds of event have other
    fields, and large fields are stored beside the log."""
