"""Record a failure of the platform in the trial in which it happens."""

import sys
from collections.abc import Callable
from typing import TypeVar

from clerkship.kit.text import describe_error, render_traceback
from clerkship.model.errors import PlatformError
from clerkship.playground.playground import Playground

TRACEBACK = "platform_traceback"
"""The key in a trial's sidecar under which the traceback is stored."""
MAX_CALLER_DEPTH = 300
"""Stack frames above a request. If there are more, the agent itself recurses."""
T = TypeVar("T")


class SimulatorBroken(PlatformError):
    """Raised when a simulator fails with a bug."""


def record_failure(playground: Playground, error: BaseException, operation: str) -> str:
    """Mark a playground as broken, unless it already is; return the reason."""
    if playground.broken is None:
        playground.broken = playground.redact(f"{operation}: {describe_error(error)}")
        playground.sidecar.facts[TRACEBACK] = playground.redact(render_traceback(error))
    return playground.broken


def guard(playground: Playground, title: str, work: Callable[[], T]) -> T:
    """Run code of a simulator outside of a request. If it fails, record the failure and raise SimulatorBroken."""
    try:
        return work()
    except Exception as error:  # a bug of a simulator is not a failure of the agent: the trial is errored
        with playground.lock:
            raise SimulatorBroken(record_failure(playground, error, title)) from error


def call_depth() -> int:
    """Count the stack frames of the caller."""
    frame, depth = sys._getframe(1), 0
    while frame.f_back is not None:
        frame, depth = frame.f_back, depth + 1
    return depth
