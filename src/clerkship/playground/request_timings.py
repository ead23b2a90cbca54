"""Decide which requests are answered on the event loop, and which by a worker thread.

A request on the event loop delays every other connection, so only quick ones are answered there. Requests of the
same cost key (operation and names of the query parameters) take about the same time, so the last one with a key
decides.
"""

from collections.abc import Sized

from clerkship.sandbox.operation import ProtocolCall

MAX_QUICK_SECONDS = 0.01
MAX_QUICK_BODY = 32_768
MAX_QUICK_PARAMETERS = 20
MAX_SMALL_DATASET = 500
"""Records of a dataset that is so small that every request is quick."""
MAX_COST_KEYS = 4096
"""Cost keys remembered for one environment. Limited, because the agent chooses the names in them."""
CostKey = tuple[str, tuple[str, ...]]


def build_cost_key(call: ProtocolCall) -> CostKey | None:
    """Return the cost key of a request, or None if it always needs a worker thread."""
    names = call.cost_key() if len(call.body) <= MAX_QUICK_BODY else None
    if call.operation is None or names is None or len(names) > MAX_QUICK_PARAMETERS:
        return None
    return call.operation.name, names


class RequestTimings:
    """Whether the last request with each cost key was quick, in all playgrounds of one environment."""

    __slots__ = ("_quick",)

    def __init__(self) -> None:
        self._quick: dict[CostKey, bool] = {}

    def is_quick(self, cost_key: CostKey, records: Sized) -> bool:
        """Return whether the last request with this cost key was quick.

        The first one with a key may have to build an index, so it counts as slow if the dataset is not small.
        """
        quick = self._quick.get(cost_key)
        return len(records) <= MAX_SMALL_DATASET if quick is None else quick

    def record(self, cost_key: CostKey, seconds: float) -> None:
        """Remember how long a request with this cost key took, without the time that it waited for its playground."""
        if cost_key in self._quick or len(self._quick) < MAX_COST_KEYS:
            self._quick[cost_key] = seconds <= MAX_QUICK_SECONDS
