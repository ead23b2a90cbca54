"""One MLLP connection: frames off it in their order, acknowledgements onto it, with all that may happen to them."""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable
from typing import cast

from clerkship.hl7.framing import MAX_TRUNCATED_BYTES, Deframer, Frame, frame_message
from clerkship.kit.wall import monotonic
from clerkship.sandbox.listener import SandboxClient
from clerkship.sandbox.request import IMMEDIATE, Reply
from clerkship.simulators.hl7.config import Hl7Config
from clerkship.simulators.hl7.mllp_call import SendMessage
from clerkship.simulators.hl7.nak import NO_SUCH_VALUE, facility_of, read_head, reject, reject_unread
from clerkship.transports.tcp import OpenPort, TcpConnection

MAX_QUEUED = 64
MAX_QUEUED_BYTES = 1_000_000
"""What may be sent before its forerunners are answered; more is not read yet."""
MAX_NOISE = 65_536
"""Bytes outside any frame before somebody is taken for no speaker of MLLP."""

Find = Callable[[str], SandboxClient | None]
"""Whose a message is, by the facility it is for."""


class MllpConnection(TcpConnection):
    """Answers one frame at a time, in the order they come."""

    def __init__(self, find: Find, list_refused: Callable[[str, str, str], None], port: OpenPort) -> None:
        super().__init__(port)
        self._find = find
        self._list_refused = list_refused
        """Lists a message for a facility that is not here."""
        self._deframer = Deframer(MAX_TRUNCATED_BYTES, self._limit_for)
        self._queue: deque[Frame] = deque()
        self._queued_bytes = 0
        self._has_paused_reading = False
        self._frame_since: float | None = None
        self._sandbox = ""
        """The address of the sandbox that the last message, or the one that is being received, is for."""
        self._counted = 0

    def _limit_for(self, data: bytes) -> int:
        client = self._find(facility_of(data))
        self._sandbox = "" if client is None else client.address
        return 0 if client is None else max_message(client)

    # Receiving.

    def refuse_connection(self) -> None:
        """Answer AR."""
        self._hang_up(f"there are {self._table.most} connections already; close one, or try again later")

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the frames that are not answered, and one that is incomplete."""
        super().connection_lost(exc)
        self._queue.clear()
        if self._task is not None:
            self._task.cancel()

    def data_received(self, data: bytes) -> None:
        """Some bytes of one frame, or of several."""
        if self._ignores_input:
            return
        self._active_at = monotonic()
        frames = self._deframer.feed(data)
        if frames:
            self._frame_since, self._deframer.ignored_bytes = None, 0
            self._take(frames)
        if self._deframer.is_open:
            self._frame_since = self._frame_since or self._active_at
        elif self._deframer.ignored_bytes > MAX_NOISE:
            self._hang_up("that is not MLLP: a frame begins with 0x0B and ends with 0x1C 0x0D")
        self._count()

    def _count(self) -> None:
        """Small frames are not worth counting: each connection may have one."""
        held = self._deframer.buffered + self._queued_bytes
        if held <= MAX_TRUNCATED_BYTES and not self._counted:
            return
        if not self._table.hold(self, self._sandbox, held):
            self._deframer.truncate()
            held = self._deframer.buffered + self._queued_bytes
            self._table.hold(self, self._sandbox, held)
        self._counted = held

    def eof_received(self) -> bool:
        """They will send nothing more, which does not mean that they do not listen: who is owed an answer gets it."""
        self._is_leaving = True
        if self._ignores_input:
            return True
        rest = self._deframer.end()
        if rest is not None:
            self._take([rest])
        return self._task is not None

    # Answering.

    def _take(self, frames: list[Frame]) -> None:
        if self._task is None and self._writable.is_set() and len(frames) == 1 and self._answer_at_once(frames[0]):
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
            self._transport.abort()  # whoever waits for an answer is not left waiting
            raise
        self._task = None
        self._count()
        if self._transport.is_closing() or self._ignores_input:
            return
        if self._is_leaving:
            self._transport.close()
        elif self._has_paused_reading:
            self._has_paused_reading = False
            self._frame_since = self._frame_since and monotonic()  # it was not they who took their time
            self._transport.resume_reading()

    async def _answer_each(self) -> None:
        while self._queue and not self._transport.is_closing() and not self._ignores_input:
            await self._writable.wait()
            arrived = self._queue.popleft()
            answer = self._ask(arrived)
            if answer is not None:
                await self._carry(arrived, answer)
            else:
                self._queued_bytes -= len(arrived.data)
            self._active_at = monotonic()
            if self._queue:
                await asyncio.sleep(0)  # others come in between

    def _answer_at_once(self, arrived: Frame) -> bool:
        """Without a task of its own, which costs more than all else here: what nobody has to wait for."""
        if self._is_leaving or arrived.flaw is not None:
            return False
        answer = self._ask(arrived)
        if isinstance(answer, Reply) and answer.delivery is IMMEDIATE and not answer.lost:
            if answer.body:
                self._transport.write(frame_message(answer.body))
        elif answer is not None:
            self._queued_bytes += len(arrived.data)
            self._task = asyncio.get_running_loop().create_task(self._answer_all(self._carry(arrived, answer)))
        return True

    def _ask(self, arrived: Frame) -> Reply | Awaitable[Reply] | None:
        """Return the reply of the sandbox to a frame; None if the listener has answered."""
        if arrived.flaw == "unfinished":
            self._answer_unfinished(arrived.data)
            return None
        client = self._find(facility_of(arrived.data))
        if client is None or (not arrived.data.startswith(b"MSH") and read_head(arrived.data) is None):
            self._refuse_stranger(arrived.data)
            return None
        self._sandbox = client.address
        if not self._table.claim(self, client.address):
            text = f"this sandbox has {self.limits.per_sandbox} connections already; close one, or try again later"
            self._hang_up(text, arrived.data)
            return None
        if arrived.flaw == "too_large" and arrived.size <= max_message(client):
            self._refuse(arrived.data, "more comes in at once than there is room for; send it again later")
            return None
        if arrived.size > max_message(client):  # the sandbox says no, from what it is and how long it was
            return client.call_now(SendMessage(arrived.data[:MAX_TRUNCATED_BYTES], arrived.size))
        return client.call_now(SendMessage(arrived.data))

    async def _carry(self, arrived: Frame, answer: Reply | Awaitable[Reply]) -> None:
        reply = answer if isinstance(answer, Reply) else await answer
        self._queued_bytes -= len(arrived.data)
        if not await carry(self._transport, reply):
            self._is_leaving = True

    def _answer_unfinished(self, data: bytes) -> None:
        """Who began anew meant the other one; who ended so may still hear what was missing."""
        if self._is_leaving and not self._queue:
            self._hang_up("the frame was not ended: after the message come 0x1C and 0x0D", data)

    def _refuse_stranger(self, data: bytes) -> None:
        head = read_head(data)
        if head is None:
            self._hang_up("that is no HL7 v2 message: it has no MSH that can be read")
            return
        name = head.header.text(6, 1)
        self._list_refused(name, head.header.text(9, 1) or "message", "MSH-6 names no facility of a run under way")
        text = f"MSH-6: no facility {name or '(none)'} is here, or its run is over; write the one you were told"
        if answer := reject(head, text, NO_SUCH_VALUE, 6):
            self._transport.write(frame_message(answer))

    def _refuse(self, data: bytes, text: str) -> None:
        head = read_head(data)
        if head is not None and (answer := reject(head, text)):
            self._transport.write(frame_message(answer))

    # Closing.

    @property
    def is_idle(self) -> bool:
        """Whether no frame is being received or answered."""
        return self._task is None and not self._deframer.is_open

    @property
    def is_evictable(self) -> bool:
        """Whether it is idle, or has sent no message for a sandbox that is here."""
        return self.is_idle or not self._table.is_claimed(self)

    def _hang_up(self, text: str, data: bytes = b"") -> None:
        """Answer AR to the message that `data` begins, and close the connection."""
        head = read_head(data) if data else None
        answer = reject(head, text) if head is not None else reject_unread(text)
        self.close_with(frame_message(answer) if answer else b"")

    def sweep_input(self, now: float) -> None:
        """Close it if it is idle for too long, or does not finish its first message or a frame in time."""
        reads = self._frame_since is not None and not self._has_paused_reading
        late = reads and now - cast(float, self._frame_since) > self.limits.request
        idle = self._task is None and now - self._active_at > self.limits.idle
        if late or idle or self._table.is_late(self, now - self._opened_at):
            self._transport.abort()


def max_message(client: SandboxClient) -> int:
    """Bytes that a sandbox takes in one message."""
    return cast(Hl7Config, client.config).max_message


async def carry(transport: asyncio.WriteTransport, reply: Reply) -> bool:
    """Send a reply in pieces, in part or not at all, as its delivery says; false if the connection broke over it."""
    delivery, body = reply.delivery, reply.body
    if reply.lost:
        transport.abort()
        return False
    if not body:
        return True
    whole = frame_message(body)
    if delivery is IMMEDIATE:
        transport.write(whole)
        return True
    if delivery.promised is not None:
        whole = whole[: len(body) + 1]  # without its end
    pieces = delivery.divide(whole)
    for piece in pieces:
        if len(pieces) > 1:
            await asyncio.sleep(delivery.over / len(pieces))
        transport.write(piece)
    if delivery.promised is not None:
        transport.close()
    return delivery.promised is None
