"""Deliver the inbox of a sandbox over MLLP to an agent that listens, and read the acknowledgments."""

import asyncio
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from typing import ClassVar, cast

from clerkship.events.lifecycle import OutboundOutcome
from clerkship.formats.hl7.ack import Ack, ack_mode, is_ack_wanted, parse_ack
from clerkship.formats.hl7.framing import Deframer
from clerkship.formats.hl7.message import BadMessage, Hl7Message, parse_message
from clerkship.model.frozen import Frozen
from clerkship.sandbox.request import Reply
from clerkship.simulators.hl7.config import Hl7Config
from clerkship.simulators.hl7.mllp_call import SendMessage, build_ack_call, build_read_call
from clerkship.simulators.hl7.mllp_connection import send_reply
from clerkship.simulators.hl7.nak import read_header
from clerkship.simulators.hl7.state import Hl7State
from clerkship.transports.outbound.delivery import DeliveryFailed, OutboundClient, OutboundDelivery, open_connection
from clerkship.transports.outbound.policy import ResolvedAddress
from clerkship.transports.outbound.retry import RetryPolicy

MAX_ACK_SECONDS = 60.0
"""Wall time for an agent to acknowledge; it may call a model first."""
MAX_SEND_SECONDS = 20.0
"""Wall time for an agent to read a message."""
MAX_ACK_BYTES = 1_000_000
NO_ACK = Ack("", "", "", ())


@dataclass
class AwaitedAck:
    """A message that was sent and is not acknowledged yet."""

    message_id: str
    control_id: str
    outcome: asyncio.Future[OutboundOutcome]

    def settle(self, outcome: OutboundOutcome) -> None:
        """Set the outcome, unless it is known already."""
        if not self.outcome.done():
            self.outcome.set_result(outcome)


class MllpDelivery(OutboundDelivery):
    """Delivers messages over one connection. Any acknowledgment, even AE, completes the delivery of a message."""

    name: ClassVar[str] = "mllp"

    def __init__(self, client: OutboundClient) -> None:
        super().__init__(client)
        self._committed: set[str] = set()
        """Control ids acknowledged with CA: an application acknowledgment may follow."""
        self._resolved: ResolvedAddress | None = None
        self._writer: asyncio.StreamWriter | None = None
        self._reading: asyncio.Task[None] | None = None
        self._awaited: AwaitedAck | None = None

    @classmethod
    def configured(cls, config: Frozen) -> str | None:
        return cast(Hl7Config, config).listener

    @property
    def retry(self) -> RetryPolicy:
        """`attempts` attempts, `resend` apart."""
        config = cast(Hl7Config, self.client.config)
        return RetryPolicy(config.attempts, config.resend, factor=1.0, max_delay=config.resend)

    def pending(self, state: Hl7State) -> Iterable[str]:
        """Return the ids of messages that are not acknowledged."""
        return (entry.id for entry in state.pending())

    def reset(self) -> None:
        """Also forget the accept acknowledgments."""
        self._committed.clear()
        super().reset()

    async def send(self, message_id: str, resolved: ResolvedAddress) -> None:
        """Send a message of the inbox, and wait for its acknowledgment if it requests one."""
        writer = await self._connect(resolved)
        self.client.work()
        reply = await self.client.call_as_run(build_read_call(message_id))
        if not reply.ok:
            raise DeliveryFailed("not_sent", reply.status or None)
        header = read_header(reply.body)
        self.client.await_agent()
        if header is not None and _is_acknowledged(header):
            await self._send_and_wait(
                AwaitedAck(message_id, header.control_id, self._loop.create_future()), writer, reply
            )
        else:
            await _write(writer, reply)
            await _drain(writer)

    async def disconnect(self) -> None:
        reading, self._reading = self._reading, None
        if self._writer is not None:
            self._writer.transport.abort()
        self._writer = self._resolved = None
        if reading is not None:
            reading.cancel()
            await asyncio.wait([reading])

    # The connection to the agent.

    async def _send_and_wait(self, awaited: AwaitedAck, writer: asyncio.StreamWriter, reply: Reply) -> None:
        self._awaited = awaited
        try:
            await _write(writer, reply)
            outcome = await asyncio.wait_for(awaited.outcome, MAX_ACK_SECONDS)
        finally:
            self._awaited = None
        if outcome != "delivered":
            raise DeliveryFailed(outcome)

    async def _connect(self, resolved: ResolvedAddress) -> asyncio.StreamWriter:
        """Return a connection to an address; reuse the open one if possible."""
        is_read = self._reading is not None and not self._reading.done()
        if is_read and self._writer is not None and resolved == self._resolved and not self._writer.is_closing():
            return self._writer
        await self.disconnect()
        reader, writer = await open_connection(resolved)
        self._resolved, self._writer = resolved, writer
        self._reading = self._loop.create_task(self._read(reader, writer))
        return writer

    async def _read(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Read until the agent closes the connection: acknowledgments, deferred ones too, and messages."""
        deframer = Deframer(MAX_ACK_BYTES)
        with suppress(OSError, DeliveryFailed):
            while data := await reader.read(65_536):
                for frame in deframer.feed(data):
                    await self._receive(frame.data, writer)
        writer.transport.abort()
        if self._awaited is not None:
            self._awaited.settle("lost")

    async def _receive(self, data: bytes, writer: asyncio.StreamWriter) -> None:
        """Process an acknowledgment that is awaited, one that follows an accept acknowledgment, or a message."""
        ack = _read_ack(data)
        awaited = self._awaited if self._awaited is not None and not self._awaited.outcome.done() else None
        is_late = ack.control_id in self._committed and (awaited is None or awaited.control_id != ack.control_id)
        if awaited is not None and not is_late:
            reply = await self.client.call(build_ack_call(awaited.message_id, data))
            if reply.ok and ack.code == "CA":
                self._committed.add(awaited.control_id)
            awaited.settle("delivered" if reply.ok else "not_acknowledged")
            return
        reply = await self.client.call(SendMessage(data))
        if not is_late:
            await send_reply(writer.transport, reply)
            await _drain(writer)  # backpressure: do not read from an agent that does not read


async def _write(writer: asyncio.StreamWriter, reply: Reply) -> None:
    if not await send_reply(writer.transport, reply):
        raise DeliveryFailed("lost")


async def _drain(writer: asyncio.StreamWriter) -> None:
    """Wait until the agent has read most of what was written."""
    await asyncio.wait_for(writer.drain(), MAX_SEND_SECONDS)


def _read_ack(data: bytes) -> Ack:
    """Parse an acknowledgment; return an empty one if the data is none."""
    try:
        return parse_ack(parse_message(data))
    except BadMessage:
        return NO_ACK


def _is_acknowledged(message: Hl7Message) -> bool:
    """Return whether the agent acknowledges a message: not an ACK, nor if MSH-15 and MSH-16 request none."""
    if message.type == "ACK":
        return False
    if ack_mode(message) == "original":
        return True
    return any(is_ack_wanted(message.header.text(number) or "NE", True) for number in (15, 16))
