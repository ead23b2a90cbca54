"""One MLLP connection: receives frames in order and sends acknowledgments, with flow control and limits."""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable
from typing import cast

from clerkship.formats.hl7.framing import MAX_TRUNCATED_BYTES, Deframer, Frame, frame_message
from clerkship.kit.wall import monotonic
from clerkship.sandbox.listener import SandboxClient
from clerkship.sandbox.request import IMMEDIATE, Reply
from clerkship.simulators.hl7.config import Hl7Config
from clerkship.simulators.hl7.mllp_call import SendMessage
from clerkship.simulators.hl7.nak import (
    TABLE_VALUE_NOT_FOUND,
    build_reject,
    build_reject_without_header,
    read_facility,
    read_header,
)
from clerkship.transports.tcp import OpenPort, TcpConnection

MAX_QUEUED = 64
MAX_QUEUED_BYTES = 1_000_000
"""Limits on unanswered frames of one connection; beyond them reading is paused."""
MAX_UNFRAMED_BYTES = 65_536
"""Bytes outside any frame after which the connection is closed, because the client does not speak MLLP."""

FindClient = Callable[[str], SandboxClient | None]
"""Return the client of the sandbox with this receiving facility; None if there is none."""


class MllpConnection(TcpConnection):
    """Answers frames one at a time, in order."""

    def __init__(self, find: FindClient, list_refused: Callable[[str, str, str], None], port: OpenPort) -> None:
        super().__init__(port)
        self._find = find
        self._list_refused = list_refused
        """Record a message for an unknown facility."""
        self._deframer = Deframer(MAX_TRUNCATED_BYTES, self._limit_for)
        self._queue: deque[Frame] = deque()
        self._queued_bytes = 0
        self._has_paused_reading = False
        self._frame_since: float | None = None
        self._sandbox = ""
        """The address of the sandbox of the last message, or of the one being received."""
        self._reported_bytes = 0

    def _limit_for(self, data: bytes) -> int:
        client = self._find(read_facility(data))
        self._sandbox = "" if client is None else client.address
        return 0 if client is None else max_message_bytes(client)

    # Receiving.

    def refuse_connection(self) -> None:
        """Answer AR and close."""
        self._hang_up(f"too many connections ({self._table.max_connections}); close one, or try again later")

    def connection_lost(self, exc: Exception | None) -> None:
        """Discard frames that are unanswered or incomplete."""
        super().connection_lost(exc)
        self._queue.clear()
        if self._task is not None:
            self._task.cancel()

    def data_received(self, data: bytes) -> None:
        """Process received bytes: part of a frame, or several frames."""
        if self._ignores_input:
            return
        self._active_at = monotonic()
        frames = self._deframer.feed(data)
        if frames:
            self._frame_since, self._deframer.ignored_bytes = None, 0
            self._enqueue(frames)
        if self._deframer.is_open:
            self._frame_since = self._frame_since or self._active_at
        elif self._deframer.ignored_bytes > MAX_UNFRAMED_BYTES:
            self._hang_up("not MLLP: a frame starts with 0x0B and ends with 0x1C 0x0D")
        self._report_memory()

    def _report_memory(self) -> None:
        """Report the buffered bytes to the connection table.

        A small frame is not counted: each connection may have one.
        """
        size = self._deframer.buffered + self._queued_bytes
        if size <= MAX_TRUNCATED_BYTES and not self._reported_bytes:
            return
        if not self._table.hold(self, self._sandbox, size):
            self._deframer.truncate()
            size = self._deframer.buffered + self._queued_bytes
            self._table.hold(self, self._sandbox, size)
        self._reported_bytes = size

    def eof_received(self) -> bool:
        """Handle the end of input. The client may still be reading, so pending frames are answered first."""
        self._is_leaving = True
        if self._ignores_input:
            return True
        unfinished = self._deframer.finish()
        if unfinished is not None:
            self._enqueue([unfinished])
        return self._task is not None

    # Answering.

    def _enqueue(self, frames: list[Frame]) -> None:
        if self._task is None and self._writable.is_set() and len(frames) == 1 and self._answer_immediately(frames[0]):
            return
        self._queue += frames
        self._queued_bytes += sum(len(each.data) for each in frames)
        if self._task is None:
            self._task = asyncio.get_running_loop().create_task(self._answer_all())
        full = len(self._queue) > MAX_QUEUED or self._queued_bytes > MAX_QUEUED_BYTES
        if full and not self._has_paused_reading and not self._is_leaving:
            self._has_paused_reading = True
            self._transport.pause_reading()

    async def _answer_all(self, first: Awaitable[None] | None = None) -> None:
        try:
            if first is not None:
                await first
            await self._answer_each()
        except BaseException:
            self._transport.abort()  # the client must not wait for an answer in vain
            raise
        self._task = None
        self._report_memory()
        if self._transport.is_closing() or self._ignores_input:
            return
        if self._is_leaving:
            self._transport.close()
        elif self._has_paused_reading:
            self._has_paused_reading = False
            self._frame_since = self._frame_since and monotonic()  # the time of the pause does not count
            self._transport.resume_reading()

    async def _answer_each(self) -> None:
        while self._queue and not self._transport.is_closing() and not self._ignores_input:
            await self._writable.wait()
            frame = self._queue.popleft()
            answer = self._get_reply(frame)
            if answer is not None:
                await self._send_reply(frame, answer)
            else:
                self._queued_bytes -= len(frame.data)
            self._active_at = monotonic()
            if self._queue:
                await asyncio.sleep(0)  # let other connections run

    def _answer_immediately(self, frame: Frame) -> bool:
        """Answer without creating a task, which would cost more than the rest, if the reply needs no waiting."""
        if self._is_leaving or frame.flaw is not None:
            return False
        answer = self._get_reply(frame)
        if isinstance(answer, Reply) and answer.delivery is IMMEDIATE and not answer.lost:
            if answer.body:
                self._transport.write(frame_message(answer.body))
        elif answer is not None:
            self._queued_bytes += len(frame.data)
            self._task = asyncio.get_running_loop().create_task(self._answer_all(self._send_reply(frame, answer)))
        return True

    def _get_reply(self, frame: Frame) -> Reply | Awaitable[Reply] | None:
        """Return the sandbox's reply to a frame; None if the listener itself has answered."""
        if frame.flaw == "unfinished":
            self._answer_unfinished(frame.data)
            return None
        client = self._find(read_facility(frame.data))
        if client is None or (not frame.data.startswith(b"MSH") and read_header(frame.data) is None):
            self._refuse_unknown_facility(frame.data)
            return None
        self._sandbox = client.address
        if not self._table.claim(self, client.address):
            text = f"too many connections to this sandbox ({self.limits.per_sandbox}); close one, or try again later"
            self._hang_up(text, frame.data)
            return None
        if frame.flaw == "too_large" and frame.size <= max_message_bytes(client):
            self._refuse(frame.data, "too many bytes are being received at once; send it again later")
            return None
        if frame.size > max_message_bytes(client):  # the sandbox refuses it by its size, and logs the refusal
            return client.call_now(SendMessage(frame.data[:MAX_TRUNCATED_BYTES], frame.size))
        return client.call_now(SendMessage(frame.data))

    async def _send_reply(self, frame: Frame, answer: Reply | Awaitable[Reply]) -> None:
        reply = answer if isinstance(answer, Reply) else await answer
        self._queued_bytes -= len(frame.data)
        if not await send_reply(self._transport, reply):
            self._is_leaving = True

    def _answer_unfinished(self, data: bytes) -> None:
        """Report an unfinished frame at the end of input.

        A client that started another frame instead gets only the reply to that one.
        """
        if self._is_leaving and not self._queue:
            self._hang_up("the frame is unfinished: 0x1C and 0x0D must follow the message", data)

    def _refuse_unknown_facility(self, data: bytes) -> None:
        message = read_header(data)
        if message is None:
            self._hang_up("not an HL7 v2 message: no valid MSH segment")
            return
        name = message.header.text(6, 1)
        self._list_refused(name, message.header.text(9, 1) or "message", "MSH-6 names no facility of an active run")
        text = f"MSH-6: unknown facility {name or '(none)'}, or its run has ended; use the facility you were given"
        if answer := build_reject(message, text, TABLE_VALUE_NOT_FOUND, 6):
            self._transport.write(frame_message(answer))

    def _refuse(self, data: bytes, text: str) -> None:
        message = read_header(data)
        if message is not None and (answer := build_reject(message, text)):
            self._transport.write(frame_message(answer))

    # Closing.

    @property
    def is_idle(self) -> bool:
        """Whether no frame is being received or answered."""
        return self._task is None and not self._deframer.is_open

    @property
    def is_evictable(self) -> bool:
        """Whether it is idle, or has sent no message for a known sandbox."""
        return self.is_idle or not self._table.is_claimed(self)

    def _hang_up(self, text: str, data: bytes = b"") -> None:
        """Answer AR to the message that starts with `data`, and close the connection."""
        message = read_header(data) if data else None
        answer = build_reject(message, text) if message is not None else build_reject_without_header(text)
        self.close_with(frame_message(answer) if answer else b"")

    def sweep_input(self, now: float) -> None:
        """Close the connection if it is idle too long, or does not finish its first message or a frame in time."""
        reads = self._frame_since is not None and not self._has_paused_reading
        late = reads and now - cast(float, self._frame_since) > self.limits.request
        idle = self._task is None and now - self._active_at > self.limits.idle
        if late or idle or self._table.is_late(self, now - self._opened_at):
            self._transport.abort()


def max_message_bytes(client: SandboxClient) -> int:
    """Return the size limit of messages to a sandbox."""
    return cast(Hl7Config, client.config).max_message


async def send_reply(transport: asyncio.WriteTransport, reply: Reply) -> bool:
    """Send a reply whole, in pieces, in part or not at all, as its delivery says. Return false if it was cut short."""
    delivery, body = reply.delivery, reply.body
    if reply.lost:
        transport.abort()
        return False
    if not body:
        return True
    framed = frame_message(body)
    if delivery is IMMEDIATE:
        transport.write(framed)
        return True
    if delivery.promised is not None:
        framed = framed[: len(body) + 1]  # without the end block
    pieces = delivery.divide(framed)
    for piece in pieces:
        if len(pieces) > 1:
            await asyncio.sleep(delivery.over / len(pieces))
        transport.write(piece)
    if delivery.promised is not None:
        transport.close()
    return delivery.promised is None
