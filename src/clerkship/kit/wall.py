"""The real clock, for what lies outside a playground: when a run was started, how long it took."""

import time
from datetime import UTC, datetime

monotonic = time.monotonic
perf_counter = time.perf_counter


def now() -> datetime:
    """The real time, in UTC."""
    return datetime.now(UTC)
