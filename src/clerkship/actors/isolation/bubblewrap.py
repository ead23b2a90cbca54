"""Bubblewrap: the program sees the file system as it is, with masks over what is hidden, and its own processes alone.

Hidden folders become empty, hidden files unreadable. The network is shared, because sandboxes are on loopback.
"""

import os
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

PROGRAM = "bwrap"
Prefix = Callable[[int], list[str]]
"""Makes the beginning of a command line, given the descriptor that its arguments are read from."""
_CAPABILITIES = ("CAP_CHOWN", "CAP_DAC_OVERRIDE", "CAP_FOWNER")
"""What root keeps, so that it can use files of other users as before. None of these can remove a mask."""


def prefix(descriptor: int) -> list[str]:
    """Return the command line up to the program's own words."""
    return [PROGRAM, "--args", str(descriptor), "--"]


def arguments(hidden: Iterable[Path], shown: Sequence[Path]) -> bytes:
    """Return the options, each ended by a zero byte, as `--args` reads them."""
    words, folders = _base(), list[str]()
    for path in sorted(hidden):  # a folder before what is in it
        folders += [str(path)] if path.is_dir() else []
        words += ["--tmpfs", str(path)] if path.is_dir() else ["--ro-bind", os.devnull, str(path)]
    for path in shown:
        words += ["--bind", str(path), str(path)]
    for folder in folders:  # so that what a program writes there fails, and is not lost without a word
        words += ["--remount-ro", folder]
    return b"".join(os.fsencode(word) + b"\0" for word in words)


def program(started: int) -> int:
    """Return the process that bubblewrap runs: the child of its child, which is the first process of the namespace."""
    return _child(_child(started))


def _base() -> list[str]:
    words = ["--die-with-parent", "--unshare-pid"]
    if os.geteuid() != 0:
        return [*words, "--dev-bind", "/", "/", "--proc", "/proc"]
    # Root could read the disks themselves, so it gets a minimal /dev; and it needs no user namespace.
    words += ["--bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "--cap-drop", "ALL"]
    return words + [word for name in _CAPABILITIES for word in ("--cap-add", name)]


def _child(process: int) -> int:
    """Return the first child of a process; the process itself where it has none, or the system does not say."""
    try:
        children = Path(f"/proc/{process}/task/{process}/children").read_bytes().split()
    except OSError:
        return process
    return int(children[0]) if children else process
