"""A playground in another process, through its control door."""

from collections.abc import Iterator
from http.client import HTTPConnection, HTTPException, RemoteDisconnected
from typing import Any, Self
from urllib.parse import urlsplit

import orjson

from clerkship.model.errors import PlatformError

ANSWER_LIMIT = 5.0
_HUNG_UP = (RemoteDisconnected, ConnectionResetError, BrokenPipeError)
"""What a connection says that was kept open for longer than the other side wished."""


class NotThere(PlatformError):
    """Nobody answers there any more, or somebody else does."""


class Silent(NotThere):
    """Somebody listens there, and does not answer."""


class Remote:
    """Reads what one playground tells of itself. No proxy is asked: it is on this machine."""

    def __init__(self, url: str, token: str) -> None:
        parts = urlsplit(url)
        self._connection = HTTPConnection(parts.netloc, timeout=ANSWER_LIMIT)
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
            except _HUNG_UP:
                status, body = self._ask(path)
        except TimeoutError:
            raise Silent(f"nothing came from it for {ANSWER_LIMIT:g} seconds") from None
        except (OSError, HTTPException) as error:
            raise NotThere(f"nobody answers: {error}") from None
        if status != 200:
            raise NotThere(f"somebody else answers there: {status}")
        return body

    def _ask(self, path: str) -> tuple[int, bytes]:
        try:
            self._connection.request("GET", self._path + path, headers=self._headers)
            reply = self._connection.getresponse()
            return reply.status, reply.read()
        except BaseException:
            self._connection.close()  # half a reply must not be taken for the next
            raise
