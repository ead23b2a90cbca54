"""Convert messages to WebSocket frames and back (RFC 6455), with the `websockets` package."""

import asyncio
from typing import TYPE_CHECKING

from clerkship.sandbox.websocket import WebSocketMessage
from clerkship.transports.tcp import LINGER_SECONDS

if TYPE_CHECKING:
    from websockets.frames import Frame

MAX_UNSENT = 1_000_000
"""Bytes that the client has not read. Beyond that it reads too slowly, and the WebSocket is closed."""
MAX_FRAGMENTS = 4096
"""Frames of one message, limited because empty frames do not add to its size."""
NORMAL, GOING_AWAY, ABNORMAL, NOT_TEXT, TOO_BIG, INTERNAL_ERROR, TRY_LATER = 1000, 1001, 1006, 1007, 1009, 1011, 1013


class WebSocketFrames:
    """Sends messages over a transport, whole or in pieces, and joins received fragments."""

    def __init__(self, transport: asyncio.Transport, max_message: int) -> None:
        from websockets.protocol import State  # noqa: PLC0415  (an extra, and only for simulators that need it)
        from websockets.server import ServerProtocol  # noqa: PLC0415

        self._transport = transport
        self._protocol: ServerProtocol = ServerProtocol(state=State.OPEN, max_size=max_message)
        self._fragments: list[bytes] = []
        self._is_text = False
        self._held: list[WebSocketMessage] = []
        """Messages that were pushed while another is sent in pieces."""
        self._held_size = 0
        self._is_in_pieces = False

    @property
    def is_open(self) -> bool:
        """Whether messages can be sent."""
        return self._protocol.state.name == "OPEN" and not self._transport.is_closing()

    @property
    def close_code(self) -> int:
        """The code with which the client closed the WebSocket; ABNORMAL if it sent none."""
        return ABNORMAL if self._protocol.close_rcvd is None else self._protocol.close_rcvd.code

    def push(self, message: WebSocketMessage) -> None:
        """Send a message, or queue it while another is sent in pieces: only control frames may come between the pieces
        (RFC 6455 §5.4).
        """
        if self._transport.get_write_buffer_size() + self._held_size > MAX_UNSENT:
            self.close(TRY_LATER, "messages are not read fast enough")
        elif self._is_in_pieces:
            self._held.append(message)
            self._held_size += len(message)
        else:
            self.send(message)

    def send(self, message: WebSocketMessage, *, fin: bool = True, first: bool = True) -> None:
        """Send a message, or one piece of it."""
        if not self.is_open:
            return
        data = message.encode() if isinstance(message, str) else message
        if not first:
            self._protocol.send_continuation(data, fin)
        elif isinstance(message, str):
            self._protocol.send_text(data, fin)
        else:
            self._protocol.send_binary(data, fin)
        self._flush()
        self._is_in_pieces = not fin
        if fin and self._held:
            held, self._held, self._held_size = self._held, [], 0
            for held_message in held:
                self.send(held_message)

    def ping(self) -> None:
        """Send a ping."""
        if self.is_open:
            self._protocol.send_ping(b"")
            self._flush()

    def close(self, code: int, reason: str = "") -> None:
        """Send a close frame. The transport is aborted if the client does not answer within LINGER_SECONDS."""
        if self.is_open:
            self._protocol.send_close(code, reason)
            self._flush()
            self._abort_later()

    def receive(self, data: bytes) -> list[WebSocketMessage]:
        """Return the messages that the data completes; answer pings and close frames."""
        self._protocol.receive_data(data)
        messages: list[WebSocketMessage] = []
        for frame in self._protocol.events_received():
            message = self._join(frame)  # type: ignore[arg-type]
            if message is not None:
                messages.append(message)
        self._flush()
        if self._protocol.close_expected():
            self._abort_later()
        return messages

    def receive_eof(self) -> None:
        """Note that the client sends nothing more."""
        self._protocol.receive_eof()

    def _join(self, frame: "Frame") -> WebSocketMessage | None:
        """Return the message that a frame completes, or None."""
        if frame.opcode.name in ("TEXT", "BINARY"):
            self._fragments, self._is_text = [], frame.opcode.name == "TEXT"
        elif frame.opcode.name != "CONT":
            return None
        if len(self._fragments) == MAX_FRAGMENTS:
            self.close(TOO_BIG, f"a message may have at most {MAX_FRAGMENTS} fragments")
            return None
        self._fragments.append(bytes(frame.data))
        if not frame.fin:
            return None
        data = b"".join(self._fragments)
        try:
            return data.decode() if self._is_text else data
        except UnicodeDecodeError:
            self.close(NOT_TEXT, "the message is not UTF-8")
            return None

    def _flush(self) -> None:
        for data in self._protocol.data_to_send():
            if data:
                self._transport.write(data)
            else:  # both sides have closed
                self._transport.close()

    def _abort_later(self) -> None:
        asyncio.get_running_loop().call_later(LINGER_SECONDS, self._transport.abort)
