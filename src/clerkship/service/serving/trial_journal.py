"""The journal of a trial under way: its log as far as it was acknowledged, in a file that survives the process.

Every event is written before the request that caused it is answered. The system keeps what was written if the process
is killed. After that, the journal tells what the agent did.
"""

import os
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path

import orjson

from clerkship.events.event import Event
from clerkship.events.log import compute_head
from clerkship.model.run import Attempt
from clerkship.playground.playground import Playground
from clerkship.store.connection import storage_errors
from clerkship.store.contract import StoreFailed

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
        self._path, self._log = path, playground.log
        self._lock = threading.Lock()
        self._size = self._lines = self._blobs = 0
        self._file = -1
        with storage_errors(path):
            self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND, 0o600)
            try:
                self._write(_record(_HEAD, orjson.dumps([run, *attempt])))
            except BaseException:
                self.close()
                raise
        playground.subscribe(self._add)

    def _add(self, _: Event) -> None:
        """Write what the log has more. If that fails, raise StoreFailed, so that the request is not acknowledged."""
        log, blobs = self._log, []
        if len(log.blobs) > self._blobs:
            blobs = list(islice(log.blobs.items(), self._blobs, None))
        lines = log.lines[self._lines :]
        records = [_record(_BLOB, digest.encode() + b" " + body) for digest, body in blobs]
        with self._lock, storage_errors(self._path):
            self._write(b"".join([*records, *(_record(_LINE, line) for line in lines)]))
        self._lines += len(lines)
        self._blobs += len(blobs)

    def _write(self, data: bytes) -> None:
        """Append data, or nothing: half a record would hide those after it."""
        if self._file < 0:
            raise StoreFailed("the server stops, and takes no more events")
        rest = memoryview(data)
        try:
            while rest:  # a signal may come in between, or the data be very large
                rest = rest[os.write(self._file, rest) :]
        except OSError:
            os.ftruncate(self._file, self._size)
            raise
        self._size += len(data)

    def park(self) -> None:
        """Stop writing, and keep the file. Later events are refused."""
        with self._lock:
            if self._file >= 0:
                os.close(self._file)
            self._file = -1

    def close(self) -> None:
        """Delete the journal: the trial is in the store."""
        self.park()
        self._path.unlink(missing_ok=True)


def _record(sort: bytes, data: bytes) -> bytes:
    return b"%b%d\n%b\n" % (sort, len(data), data)


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
    while (end := data.find(b"\n", place)) >= 0 and (length := data[place + 1 : end]).isdigit():
        sort = data[place : place + 1]
        start, place = end + 1, end + 2 + int(length)
        if place > len(data):
            return
        yield sort, data[start : place - 1]
