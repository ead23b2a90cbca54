"""Run code of a simulator outside of a request: where it fails, the run is errored."""

from collections.abc import Callable
from typing import TypeVar

from clerkship.playground.failure import SimulatorBroken, record_failure
from clerkship.playground.playground import Playground

T = TypeVar("T")


def guard(playground: Playground, title: str, work: Callable[[], T], *, waits: bool = True) -> T:
    """Return what `work` returns; where it fails, record that and raise SimulatorBroken.

    Without `waits`, as on an event loop, the error is raised as it is and not recorded if the playground is locked.
    """
    try:
        return work()
    except Exception as error:  # a simulator's bug is ours: the run is errored, the agent not blamed
        if not playground.lock.acquire(blocking=waits):
            raise
        try:
            raise SimulatorBroken(record_failure(playground, error, title)) from error
        finally:
            playground.lock.release()
