"""The journal of a trial under way: its log as far as it was acknowledged, in a file that survives the process.

Every event is written before the request that caused it is answered. The system keeps what was written if the process
is killed. After that, the journal tells what the agent did.
"""

import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import orjson

from clerkship.events.event import Event
from clerkship.events.log import compute_head
from clerkship.model.run import Attempt
from clerkship.playground.playground import Playground

SUFFIX = ".journal"
_HEAD, _LINE, _BLOB = b"H", b"L", b"B"


@dataclass
class JournalContent:
    """What a journal has of a trial: it implements what the store saves of one."""

    run: str
    attempt: Attempt
    lines: list[bytes] = field(default_factory=list)
    blobs: dict[str, bytes] = field(default_factory=dict)

    @property
    def log(self) -> bytes:
        """The log, one event per line."""
        return b"\n".join(self.lines)

    @property
    def head(self) -> str:
        """The hash over all lines."""
        return compute_head(self.lines)


class TrialJournal:
    """Writes the log of a playground to a file while it grows."""

    def __init__(self, path: Path, run: str, attempt: Attempt, playground: Playground) -> None:
        self._path, self._playground = path, playground
        self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND, 0o600)
        self._blobs = 0
        self._write(_HEAD, orjson.dumps([run, *attempt]))
        playground.subscribe(self._add)

    def _add(self, event: Event) -> None:
        log = self._playground.log
        if len(log.blobs) > self._blobs:
            for digest, body in list(log.blobs.items())[self._blobs :]:
                self._write(_BLOB, digest.encode() + b" " + body)
            self._blobs = len(log.blobs)
        self._write(_LINE, log.lines[-1])

    def _write(self, sort: bytes, data: bytes) -> None:
        record = b"%b%d\n%b\n" % (sort, len(data), data)
        written = os.write(self._file, record)
        while written < len(record):  # a signal came in between, or the body is very large
            written += os.write(self._file, record[written:])

    def park(self) -> None:
        """Stop writing, and keep the file."""
        os.close(self._file)

    def close(self) -> None:
        """Delete the journal: the trial is in the store."""
        self.park()
        self._path.unlink(missing_ok=True)


def read_journals(folder: Path) -> Iterator[tuple[Path, JournalContent]]:
    """Yield the journals in a folder. One that ends before its first record tells nothing, and is deleted."""
    for path in sorted(folder.glob(f"*{SUFFIX}")):
        content = _read_journal(path)
        if content is None:
            path.unlink()
        else:
            yield path, content


def _read_journal(path: Path) -> JournalContent | None:
    content: JournalContent | None = None
    for sort, data in _read_records(path.read_bytes()):
        if sort == _HEAD:
            run, task, trial, attempt = orjson.loads(data)
            content = JournalContent(run, Attempt(task, trial, attempt))
        elif content is not None and sort == _BLOB:
            digest, _, body = data.partition(b" ")
            content.blobs[digest.decode()] = body
        elif content is not None:
            content.lines.append(data)
    return content


def _read_records(data: bytes) -> Iterator[tuple[bytes, bytes]]:
    """Yield the complete records. The last one may be cut off: its request was not answered."""
    place = 0
    while (end := data.find(b"\n", place)) >= 0:
        sort, length = data[place : place + 1], data[place + 1 : end]
        start, place = end + 1, end + 2 + int(length)
        if place > len(data):
            return
        yield sort, data[start : place - 1]
