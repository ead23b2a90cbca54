"""One channel of an SSH connection: what comes in goes to a session, and what that answers goes out."""

import asyncio
from collections import deque
from collections.abc import Callable, Coroutine
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Protocol

from clerkship.simulators.files.sftp.drop import Drop
from clerkship.simulators.files.sftp.scp import Command, Scp, parse_command
from clerkship.simulators.files.sftp.session import Session
from clerkship.simulators.files.sftp.wire import BadPacket, Splitter

if TYPE_CHECKING:
    from asyncssh import SSHServerChannel

MAX_WAITING_BYTES = 512 * 1024
"""Bytes of requests that wait while one is being answered; then no more are read."""
SENT_AT_ONCE = 64 * 1024
NOT_SFTP = 255
"""What a session exits with that does not keep to the protocol, as OpenSSH's does."""
UNSENT = 1024 * 1024
"""Bytes of answers that the client has not taken; then no more is answered."""


class ChannelOwner(Protocol):
    """What a channel is one of."""

    def seen(self) -> None:
        """Something came over it."""

    def left(self, ending: Coroutine[Any, Any, None] | None) -> None:
        """A channel of it is closed; what that leaves is still to be put in order."""

    def drop(self) -> None:
        """Close it at once."""


class Pump:
    """An SFTP session on a channel. What can be answered at once is, and all else one after the other."""

    def __init__(self, chan: "SSHServerChannel[bytes]", drop: Drop, give_up: Callable[[], None]) -> None:
        self._chan, self._give_up = chan, give_up
        self._session = Session(drop)
        self._splitter = Splitter()
        self._waiting: deque[memoryview] = deque()
        self._held = 0
        self._asking: asyncio.Task[None] | None = None
        self._full = self._paused = self._ended = False
        chan.set_write_buffer_limits(UNSENT)

    def feed(self, data: bytes) -> None:
        """Bytes from the client."""
        try:
            packets = self._splitter.feed(data)
        except BadPacket:
            self._chan.exit(NOT_SFTP)
            return
        self._waiting.extend(packets)
        self._held += sum(map(len, packets))
        self._go_on()
        if self._held > MAX_WAITING_BYTES and not self._paused:
            self._paused = True
            self._chan.pause_reading()

    def end(self) -> None:
        """Nothing more comes; what waits is still answered."""
        self._ended = True
        self._go_on()

    def hold(self, full: bool) -> None:
        """The client takes no more for now, or does again."""
        self._full = full
        if not full:
            self._go_on()

    async def close(self) -> None:
        """The channel is gone."""
        self._waiting.clear()
        if self._asking is not None:
            await asyncio.wait([self._asking])
        with suppress(Exception):  # nobody is there to be told; what it held is given back
            await self._session.end()

    def _go_on(self) -> None:
        out: list[bytes | memoryview] = []
        size = 0
        while self._waiting and not self._full and self._asking is None:
            packet = self._waiting.popleft()
            self._held -= len(packet)
            try:
                answer = self._session.answer_at_once(packet)
            except Exception:
                self._break()
                return
            if answer is None:
                self._asking = asyncio.get_running_loop().create_task(self._ask(packet))
                break
            out += answer
            size += sum(map(len, answer))
            if size > SENT_AT_ONCE:
                self._send(out)
                out, size = [], 0
        self._send(out)
        if self._paused and self._held <= MAX_WAITING_BYTES // 2:
            self._paused = False
            self._chan.resume_reading()
        if self._ended and not self._waiting and self._asking is None:
            self._chan.exit(0)

    async def _ask(self, packet: memoryview) -> None:
        try:
            answer = await self._session.answer(packet)
        except BadPacket:
            self._waiting.clear()
            self._chan.exit(NOT_SFTP)
            return
        except Exception:  # Broken, or a bug: a simulator's is in the run already, and nobody waits for an answer
            self._break()
            return
        finally:
            self._asking = None
        self._send(answer)
        self._go_on()

    def _break(self) -> None:
        self._waiting.clear()
        self._give_up()

    def _send(self, pieces: list[bytes | memoryview]) -> None:
        if pieces:
            with suppress(BrokenPipeError):
                self._chan.write(b"".join(pieces))


class Transfer:
    """An scp on a channel."""

    def __init__(
        self, chan: "SSHServerChannel[bytes]", drop: Drop, command: Command, give_up: Callable[[], None]
    ) -> None:
        self._chan, self._give_up = chan, give_up
        self._reader = asyncio.StreamReader(limit=MAX_WAITING_BYTES // 2)
        # All that is asked of it is to pause, and to go on.
        self._reader.set_transport(chan)  # type: ignore[arg-type]
        self._room = asyncio.Event()
        self._room.set()
        self._task = asyncio.get_running_loop().create_task(self._run(Scp(drop, command, self._reader, self._write)))

    def feed(self, data: bytes) -> None:
        """Bytes from the client."""
        self._reader.feed_data(data)

    def end(self) -> None:
        """Nothing more comes."""
        self._reader.feed_eof()

    def hold(self, full: bool) -> None:
        """The client takes no more for now, or does again."""
        if full:
            self._room.clear()
        else:
            self._room.set()

    async def close(self) -> None:
        """The channel is gone."""
        self._reader.feed_eof()
        self._room.set()
        await asyncio.wait([self._task])

    async def _run(self, scp: Scp) -> None:
        try:
            self._chan.exit(await scp.run())
        except BrokenPipeError:
            return
        except Exception:  # likewise
            self._give_up()

    async def _write(self, data: bytes) -> None:
        self._chan.write(data)
        await self._room.wait()


class Channel:
    """What asyncssh tells of one channel. It is SFTP, or scp, or it is refused."""

    def __init__(self, drop: Drop, connection: ChannelOwner) -> None:
        self._drop, self._connection = drop, connection
        self._flow: Pump | Transfer | None = None
        self._command: Command | None = None

    def connection_made(self, chan: "SSHServerChannel[bytes]") -> None:
        """It is open."""
        self._chan = chan

    def subsystem_requested(self, subsystem: str) -> bool:
        """SFTP alone."""
        return subsystem == "sftp"

    def exec_requested(self, command: str) -> bool:
        """Nothing is ever run; scp says what it wants as a command."""
        self._command = parse_command(command)
        return self._command is not None

    def session_started(self) -> None:
        """What was asked for begins."""
        if self._command is None:
            self._flow = Pump(self._chan, self._drop, self._connection.drop)
        else:
            self._flow = Transfer(self._chan, self._drop, self._command, self._connection.drop)

    def data_received(self, data: bytes, _: int | None) -> None:
        """Bytes from the client."""
        self._connection.seen()
        if self._flow is not None:
            self._flow.feed(data)

    def eof_received(self) -> bool:
        """Nothing more comes from it; it stays open until all is answered."""
        if self._flow is not None:
            self._flow.end()
        return True

    def pause_writing(self) -> None:
        """The client does not take what it asked for."""
        if self._flow is not None:
            self._flow.hold(full=True)

    def resume_writing(self) -> None:
        """It does again."""
        if self._flow is not None:
            self._flow.hold(full=False)

    def connection_lost(self, _: Exception | None) -> None:
        """It is gone: what was on its way is kept as far as it came."""
        self._connection.left(self._flow.close() if self._flow is not None else None)
