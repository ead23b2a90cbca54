"""Landlock: the kernel denies the program what is hidden. It needs no program and no right of its own.

Landlock only grants, so everything but what is hidden is allowed: see `launcher.py`, which restricts itself and then
becomes the program.
"""

import os
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

_LAUNCHER = Path(__file__).with_name("launcher.py")


def prefix(descriptor: int) -> list[str]:
    """Return the command line up to the program's own words."""
    return [sys.executable, "-I", "-S", str(_LAUNCHER), str(descriptor)]


def arguments(hidden: Iterable[Path], shown: Sequence[Path]) -> bytes:
    """Return what the launcher reads: hidden paths, an empty one, and the paths that are shown though they are in one
    of them, each ended by a zero byte."""
    return b"".join(os.fsencode(path) + b"\0" for path in (*map(str, sorted(hidden)), "", *map(str, shown)))
