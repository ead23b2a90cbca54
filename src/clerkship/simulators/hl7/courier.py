"""The courier: carries what is in a sandbox's inbox to where its agent listens, one message after the other."""

import asyncio
from contextlib import suppress
from dataclasses import dataclass, field
from typing import cast

from clerkship.hl7.ack import Ack, mode, read_ack, wants
from clerkship.hl7.framing import Deframer
from clerkship.hl7.message import BadMessage, Message, parse
from clerkship.sandbox.exchange import Reply
from clerkship.sandbox.listener import SandboxClient
from clerkship.simulators.hl7.config import Hl7Config, is_here
from clerkship.simulators.hl7.mllp_call import SendMessage, acknowledge, read_message
from clerkship.simulators.hl7.mllp_connection import carry
from clerkship.simulators.hl7.nak import read_head

LISTENER = "listener"
CONNECT_LIMIT = 5.0
ACK_LIMIT = 60.0
"""Wall seconds that an agent has to acknowledge: it may ask a model what to make of it."""
TAKE_LIMIT = 20.0
"""Wall seconds that an agent has to take what it is sent."""
LARGEST_ACK = 1_000_000
NOTHING_SAID = Ack("", "", "", ())


class Undelivered(Exception):
    """No acknowledgement came back."""


@dataclass
class Awaited:
    """What was sent and is to be acknowledged."""

    id: str
    control_id: str
    taken_down: asyncio.Future[bool]
    """Whether the sandbox made something of the acknowledgement that came."""


@dataclass
class Courier:
    """For one sandbox. It holds no lock while it waits: an agent may ask any sandbox before it acknowledges."""

    post: SandboxClient
    _tried: dict[str, int] = field(default_factory=dict)
    """How often, by message; those that nobody took after so many attempts stay in the inbox."""
    _done: set[str] = field(default_factory=set)
    _accepted: set[str] = field(default_factory=set)
    """Control ids of those that are said to have come, and whose application may say more."""
    _news: asyncio.Event = field(default_factory=asyncio.Event)
    _moved: asyncio.Event = field(default_factory=asyncio.Event)
    _task: asyncio.Task[None] | None = None
    _ear: asyncio.Task[None] | None = None
    _writer: asyncio.StreamWriter | None = None
    _to: str = ""
    _awaited: Awaited | None = None

    @property
    def config(self) -> Hl7Config:
        """The sandbox's."""
        return cast(Hl7Config, self.post.config)

    def start(self) -> None:
        """Wait for something to carry."""
        loop = asyncio.get_running_loop()

        def hear(kind: str) -> None:
            if kind.endswith(".arrived"):
                with suppress(RuntimeError):  # the loop is closed: the run goes on without its lines
                    loop.call_soon_threadsafe(self._news.set)

        self.post.watch(hear)
        self._task = loop.create_task(self._carry_on())

    def relink(self) -> None:
        """The agent said where it listens, or that it does not: what was given up is tried again; and it may be another
        agent, in a run that began anew."""
        self._tried.clear()
        self._done.clear()
        self._accepted.clear()
        self._moved.set()
        self._news.set()

    async def stop(self) -> None:
        """Carry nothing any more."""
        tasks = [task for task in (self._task, self._ear) if task is not None]
        for task in tasks:
            task.cancel()
        self._hang_up()
        if tasks:
            await asyncio.wait(tasks)

    async def _carry_on(self) -> None:
        while self.post.open:
            await self._news.wait()
            self._news.clear()
            while (id := await self._next()) is not None:
                self._tried[id] = self._tried.get(id, 0) + 1
                self._moved.clear()  # before it is read where they are: news of that must not get lost
                try:
                    await self._deliver(id)
                except (OSError, Undelivered):
                    self._hang_up()
                    await self._rest(id)
            if not self._target():
                self._hang_up()

    async def _next(self) -> str | None:
        """What has waited longest and was not tried in vain too often."""
        if not self._target() or not self.post.open:
            return None
        waiting = await self.post.look(lambda state: [entry.id for entry in state.waiting()])
        left = (id for id in waiting if id not in self._done and self._tried.get(id, 0) < self.config.attempts)
        return next(left, None)

    async def _rest(self, id: str) -> None:
        """Before the next attempt; unless the agent says meanwhile that it listens elsewhere."""
        if self._tried.get(id, 0) < self.config.attempts:
            with suppress(TimeoutError):
                await asyncio.wait_for(self._moved.wait(), self.config.resend.total_seconds())

    def _target(self) -> str:
        """Where the agent listens, if that is on this machine; nothing if it does not."""
        target = self.post.links.get(LISTENER, self.config.listener) or ""  # who listens no more, listens nowhere
        return target if is_here(target.rpartition(":")[0]) else ""

    async def _deliver(self, id: str) -> None:
        writer = await self._connect(self._target())
        taken = await self.post.send(read_message(id))
        if not taken.ok:
            raise Undelivered(f"{id} could not be taken: {taken.status}")
        head = read_head(taken.body)
        if head is not None and _is_answered(head):
            await self._deliver_and_wait(id, head.control_id, writer, taken)
        elif not await carry(writer.transport, taken):
            raise Undelivered(f"{id} broke off on its way")
        else:
            await _taken(writer)
        self._done.add(id)  # whatever was said, it is not sent again

    async def _deliver_and_wait(self, id: str, control_id: str, writer: asyncio.StreamWriter, taken: Reply) -> None:
        awaited = self._awaited = Awaited(id, control_id, asyncio.get_running_loop().create_future())
        try:
            if not await carry(writer.transport, taken):
                raise Undelivered(f"{id} broke off on its way")
            if not await asyncio.wait_for(awaited.taken_down, ACK_LIMIT):
                raise Undelivered(f"what came back is no acknowledgement of {id}")
        except TimeoutError:
            raise Undelivered(f"{id} was not acknowledged within {ACK_LIMIT:.0f} s") from None
        finally:
            self._awaited = None

    async def _connect(self, target: str) -> asyncio.StreamWriter:
        """The connection to there; kept from message to message while it holds."""
        held = self._ear is not None and not self._ear.done()
        if held and self._writer is not None and target == self._to and not self._writer.is_closing():
            return self._writer
        self._hang_up()
        host, _, port = target.rpartition(":")
        opening = asyncio.open_connection(host.strip("[]"), int(port))
        reader, writer = await asyncio.wait_for(opening, CONNECT_LIMIT)
        self._to, self._writer = target, writer
        self._ear = asyncio.get_running_loop().create_task(self._listen(reader, writer))
        return writer

    async def _listen(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Until they hang up: acknowledgements, those of the application that come later among them."""
        deframer = Deframer(LARGEST_ACK)
        with suppress(OSError, Undelivered):
            while data := await reader.read(65_536):
                for arrived in deframer.feed(data):
                    await self._hear(arrived.data, writer)
        writer.transport.abort()
        if self._awaited is not None and not self._awaited.taken_down.done():
            self._awaited.taken_down.set_result(False)  # they hung up

    async def _hear(self, data: bytes, writer: asyncio.StreamWriter) -> None:
        """The acknowledgement that is waited for; or one of the application, after that; or a message of theirs."""
        said = acknowledgement(data)
        awaited = self._awaited if self._awaited is not None and not self._awaited.taken_down.done() else None
        meant = awaited is not None and awaited.control_id == said.control_id
        late = said.control_id in self._accepted and not meant
        if awaited is not None and not late:
            reply = await self.post.send(acknowledge(awaited.id, data))
            if reply.ok and said.code == "CA":
                self._accepted.add(awaited.control_id)
            if not awaited.taken_down.done():
                awaited.taken_down.set_result(reply.ok)
            return
        reply = await self.post.send(SendMessage(data))
        if not late:
            await carry(writer.transport, reply)
            await _taken(writer)  # who does not read is not read from either

    def _hang_up(self) -> None:
        if self._ear is not None:
            self._ear.cancel()
        if self._writer is not None:
            self._writer.transport.abort()
        self._ear = self._writer = None


async def _taken(writer: asyncio.StreamWriter) -> None:
    """Wait until they have taken it, or nearly."""
    try:
        await asyncio.wait_for(writer.drain(), TAKE_LIMIT)
    except TimeoutError:
        raise Undelivered("they do not take what they are sent") from None


def acknowledgement(data: bytes) -> Ack:
    """What an acknowledgement says; nothing if it is none."""
    try:
        return read_ack(parse(data))
    except BadMessage:
        return NOTHING_SAID


def _is_answered(head: Message) -> bool:
    """Whether anything comes back: nobody acknowledges an acknowledgement, or what asks for none."""
    if head.type == "ACK":
        return False
    if mode(head) == "original":
        return True
    return any(wants(head.head.text(number) or "NE", True) for number in (15, 16))
