"""Isolation by Landlock: the kernel denies access to hidden paths. It needs no tool and no privileges.

Landlock only grants access, so everything except hidden paths is granted: see `launcher.py`, which restricts itself
and then executes the program.
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
    """Return the interpreter and the launcher's source, read once per process.

    A program that changes these files does not change how the next program is started.
    """
    return os.path.realpath(sys.executable), "-I", "-S", "-c", _LAUNCHER.read_text(encoding="utf-8")


def prefix(descriptor: int) -> list[str]:
    """Return the command line before the program's own words."""
    return [*_start(), str(descriptor)]


def arguments(
    hidden: Iterable[Path], shown: Sequence[Path], read_only: Iterable[Path] = (), writable: Iterable[Path] = ()
) -> bytes:
    """Return the launcher's input: paths, each after a letter (`h`idden, `r`ead-only or `w`ritable), ended by a zero
    byte.
    """
    kernel = map(Path, _KERNEL if os.geteuid() == 0 else ())
    marks = dict.fromkeys((*read_only, *kernel), "r") | dict.fromkeys(writable, "w")
    marks |= dict.fromkeys(hidden, "h") | dict.fromkeys(shown, "w")
    return b"".join(os.fsencode(f"{mark}{path}") + b"\0" for path, mark in sorted(marks.items()))
