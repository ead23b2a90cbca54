"""Isolation levels, hidden paths, and the command line that starts an isolated program."""

import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Literal, Protocol, runtime_checkable

from clerkship.actors.isolation import bubblewrap, landlock
from clerkship.actors.isolation.protected import read_only
from clerkship.model.errors import PlatformError

Level = Literal["bubblewrap", "landlock", "none"]
LEVELS: tuple[Level, ...] = ("bubblewrap", "landlock")
"""The strongest first."""
READY = b"\n"
"""What a launcher writes to standard output when only the program is left to start. It then waits for the same on
standard input. So a launcher that failed is never taken for the program, and no program can pretend that it failed."""
_PROBE_SECONDS = 10


@dataclass(frozen=True)
class Isolation:
    """How the programs of one run are isolated."""

    level: Level = "none"
    hidden: tuple[Path, ...] = ()
    """Files and folders, absolute and without links. What does not exist when a program starts is skipped."""
    private: Path | None = None
    """The folder that holds one private folder for each trial; hidden but for the trial's own."""

    def __post_init__(self) -> None:
        relative = [
            path for path in (*self.hidden, *([self.private] if self.private else [])) if not path.is_absolute()
        ]
        if relative:  # bubblewrap would fail, and Landlock would hide another path
            raise PlatformError(f"only absolute paths can be hidden from an agent: {relative[0]}")

    @contextmanager
    def command(
        self, words: Sequence[str], own: Path | None = None, folder: Path | None = None
    ) -> Iterator[tuple[list[str], tuple[int, ...]]]:
        """Return the isolated command line, and the file descriptors to pass to it.

        The descriptors are closed on exit, so start the program inside the block. `own` is the trial's private folder,
        `folder` the program's working folder.
        """
        if self.level == "none":
            yield list(words), ()
            return
        prefix, arguments = self._launcher(own, folder)
        descriptor = _memory_file(arguments)
        try:
            yield [*prefix(descriptor), *words], (descriptor,)
        finally:
            os.close(descriptor)

    def _launcher(self, own: Path | None, folder: Path | None) -> tuple[bubblewrap.Prefix, bytes]:
        hidden = [path for path in (*self.hidden, *([self.private] if self.private else [])) if os.path.lexists(path)]
        shown = [own.resolve()] if own is not None else []
        way = bubblewrap if self.level == "bubblewrap" else landlock
        return way.prefix, way.arguments(hidden, shown, *read_only(folder))

    def program(self, started: int) -> int:
        """Return the process id of the program, given that of the started process."""
        return bubblewrap.program(started) if self.level == "bubblewrap" else started

    def launcher(self, started: int) -> frozenset[int]:
        """Return the processes that must not get SIGTERM: if they end, the program is killed at once."""
        return frozenset({started}) if self.level == "bubblewrap" else frozenset()


NOT_ISOLATED = Isolation()


@cache
def offered() -> tuple[Level, ...]:
    """Return the levels that work on this machine, the strongest first; `none` always works."""
    return (*(level for level in LEVELS if _works(level)), "none")


def _works(level: Level) -> bool:
    """Test a level by starting a program: an installed tool may be forbidden, by AppArmor or by a container."""
    if sys.platform != "linux":
        return False
    with Isolation(level).command([sys.executable, "-I", "-S", "-c", ""]) as (words, descriptors):
        try:
            probe = subprocess.run(
                words,
                input=READY,
                capture_output=True,
                timeout=_PROBE_SECONDS,
                pass_fds=descriptors,
                check=False,
            )
        except (OSError, subprocess.TimeoutExpired):
            return False
    return probe.returncode == 0 and probe.stdout == READY


@runtime_checkable
class Isolated(Protocol):
    """A solver whose agents are programs on this machine."""

    def isolate(self, isolation: Isolation) -> None:
        """Start later agents under this isolation."""

    def paths(self) -> tuple[Path, ...]:
        """Return what the programs must see: the working folder, and the files that the command line names."""


def _memory_file(data: bytes) -> int:
    """Return a descriptor from which the data can be read once, without a name in the file system."""
    descriptor = os.memfd_create("clerkship")
    try:
        with os.fdopen(os.dup(descriptor), "wb") as file:
            file.write(data)
        os.lseek(descriptor, 0, os.SEEK_SET)
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor
