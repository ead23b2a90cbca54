"""Run a function of the author with a limit on its lines, which is the same on every machine, unlike time."""

import sys
import traceback
from collections.abc import Callable
from types import FrameType
from typing import Any

from clerkship.kit.text import describe_error
from clerkship.model.errors import ClerkshipError
from clerkship.simulators.tables.source import FILE


class FunctionFailed(ClerkshipError):
    """A function failed in a way that is a mistake of its author: the trial is errored."""


class TooManyLines(BaseException):
    """A call ran more lines than allowed. It is no Exception, so that a function does not catch it by accident."""


def run_limited(function: Callable[..., Any], arguments: dict[str, Any], max_lines: int) -> Any:
    """Call a function; raise TooManyLines after a number of lines of its file and calls of other code.

    A loop inside code written in C is not interrupted. Without a limit under a debugger, which traces lines itself.
    """
    if sys.gettrace() is not None:
        return function(**arguments)
    lines = 0

    def count(frame: FrameType, event: str, arg: Any) -> Any:
        nonlocal lines
        lines += 1
        if lines > max_lines:
            raise TooManyLines
        return count if frame.f_code.co_filename == FILE else None

    sys.settrace(count)
    try:
        return function(**arguments)
    finally:
        sys.settrace(None)


def describe_failure(name: str, error: BaseException) -> str:
    """Return the error of a function with its innermost line in the author's file."""
    lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == FILE]
    place = f" ({FILE}:{lines[-1]})" if lines else ""
    return f"`{name}` failed{place}: {describe_error(error)}; raise ValueError to refuse a call"
