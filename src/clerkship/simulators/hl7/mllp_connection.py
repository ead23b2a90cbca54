"""One MLLP connection: frames off it in their order, acknowledgements onto it, with all that may happen to them."""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import cast

from clerkship.hl7.framing import KEPT, Deframer, Frame, frame
from clerkship.kit.wall import monotonic
from clerkship.sandbox.exchange import IMMEDIATE, Reply
from clerkship.sandbox.listener import SandboxClient
from clerkship.simulators.hl7.config import Hl7Config
from clerkship.simulators.hl7.mllp_call import SendMessage
from clerkship.simulators.hl7.mllp_guests import Guests
from clerkship.simulators.hl7.nak import NO_SUCH_VALUE, facility_of, read_head, reject, reject_unread

MOST_WAITING = 64
MOST_BYTES_WAITING = 1_000_000
"""What may be sent before its forerunners are answered; more is not read yet."""
MOST_NOISE = 65_536
"""Bytes outside any frame before somebody is taken for no speaker of MLLP."""
LINGER = 2.0
"""Seconds for somebody who is still sending to find out that they were answered."""

Find = Callable[[str], SandboxClient | None]
"""Whose a message is, by the facility it is for."""


@dataclass(eq=False)
class Connection(asyncio.Protocol):
    """Answers one frame at a time, in the order they come."""

    find: Find
    open_ones: "set[Connection]"
    guests: Guests
    list_refused: Callable[[str, str, str], None]
    """Lists a message for a facility that is not here."""
    _transport: asyncio.Transport = field(init=False)
    _deframer: Deframer = field(init=False)
    _waiting: deque[Frame] = field(default_factory=deque)
    _bytes_waiting: int = 0
    _task: asyncio.Task[None] | None = None
    _room: asyncio.Event | None = None
    """Set while they take what they are sent; None as long as that was never in doubt."""
    _deaf: bool = False
    _leaving: bool = False
    _paused: bool = False
    _frame_since: float | None = None
    _quiet_since: float = field(default_factory=monotonic)
    _since: float = field(default_factory=monotonic)
    _whose: str = ""
    """Who the last message, or the one that is coming in, is for."""
    _counted: int = 0

    def __post_init__(self) -> None:
        """Of a long message no more is kept than whoever it is for takes."""
        self._deframer = Deframer(KEPT, self._limit_of)

    def _limit_of(self, data: bytes) -> int:
        post = self.find(facility_of(data))
        self._whose = "" if post is None else post.address
        return 0 if post is None else max_message(post)

    # What the loop tells.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Somebody is there."""
        self._transport = cast(asyncio.Transport, transport)
        self.open_ones.add(self)
        if not self.guests.enter(self):
            self._turn_away(f"there are {self.guests.most} connections already; close one, or try again later")

    def connection_lost(self, exc: Exception | None) -> None:
        """They have gone; half a frame is no message, and who is not there cannot be answered."""
        self.open_ones.discard(self)
        self.guests.leave(self)
        self._waiting.clear()
        if self._task is not None:
            self._task.cancel()

    def data_received(self, data: bytes) -> None:
        """Some bytes of one frame, or of several."""
        if self._deaf:
            return
        self._quiet_since = monotonic()
        frames = self._deframer.feed(data)
        if frames:
            self._frame_since, self._deframer.ignored = None, 0
            self._take(frames)
        if self._deframer.open:
            self._frame_since = self._frame_since or self._quiet_since
        elif self._deframer.ignored > MOST_NOISE:
            self._hang_up("that is not MLLP: a frame begins with 0x0B and ends with 0x1C 0x0D")
        self._count()

    def _count(self) -> None:
        """Small frames are not worth counting: each connection may have one."""
        held = self._deframer.held + self._bytes_waiting
        if held <= KEPT and not self._counted:
            return
        if not self.guests.hold(self, self._whose, held):
            self._deframer.let_go()
            held = self._deframer.held + self._bytes_waiting
            self.guests.hold(self, self._whose, held)
        self._counted = held

    def eof_received(self) -> bool:
        """They will send nothing more, which does not mean that they do not listen: who is owed an answer gets it."""
        self._leaving = True
        if self._deaf:
            return True
        rest = self._deframer.end()
        if rest is not None:
            self._take([rest])
        return self._task is not None

    def pause_writing(self) -> None:
        """They read slower than they send: no more answers until they have caught up."""
        self._room = self._room or asyncio.Event()
        self._room.clear()

    def resume_writing(self) -> None:
        """They have caught up."""
        if self._room is not None:
            self._room.set()

    # Answering.

    def _take(self, frames: list[Frame]) -> None:
        if self._task is None and self._room is None and len(frames) == 1 and self._answer_at_once(frames[0]):
            return
        self._waiting += frames
        self._bytes_waiting += sum(len(each.data) for each in frames)
        if self._task is None:
            self._task = asyncio.get_running_loop().create_task(self._answer_all())
        full = len(self._waiting) > MOST_WAITING or self._bytes_waiting > MOST_BYTES_WAITING
        if full and not self._paused and not self._leaving:
            self._paused = True
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
        if self._transport.is_closing() or self._deaf:
            return
        if self._leaving:
            self._transport.close()
        elif self._paused:
            self._paused = False
            self._frame_since = self._frame_since and monotonic()  # it was not they who took their time
            self._transport.resume_reading()

    async def _answer_each(self) -> None:
        while self._waiting and not self._transport.is_closing() and not self._deaf:
            if self._room is not None:
                await self._room.wait()
            arrived = self._waiting.popleft()
            answer = self._ask(arrived)
            if answer is not None:
                await self._carry(arrived, answer)
            else:
                self._bytes_waiting -= len(arrived.data)
            self._quiet_since = monotonic()
            if self._waiting:
                await asyncio.sleep(0)  # others come in between

    def _answer_at_once(self, arrived: Frame) -> bool:
        """Without a task of its own, which costs more than all else here: what nobody has to wait for."""
        if self._leaving or arrived.flaw is not None:
            return False
        answer = self._ask(arrived)
        if isinstance(answer, Reply) and answer.delivery is IMMEDIATE and not answer.lost:
            if answer.body:
                self._transport.write(frame(answer.body))
        elif answer is not None:
            self._bytes_waiting += len(arrived.data)
            self._task = asyncio.get_running_loop().create_task(self._answer_all(self._carry(arrived, answer)))
        return True

    def _ask(self, arrived: Frame) -> Reply | Awaitable[Reply] | None:
        """What the sandbox says to a frame; None where it is the line that has said something."""
        if arrived.flaw == "unfinished":
            self._answer_unfinished(arrived.data)
            return None
        post = self.find(facility_of(arrived.data))
        if post is None or (not arrived.data.startswith(b"MSH") and read_head(arrived.data) is None):
            self._refuse_stranger(arrived.data)
            return None
        self._whose = post.address
        if not self.guests.speak(self, post.address):
            text = f"this sandbox has {self.guests.limits.of_one} connections already; close one, or try again later"
            self._hang_up(text, arrived.data)
            return None
        if arrived.flaw == "too_large" and arrived.size <= max_message(post):
            self._refuse(arrived.data, "more comes in at once than there is room for; send it again later")
            return None
        if arrived.size > max_message(post):  # the sandbox says no, from what it is and how long it was
            return post.ask(SendMessage(arrived.data[:KEPT], arrived.size))
        return post.ask(SendMessage(arrived.data))

    async def _carry(self, arrived: Frame, answer: Reply | Awaitable[Reply]) -> None:
        reply = answer if isinstance(answer, Reply) else await answer
        self._bytes_waiting -= len(arrived.data)
        if not await carry(self._transport, reply):
            self._leaving = True

    def _answer_unfinished(self, data: bytes) -> None:
        """Who began anew meant the other one; who ended so may still hear what was missing."""
        if self._leaving and not self._waiting:
            self._hang_up("the frame was not ended: after the message come 0x1C and 0x0D", data)

    def _refuse_stranger(self, data: bytes) -> None:
        head = read_head(data)
        if head is None:
            self._hang_up("that is no HL7 v2 message: it has no MSH that can be read")
            return
        name = head.head.text(6, 1)
        self.list_refused(name, head.head.text(9, 1) or "message", "MSH-6 names no facility of a run under way")
        text = f"MSH-6: no facility {name or '(none)'} is here, or its run is over; write the one you were told"
        if answer := reject(head, text, NO_SUCH_VALUE, 6):
            self._transport.write(frame(answer))

    def _refuse(self, data: bytes, text: str) -> None:
        head = read_head(data)
        if head is not None and (answer := reject(head, text)):
            self._transport.write(frame(answer))

    # Ending.

    @property
    def idle(self) -> bool:
        """Whether nothing has begun that has not come to its end."""
        return self._task is None and not self._deframer.open

    def drop(self) -> None:
        """Close it at once."""
        self._transport.abort()

    def _turn_away(self, text: str) -> None:
        """Say why; where there are many of them already, not even that."""
        if self.guests.turn_away(self):
            self._hang_up(text)
        else:
            self._deaf = True
            self._transport.abort()

    def _hang_up(self, text: str, data: bytes = b"") -> None:
        """Say why, and read nothing more; but let them finish, or they would never see the answer."""
        self._deaf = True
        head = read_head(data) if data else None
        answer = reject(head, text) if head is not None else reject_unread(text)
        if answer:
            self._transport.write(frame(answer))
        self._transport.write_eof()
        asyncio.get_running_loop().call_later(LINGER, self._transport.close)

    def sweep(self, now: float) -> None:
        """Let go of who has said nothing for long, who takes no answers, and who does not come to an end."""
        limits = self.guests.limits
        quiet = now - self._quiet_since > limits.idle
        stuck = self._room is not None and not self._room.is_set()
        reading = self._frame_since is not None and not self._paused
        late = reading and now - cast(float, self._frame_since) > limits.frame
        late = late or self.guests.is_late(self, now - self._since)
        if late or (quiet and (self._task is None or stuck)):
            self._transport.abort()

    async def end(self) -> None:
        """Close it, whoever waits."""
        task = self._task
        self._transport.abort()
        if task is not None:
            task.cancel()
            await asyncio.wait([task])


def max_message(post: SandboxClient) -> int:
    """Bytes that a sandbox takes in one message."""
    return cast(Hl7Config, post.config).max_message


async def carry(transport: asyncio.WriteTransport, reply: Reply) -> bool:
    """Send a reply in pieces, in part or not at all, as its delivery says; false if the connection broke over it."""
    delivery, body = reply.delivery, reply.body
    if reply.lost:
        transport.abort()
        return False
    if not body:
        return True
    whole = frame(body)
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
