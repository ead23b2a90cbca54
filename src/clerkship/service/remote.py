"""Client for the control endpoint of a playground in another process."""

from collections.abc import Iterator
from http.client import HTTPConnection, HTTPException, RemoteDisconnected
from typing import Any, Self
from urllib.parse import urlsplit

import orjson

from clerkship.model.errors import PlatformError

TIMEOUT_SECONDS = 5.0
_STALE_CONNECTION_ERRORS = (RemoteDisconnected, ConnectionResetError, BrokenPipeError)
"""Errors of a kept-alive connection that the server has closed meanwhile; the request is sent again."""


class PlaygroundUnreachable(PlatformError):
    """No playground answers at the address, or another program does."""


class PlaygroundTimeout(PlaygroundUnreachable):
    """The playground accepts connections but does not answer."""


class RemotePlayground:
    """Client for one playground on this machine. It uses no proxy."""

    def __init__(self, url: str, token: str) -> None:
        parts = urlsplit(url)
        self._connection = HTTPConnection(parts.netloc, timeout=TIMEOUT_SECONDS)
        self._path = parts.path
        self._headers = {"authorization": f"Bearer {token}"}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._connection.close()

    def about(self) -> dict[str, Any]:
        """Return the description and the current state of the playground."""
        description: dict[str, Any] = orjson.loads(self._get("/"))
        return description

    def lines(self, after: int = 0) -> Iterator[bytes]:
        """Yield the lines of its log after a sequence number, page by page, up to the current end."""
        while page := self._get(f"/log?after={after}").splitlines():
            yield from page
            after += len(page)

    def blob(self, digest: str) -> bytes:
        """Return a blob by its hash."""
        return self._get(f"/blob/{digest}")

    def _get(self, path: str) -> bytes:
        try:
            try:
                status, body = self._send(path)
            except _STALE_CONNECTION_ERRORS:
                status, body = self._send(path)
        except TimeoutError:
            raise PlaygroundTimeout(f"no reply within {TIMEOUT_SECONDS:g} seconds") from None
        except (OSError, HTTPException) as error:
            raise PlaygroundUnreachable(f"cannot connect: {error}") from None
        if status != 200:
            raise PlaygroundUnreachable(f"another program answers at its address: status {status}")
        return body

    def _send(self, path: str) -> tuple[int, bytes]:
        try:
            self._connection.request("GET", self._path + path, headers=self._headers)
            reply = self._connection.getresponse()
            return reply.status, reply.read()
        except BaseException:
            self._connection.close()  # the rest of this reply must not be read as the next one
            raise
