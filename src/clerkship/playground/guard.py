"""Run code of a simulator outside of a request: where it fails, the run is errored."""

from collections.abc import Callable
from typing import TypeVar

from clerkship.playground.failure import SimulatorBroken, record_failure
from clerkship.playground.playground import Playground

T = TypeVar("T")


def guard(playground: Playground, title: str, work: Callable[[], T]) -> T:
    """Return what `work` returns; raise SimulatorBroken where it fails."""
    try:
        return work()
    except Exception as error:  # a simulator's bug is ours: the run is errored, the agent not blamed
        with playground.lock:
            raise SimulatorBroken(record_failure(playground, error, title)) from error
