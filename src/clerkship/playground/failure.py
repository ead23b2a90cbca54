"""Record a failure of the platform in the run it happens in: the operation, the error and the traceback."""

from clerkship.kit.traceback_text import describe, render_traceback
from clerkship.playground.playground import Playground

TRACEBACK = "platform_traceback"
"""Name of the fact in a run's sidecar that holds the traceback."""


def record_failure(playground: Playground, error: BaseException, operation: str) -> str:
    """Mark a playground as broken by a bug of ours, unless it is already; return the reason."""
    if playground.broken is None:
        playground.broken = playground.redacted(f"{operation}: {describe(error)}")
        playground.sidecar.facts[TRACEBACK] = playground.redacted(render_traceback(error))
    return playground.broken
