"""Landlock: the kernel denies the program what is hidden. It needs no program and no right of its own.

Landlock only grants, so everything but what is hidden is allowed: see `launcher.py`, which restricts itself and then
becomes the program.
"""

import os
import sys
from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path

_LAUNCHER = Path(__file__).with_name("launcher.py")
_KERNEL = ("/proc", "/sys")
"""Where root could change settings of the kernel. All of /proc, because its folders of later processes are not there
to be allowed one by one."""


@cache
def _start() -> tuple[str, ...]:
    """Return the interpreter and the launcher's source, read once in each process: a program that changes the files
    does not change how the next one is started."""
    return os.path.realpath(sys.executable), "-I", "-S", "-c", _LAUNCHER.read_text(encoding="utf-8")


def prefix(descriptor: int) -> list[str]:
    """Return the command line up to the program's own words."""
    return [*_start(), str(descriptor)]


def arguments(
    hidden: Iterable[Path], shown: Sequence[Path], read_only: Iterable[Path] = (), writable: Iterable[Path] = ()
) -> bytes:
    """Return what the launcher reads: paths, each after the letter that says what is allowed there (`h`idden,
    `r`ead-only or `w`ritable) and ended by a zero byte."""
    kernel = map(Path, _KERNEL if os.geteuid() == 0 else ())
    marks = dict.fromkeys((*read_only, *kernel), "r") | dict.fromkeys(writable, "w")
    marks |= dict.fromkeys(hidden, "h") | dict.fromkeys(shown, "w")
    return b"".join(os.fsencode(f"{mark}{path}") + b"\0" for path, mark in sorted(marks.items()))
