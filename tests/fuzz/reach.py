"""Which steps from line to line an input leads to, in the files that are watched."""

import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

Arc = tuple[str, int, int]


class Reach:
    """Runs a target with the interpreter's own tracing: slow, and the same on every machine and version."""

    def __init__(self, run: Callable[[bytes], None], folders: list[Path]) -> None:
        self._run = run
        self._folders = tuple(str(folder) for folder in folders)
        self._arcs: set[Arc] = set()
        self._last: dict[int, int] = {}

    def breaks(self, data: bytes) -> Exception | None:
        """What is raised, without a look at the way there."""
        try:
            self._run(data)
        except Exception as crash:
            return crash
        return None

    def of(self, data: bytes) -> tuple[set[Arc], Exception | None]:
        """The steps, and what was raised."""
        self._arcs, self._last = set(), {}
        before = sys.gettrace()
        sys.settrace(self._called)
        try:
            return self._arcs, self.breaks(data)
        finally:
            sys.settrace(before)

    def _called(self, frame: FrameType, event: str, arg: object) -> Callable[[FrameType, str, object], Any] | None:
        if not frame.f_code.co_filename.startswith(self._folders):
            return None
        self._last[id(frame)] = 0  # the id may have been another's
        return self._line

    def _line(self, frame: FrameType, event: str, arg: object) -> Callable[[FrameType, str, object], Any]:
        if event == "line":
            key, line = id(frame), frame.f_lineno
            self._arcs.add((frame.f_code.co_filename, self._last[key], line))
            self._last[key] = line
        return self._line
