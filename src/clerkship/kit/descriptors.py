"""The limit on open files and sockets of this process: raise it, and divide it between listeners."""

import asyncio
import logging
from typing import Any

from clerkship.model.errors import PlatformError

try:
    import resource
except ImportError:  # not every system has such limits
    resource = None  # type: ignore[assignment]

MAX_DESCRIPTORS = 16_384
"""More than any run needs: what is beyond it would only be a longer list to go through."""
RESERVED_DESCRIPTORS = 512
"""For all that is no connection of an agent: stores, reports, programs that are started."""
SHARE_COUNT = 4
"""HTTP, MLLP and SFTP have one each, and the agents in this process the last."""
MIN_DESCRIPTORS = 96
"""Below it a run is refused: the store, the listener and one agent take about half of them."""
UNLIMITED_FROM = 1024
"""From here on the number of agents at once is not limited."""
DESCRIPTORS_PER_AGENT = 12
"""What one agent may need: its event loop, connections and the pipes of a program."""
REPEAT_AFTER = 10.0
"""Seconds between two words about the same thing."""

logger = logging.getLogger("clerkship")


def raise_limit() -> int:
    """Raise the limit as far as the system allows, and return it."""
    if resource is None:
        return MAX_DESCRIPTORS
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = MAX_DESCRIPTORS if hard == resource.RLIM_INFINITY else min(MAX_DESCRIPTORS, hard)
    for wanted in (most, most // 2):  # some systems take less than they say
        if soft == resource.RLIM_INFINITY or soft >= wanted:
            break
        try:
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
        except (OSError, ValueError):
            continue
        return wanted
    return MAX_DESCRIPTORS if soft == resource.RLIM_INFINITY else soft


class TooFewDescriptors(PlatformError):
    """This process may not open enough files for a run."""


def check_limit() -> None:
    """Raise TooFewDescriptors if the limit is too low to start a run."""
    limit = raise_limit()
    if limit < MIN_DESCRIPTORS:
        raise TooFewDescriptors(
            f"this process may open {limit} files and sockets, and a run needs at least {MIN_DESCRIPTORS}; "
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
        self._said: dict[str, float] = {}

    def __call__(self, loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        error = context.get("exception")
        what = f"{context.get('message', 'something went wrong')}" + (f": {type(error).__name__}" if error else "")
        if loop.time() - self._said.get(what, -REPEAT_AFTER) >= REPEAT_AFTER:
            self._said = {**self._said, what: loop.time()} if len(self._said) < MAX_DESCRIPTORS else {}
            logger.warning("%s: %s", self._name, what)
