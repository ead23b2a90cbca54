"""Isolation by bubblewrap: the program sees the file system with hidden paths masked, and only its own processes.

Hidden folders appear empty, hidden files are unreadable, and files that start later trials are read-only. The
network is shared, because sandboxes are on loopback.
"""

import os
import sys
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from pathlib import Path

NAME = "bwrap"
SYSTEM_FOLDERS: tuple[str, ...] = ("/usr/bin", "/bin", "/usr/local/bin")
"""Searched before the folders of PATH, which users can often write to."""
Prefix = Callable[[int], list[str]]
"""Returns the start of a command line, given the descriptor with its arguments."""
_CAPABILITIES = ("CAP_CHOWN", "CAP_DAC_OVERRIDE", "CAP_FOWNER")
"""Capabilities that root keeps to access files of other users. None of them can remove a mask."""
_KERNEL = ("/proc/sys", "/proc/sysrq-trigger", "/proc/irq", "/proc/bus", "/sys")
"""Settings of the kernel that root could change, for example the program that the kernel runs after a crash."""
_SHELL = ("/bin/sh", "-c", 'echo && read -r CLERKSHIP_START && exec "$@"', "sh")
"""Reports inside the finished isolation that the program can start, see `contract.READY`; it takes half a millisecond.
bubblewrap itself reports nothing until the program ends, and the same for a failed mount and a missing program."""
_BIND, _READ_ONLY, _HIDE = "--bind", "--ro-bind", "hide"


@cache
def program_file() -> Path | None:
    """Find bubblewrap once per process; None if it is not installed.

    The environment of this Python and the working folder are not searched, because an agent may have written there.
    """
    excluded = {Path(sys.prefix).resolve(), Path.cwd()}
    for folder in map(Path, (*SYSTEM_FOLDERS, *os.get_exec_path())):
        file = (folder / NAME).resolve()
        if folder.is_absolute() and os.access(file, os.X_OK) and not excluded.intersection(file.parents):
            return file
    return None


def prefix(descriptor: int) -> list[str]:
    """Return the command line before the program's own words."""
    return [str(program_file() or NAME), "--args", str(descriptor), "--", *_SHELL]


def arguments(
    hidden: Iterable[Path], shown: Sequence[Path], read_only: Iterable[Path] = (), writable: Iterable[Path] = ()
) -> bytes:
    """Return the options in the format of `--args`, each ended by a zero byte."""
    marks = dict.fromkeys(read_only, _READ_ONLY) | dict.fromkeys(writable, _BIND) | dict.fromkeys(hidden, _HIDE)
    words, folders = _base(), list[str]()
    for path, mark in sorted(_with_parents(marks).items()):  # a folder before its content
        if mark != _HIDE:
            words += [mark, str(path), str(path)]
        elif path.is_dir():
            folders.append(str(path))
            words += ["--tmpfs", str(path)]
        else:
            words += ["--ro-bind", os.devnull, str(path)]
    for path in shown:
        words += ["--bind", str(path), str(path)]
    for folder in folders:  # so that writing there fails instead of being lost silently
        words += ["--remount-ro", folder]
    return b"".join(os.fsencode(word) + b"\0" for word in words)


def _with_parents(marks: dict[Path, str]) -> dict[Path, str]:
    """Remove paths inside hidden folders, and mount the folders above each path.

    A mount point cannot be renamed, so no other folder can be put in its place.
    """
    visible = {path: mark for path, mark in marks.items() if _around(path, marks) != _HIDE}
    parents = {parent for path in visible for parent in path.parents[:-1] if parent not in visible}
    return visible | {parent: _BIND for parent in parents if _around(parent, visible) in (None, _BIND)}


def _around(path: Path, marks: dict[Path, str]) -> str | None:
    """Return the mark of the nearest folder above a path."""
    return next((marks[parent] for parent in path.parents if parent in marks), None)


def program(started: int) -> int:
    """Return the process that bubblewrap runs: the child of its child, which is the first process of the namespace."""
    return _child(_child(started))


def _base() -> list[str]:
    words = ["--die-with-parent", "--unshare-pid"]
    if os.geteuid() != 0:
        return [*words, "--dev-bind", "/", "/", "--proc", "/proc"]
    # Root could read the disks directly, so it gets a minimal /dev. It needs no user namespace.
    words += ["--bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "--cap-drop", "ALL"]
    words += [word for path in _KERNEL for word in ("--ro-bind-try", path, path)]
    return words + [word for name in _CAPABILITIES for word in ("--cap-add", name)]


def _child(process: int) -> int:
    """Return the first child of a process; the process itself if it has none, or if the system does not provide it."""
    try:
        children = Path(f"/proc/{process}/task/{process}/children").read_bytes().split()
    except OSError:
        return process
    return int(children[0]) if children else process
