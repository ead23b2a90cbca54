"""Counts the work of calls, in a process of its own."""

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

ROOT = Path(__file__).parent.parent


def count_calls(run: Callable[[], object]) -> int:
    """Return how many Python functions a call runs, which is the same each time, unlike its duration."""
    calls = 0

    def count(frame: FrameType, event: str, arg: Any) -> None:
        nonlocal calls
        calls += event == "call"

    sys.setprofile(count)
    try:
        run()
    finally:
        sys.setprofile(None)
    return calls


def count_lines(run: Callable[[], object]) -> int:
    """Return how many lines of Python a call runs: like `count_calls`, but it also sees loops that call nothing."""
    lines = 0

    def count(frame: FrameType, event: str, arg: Any) -> Any:
        nonlocal lines
        lines += event == "line"
        return count

    sys.settrace(count)
    try:
        run()
    finally:
        sys.settrace(None)
    return lines


def measure_alone(measure: Callable[..., list[int]], *arguments: str) -> list[int]:
    """Return what a function that counts calls returns, run in a process of its own.

    In a process that has run many other tests, Python 3.11 hangs when a profile function is set.
    """
    name = measure.__name__
    code = f"import json, sys; from {measure.__module__} import {name}; print(json.dumps({name}(*sys.argv[1:])))"
    command = [sys.executable, "-c", code, *arguments]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stderr
    counts: list[int] = json.loads(done.stdout)
    return counts
