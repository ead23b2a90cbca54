"""The trials a process has begun in a run: a file beside the store, locked for as long as the process lives.

A line is written before an agent is called. Whatever kills the process, the lines stay and the lock goes, so that
whoever resumes the run knows which attempts were under way, and that nobody is at them any more.
"""

import contextlib
import os
import sys
import threading
from collections.abc import Iterator
from io import FileIO
from pathlib import Path
from typing import Self

import orjson

from clerkship.model.run import Attempt
from clerkship.store.contract import RunBusy

if sys.platform != "win32":
    import fcntl


class Journal:
    """Held by one process at a time."""

    def __init__(self, path: Path, run_id: str) -> None:
        self._path = path
        self._gate = threading.Lock()
        self._file = _locked(path, run_id)
        self.begun = tuple(_parse(self._file.readall()))

    def begin(self, attempt: Attempt) -> None:
        """One write, appended whole. A run that is let go of takes no more: its file may be another's by then."""
        with self._gate:
            self._file.write(orjson.dumps(list(attempt)) + b"\n")

    def __enter__(self) -> Self:
        """In hand."""
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        """The file goes before the lock, so that nobody locks a file that is going."""
        with self._gate:
            if kind is None:
                self._path.unlink(missing_ok=True)
            self._file.close()


def is_held(path: Path) -> bool:
    """Whether a process has it now."""
    try:
        with FileIO(path, "r+") as file:
            return not _lock(file)
    except FileNotFoundError:
        return False


def _locked(path: Path, run_id: str) -> FileIO:
    while True:
        file = FileIO(path, "a+")
        if not _lock(file):
            file.close()
            raise RunBusy(f"another process is at work on {run_id}; wait for it, or stop it")
        if path.exists() and os.fstat(file.fileno()).st_ino == path.stat().st_ino:
            file.seek(0)
            return file
        file.close()  # its owner let go of it, and of the file, between the two calls


def _lock(file: FileIO) -> bool:
    if sys.platform == "win32":
        return True
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _parse(data: bytes) -> Iterator[Attempt]:
    for line in data.split(b"\n"):
        with contextlib.suppress(orjson.JSONDecodeError):  # half a line: nothing had come of it
            yield Attempt(*orjson.loads(line))
