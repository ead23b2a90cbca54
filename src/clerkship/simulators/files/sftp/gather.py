"""What a connection has to say in one turn of its loop is sent in one go."""

import asyncio
from typing import Any

MOST = 256 * 1024
"""Bytes; then it is sent at once."""


class Gathered:
    """A transport that asyncssh writes to. It sends each packet by itself, and an empty one before it (RFC 4253 §9.3.1,
    against a weakness that no cipher here has): two calls of the system where a quarter would do."""

    def __init__(self, transport: asyncio.Transport) -> None:
        self._transport = transport
        self._loop = asyncio.get_running_loop()
        self._unsent: list[bytes] = []
        self._size = 0

    def __getattr__(self, name: str) -> Any:
        """All else is the transport's."""
        return getattr(self._transport, name)

    def write(self, data: bytes) -> None:
        """Soon, or at once if it is much."""
        if not self._unsent:
            self._loop.call_soon(self.flush)
        self._unsent.append(data)
        self._size += len(data)
        if self._size > MOST:
            self.flush()

    def close(self) -> None:
        """With what is still to be said."""
        self.flush()
        self._transport.close()

    def abort(self) -> None:
        """Likewise, as far as it goes at once: why a connection ends is the last that is said on it."""
        self.flush()
        self._transport.abort()

    def flush(self) -> None:
        """Send what there is."""
        if self._unsent:
            data, self._unsent, self._size = self._unsent, [], 0
            self._transport.writelines(data)
