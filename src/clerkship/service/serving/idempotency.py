"""Carry out a request once for each idempotency key, however often it is sent.

A request is recorded in the transaction of its first write. So after a crash there is the effect with the record, or
neither. The answer is added when it is known. It may have secrets, so it is stored encrypted with the caller's key and
the idempotency key, which the database does not have.
"""

import base64
import hashlib
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import NamedTuple

import orjson
from cryptography.fernet import Fernet

from clerkship.kit.wall import now
from clerkship.service.serving.database import ServerDatabase, get_timestamp, on_write
from clerkship.service.serving.refusals import RequestConflict, RequestUnderWay

TABLES = """
CREATE TABLE idempotent_requests (
  owner TEXT NOT NULL, key BLOB NOT NULL, request BLOB NOT NULL, created_at TEXT NOT NULL, answer BLOB,
  PRIMARY KEY (owner, key)
) WITHOUT ROWID;
CREATE INDEX idempotent_requests_by_time ON idempotent_requests (created_at);
"""
KEPT = timedelta(days=1)


class GivenAnswer(NamedTuple):
    """An answer that can be given again."""

    status: int
    headers: dict[str, str]
    body: bytes


class IdempotentRequest(NamedTuple):
    """A request that is carried out once."""

    owner: str
    """The id of the caller's key."""
    secret: str
    """The caller's key, with which the answer is encrypted."""
    key: str
    """The idempotency key."""
    content: bytes
    """Method, path and body: what must be the same if it is sent again."""

    @property
    def stored_key(self) -> bytes:
        """The form in which the idempotency key is stored."""
        return hashlib.sha256(self.key.encode()).digest()

    @property
    def cipher(self) -> Fernet:
        """What encrypts the answer."""
        key = hashlib.sha256(f"{self.secret}\n{self.key}".encode()).digest()
        return Fernet(base64.urlsafe_b64encode(key))


class IdempotencyTable:
    """The requests of the last day that had an idempotency key."""

    def __init__(self, database: ServerDatabase) -> None:
        self._database = database
        self._lock = threading.Lock()
        self._under_way: set[tuple[str, bytes]] = set()

    @contextmanager
    def carry_out(self, request: IdempotentRequest) -> Iterator[GivenAnswer | None]:
        """Yield the answer that was given to a request; if it is None, record the request with each write inside.

        Raise RequestConflict if it is under way, if its key was used for another request, or if its answer is lost.
        """
        running = (request.owner, request.stored_key)
        row = (*running, hashlib.sha256(request.content).digest(), get_timestamp())

        def record(connection: sqlite3.Connection) -> None:
            connection.execute("DELETE FROM idempotent_requests WHERE created_at <= ?", (_get_oldest(),))
            connection.execute("INSERT OR IGNORE INTO idempotent_requests VALUES (?, ?, ?, ?, NULL)", row)

        with self._lock:
            if running in self._under_way:
                raise RequestUnderWay("the request with this Idempotency-Key is still under way; wait for its answer")
            self._under_way.add(running)
        token = on_write.set(record)
        try:
            yield self._find(request)
        finally:
            on_write.reset(token)
            with self._lock:
                self._under_way.discard(running)

    def save(self, request: IdempotentRequest, answer: GivenAnswer) -> None:
        """Save the answer to a request that was carried out."""
        head = orjson.dumps({"status": answer.status, "headers": answer.headers})
        sealed = request.cipher.encrypt(head + b"\n" + answer.body)
        with self._database.write() as connection:
            sql = "UPDATE idempotent_requests SET answer = ? WHERE owner = ? AND key = ?"
            connection.execute(sql, (sealed, request.owner, request.stored_key))

    def _find(self, request: IdempotentRequest) -> GivenAnswer | None:
        sql = "SELECT request, answer FROM idempotent_requests WHERE owner = ? AND key = ? AND created_at > ?"
        for content, answer in self._database.read(sql, request.owner, request.stored_key, _get_oldest()):
            if content != hashlib.sha256(request.content).digest():
                raise RequestConflict("this Idempotency-Key was used for another request; use a new one")
            if answer is None:
                raise RequestConflict(
                    "the request with this Idempotency-Key was carried out, but its answer was not kept; "
                    "look for what it created, or send it again with a new key"
                )
            head, _, body = request.cipher.decrypt(answer).partition(b"\n")
            return GivenAnswer(**orjson.loads(head), body=body)
        return None


def _get_oldest() -> str:
    return (now() - KEPT).isoformat(timespec="microseconds")
