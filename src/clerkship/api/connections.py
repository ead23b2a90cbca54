"""Connections that slow clients cannot keep: limits on how long a head takes to arrive, and an answer to be read.

uvicorn limits only how long a connection is idle between two requests.
"""

import socket
import struct
from asyncio import TimerHandle, Transport

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

MAX_HEAD_SECONDS = 10.0
"""From connecting, or the first byte of a further request, to the end of its head."""
MAX_STALL_SECONDS = 60.0
"""Until a client takes more of an answer."""
MAX_HEAD_BYTES = 65_536
"""Bytes of a head: a client must not fill the memory with headers."""
_TOO_LARGE = b"HTTP/1.1 431 Request Header Fields Too Large\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"


class LimitedConnection(HttpToolsProtocol):
    """A connection of uvicorn with these limits."""

    _timer: TimerHandle | None = None
    _stall: TimerHandle | None = None
    _head_bytes = 0
    _is_in_body = False

    def connection_made(self, transport: Transport) -> None:  # type: ignore[override]
        """Expect a request."""
        super().connection_made(transport)
        self._expect_head()

    def connection_lost(self, exc: Exception | None) -> None:
        """End all waits."""
        self._cancel()
        self.resume_writing()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Pass data on; close the connection if a head gets too large."""
        if self._timer is None and (self.cycle is None or self.cycle.response_complete):
            self._expect_head()
        was_in_body = self._is_in_body  # of a request that was answered before it was read
        super().data_received(data)
        if self._timer is None or was_in_body:
            return
        self._head_bytes += len(data)
        if self._head_bytes > MAX_HEAD_BYTES and not self.transport.is_closing():
            self.transport.write(_TOO_LARGE)
            self.transport.close()

    def on_headers_complete(self) -> None:
        """Begin the request."""
        self._is_in_body = True
        self._cancel()
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        """End the request."""
        self._is_in_body = False
        super().on_message_complete()

    def pause_writing(self) -> None:
        """Limit how long the client may take to read."""
        self._stall = self.loop.call_later(MAX_STALL_SECONDS, self._reset)
        super().pause_writing()

    def _reset(self) -> None:
        """Close the connection without what it still has to send: else the system would keep that for minutes."""
        if (client := self.transport.get_extra_info("socket")) is not None:
            client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.transport.abort()

    def resume_writing(self) -> None:
        """Go on writing: the client has read."""
        if self._stall is not None:
            self._stall.cancel()
            self._stall = None
        if self.flow is not None:
            super().resume_writing()

    def _expect_head(self) -> None:
        self._head_bytes = 0
        self._timer = self.loop.call_later(MAX_HEAD_SECONDS, self.transport.abort)

    def _cancel(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
