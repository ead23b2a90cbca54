"""A playground in another process, through its control door."""

from collections.abc import Iterator
from http.client import HTTPConnection, HTTPException, RemoteDisconnected
from typing import Any, Self
from urllib.parse import urlsplit

import orjson

from clerkship.model.errors import PlatformError

TIMEOUT_SECONDS = 5.0
_STALE_CONNECTION_ERRORS = (RemoteDisconnected, ConnectionResetError, BrokenPipeError)
"""What a connection says that was kept open for longer than the other side wished."""


class PlaygroundUnreachable(PlatformError):
    """Nobody answers there any more, or somebody else does."""


class PlaygroundTimeout(PlaygroundUnreachable):
    """Somebody listens there, and does not answer."""


class RemotePlayground:
    """Reads what one playground tells of itself. No proxy is asked: it is on this machine."""

    def __init__(self, url: str, token: str) -> None:
        parts = urlsplit(url)
        self._connection = HTTPConnection(parts.netloc, timeout=TIMEOUT_SECONDS)
        self._path = parts.path
        self._headers = {"authorization": f"Bearer {token}"}

    def __enter__(self) -> Self:
        """Open as it is: the first question connects."""
        return self

    def __exit__(self, *_: object) -> None:
        """Hang up."""
        self._connection.close()

    def about(self) -> dict[str, Any]:
        """What it is, and how far it has come."""
        found: dict[str, Any] = orjson.loads(self._get("/"))
        return found

    def lines(self, after: int = 0) -> Iterator[bytes]:
        """The lines of its log from a place on, page by page, up to where it is now."""
        while page := self._get(f"/log?after={after}").splitlines():
            yield from page
            after += len(page)

    def blob(self, digest: str) -> bytes:
        """A body that is kept by its hash."""
        return self._get(f"/blob/{digest}")

    def _get(self, path: str) -> bytes:
        try:
            try:
                status, body = self._ask(path)
            except _STALE_CONNECTION_ERRORS:
                status, body = self._ask(path)
        except TimeoutError:
            raise PlaygroundTimeout(f"nothing came from it for {TIMEOUT_SECONDS:g} seconds") from None
        except (OSError, HTTPException) as error:
            raise PlaygroundUnreachable(f"nobody answers: {error}") from None
        if status != 200:
            raise PlaygroundUnreachable(f"somebody else answers there: {status}")
        return body

    def _ask(self, path: str) -> tuple[int, bytes]:
        try:
            self._connection.request("GET", self._path + path, headers=self._headers)
            reply = self._connection.getresponse()
            return reply.status, reply.read()
        except BaseException:
            self._connection.close()  # half a reply must not be taken for the next
            raise
