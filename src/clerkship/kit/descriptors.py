"""The limits of this process: open files and sockets, which are divided between listeners, and memory."""

import asyncio
import gc
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from clerkship.model.errors import PlatformError


@contextmanager
def pause_garbage_collection() -> Iterator[None]:
    """Disable garbage collection while many objects are created and kept.

    There is no garbage to find, and each collection takes longer than the one before.
    """
    was = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was:
            gc.enable()


try:
    import resource
except ImportError:  # Windows has no such limits
    resource = None  # type: ignore[assignment]

MAX_DESCRIPTORS = 16_384
"""More than any run needs; a higher limit would only slow down code that iterates over all descriptors."""
RESERVED_DESCRIPTORS = 512
"""For everything but agents' connections: stores, reports, started programs."""
SHARE_COUNT = 4
"""HTTP, MLLP and SFTP get one share each, and the agents in this process the last one."""
MIN_DESCRIPTORS = 96
"""With fewer, a run is refused: the store, the listener and one agent need about half of them."""
UNLIMITED_FROM = 1024
"""With so many descriptors, the number of concurrent agents is not limited."""
DESCRIPTORS_PER_AGENT = 12
"""For one agent: its event loop, connections and the pipes of a program."""
REPEAT_AFTER = 10.0
"""Seconds before the same warning is logged again."""

logger = logging.getLogger("clerkship")


def raise_limit() -> int:
    """Raise the limit as far as the system allows, and return it."""
    if resource is None:
        return MAX_DESCRIPTORS
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = MAX_DESCRIPTORS if hard == resource.RLIM_INFINITY else min(MAX_DESCRIPTORS, hard)
    for target in (most, most // 2):  # some systems accept less than they report
        if soft == resource.RLIM_INFINITY or soft >= target:
            break
        try:
            resource.setrlimit(resource.RLIMIT_NOFILE, (target, hard))
        except (OSError, ValueError):
            continue
        return target
    return MAX_DESCRIPTORS if soft == resource.RLIM_INFINITY else soft


class TooFewDescriptors(PlatformError):
    """This process may not open enough files for a run."""


def check_limit() -> None:
    """Raise TooFewDescriptors if the limit is too low to start a run."""
    limit = raise_limit()
    if limit < MIN_DESCRIPTORS:
        raise TooFewDescriptors(
            f"this process may open {limit} files and sockets; a run needs at least {MIN_DESCRIPTORS}; "
            "raise the limit, for example with `ulimit -n 1024`"
        )


def limit_agents(wanted: int) -> int:
    """Return how many agents may run at once without running out of descriptors, at most `wanted`."""
    limit = raise_limit()
    return (
        wanted
        if limit >= UNLIMITED_FROM
        else max(1, min(wanted, (limit - MIN_DESCRIPTORS // 2) // DESCRIPTORS_PER_AGENT))
    )


def max_connections() -> int:
    """Return how many connections one kind of listener may accept."""
    limit = raise_limit()
    return max(limit - max(RESERVED_DESCRIPTORS, limit // 4), SHARE_COUNT) // SHARE_COUNT


class ThrottledErrorHandler:
    """An event loop's exception handler that logs one line without a traceback, and repeats it only after a while.

    A broken connection is the agent's problem. Thousands of tracebacks would hide everything else.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self._logged_at: dict[str, float] = {}

    def __call__(self, loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        error = context.get("exception")
        message = f"{context.get('message', 'unknown error')}" + (f": {type(error).__name__}" if error else "")
        if loop.time() - self._logged_at.get(message, -REPEAT_AFTER) >= REPEAT_AFTER:
            self._logged_at = (
                {**self._logged_at, message: loop.time()} if len(self._logged_at) < MAX_DESCRIPTORS else {}
            )
            logger.warning("%s: %s", self._name, message)
