"""MLLP: HL7 v2 over TCP. One listener serves every playground: MSH-6 of each message says whose it is."""

import asyncio
import shlex
import socket
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import ClassVar, cast

from clerkship.kit.wall import monotonic
from clerkship.model.frozen import Frozen
from clerkship.sandbox.listener import ConnectionInfo, ProtocolListener, SandboxClient, SandboxDirectory
from clerkship.simulators.hl7.config import Hl7Config
from clerkship.simulators.hl7.courier import Courier
from clerkship.simulators.hl7.mllp_connection import Connection, Find
from clerkship.simulators.hl7.mllp_guests import Guests, Limits

BACKLOG = 1024
ACCEPTED = 64
"""Connections that the loop takes in one go: each is a file that is open before anybody has looked at it."""
SWEEPS = 8
"""Looks at each connection within the shortest time that one may take."""
SAMPLE = (
    r"MSH|^~\\&|AGENT|CLINIC|LAB|{facility}|20260302090000||ADT^A04^ADT_A01|1|P|2.5.1\r"
    r"EVN||20260302090000\rPID|1||1^^^CLINIC^MR||Okafor^Ada\rPV1|1|O\r"
)
"""As it is written in Python."""


@dataclass
class OwnPort:
    """A port for one sandbox alone."""

    socket: socket.socket
    server: asyncio.Server | None = None

    @property
    def number(self) -> int:
        """Where it is."""
        number: int = self.socket.getsockname()[1]
        return number


class Mllp(ProtocolListener):
    """Frames in, acknowledgements out; and what is for agents that listen, to them."""

    name: ClassVar[str] = "mllp"

    def __init__(self, board: SandboxDirectory, limits: Limits = Limits()) -> None:  # noqa: B008  (it is frozen)
        super().__init__(board)
        self.limits = limits
        self.guests = Guests(limits)
        self.connections: dict[str, set[Connection]] = {"": set()}
        """By the address of the sandbox whose own port they came in by; nothing for the one of all."""
        self.couriers: dict[str, Courier] = {}
        self._own: dict[str, OwnPort] = {}
        self._lock = threading.Lock()
        self._host, self._port = "", 0
        self._loop: asyncio.AbstractEventLoop | None = None
        self._server: asyncio.Server | None = None
        self._sweeping: asyncio.Task[None] | None = None

    async def open(self, host: str, port: int) -> None:
        """Listen."""
        self._loop = asyncio.get_running_loop()
        listening = socket.create_server((host, port), backlog=BACKLOG)
        self._server = await _serve(listening, self._door("", self.board.find))
        self._host, self._port = listening.getsockname()[:2]
        self._sweeping = self._loop.create_task(self._sweep())

    async def close(self) -> None:
        """Hang up on everybody."""
        if self._sweeping is not None:
            self._sweeping.cancel()
        if self._server is not None:
            self._server.close()
        for address in [*self.couriers, *self._own]:
            await self.gone(address)
        for connection in list(self.connections[""]):
            await connection.end()

    def told(self, post: SandboxClient) -> ConnectionInfo:
        """Host, port, and what to write in MSH-6."""
        port = self._own_port(post) if cast(Hl7Config, post.config).own_port else self._port
        return {"host": self._host, "port": port, "facility": post.address}

    def ports(self) -> Sequence[int]:
        """The one of all, and those of some."""
        with self._lock:
            return [self._port, *[own.number for own in self._own.values()]]

    def example(self, told: ConnectionInfo) -> str:
        """A message that can be pasted: Python is there wherever this is."""
        message = SAMPLE.format(facility=told["facility"])
        script = (
            f'import socket; s = socket.create_connection(("{told["host"]}", {told["port"]})); '
            f's.sendall(b"\\x0b{message}\\x1c\\r"); print(s.recv(65536).decode().replace("\\r", "\\n"))'
        )
        return shlex.join(["python3", "-c", script])

    async def linked(self, post: SandboxClient) -> None:
        """Begin to carry what is in the inbox to who listens, or look where they listen now."""
        if not post.open:  # its run ended meanwhile, and nobody would come to stop the courier
            return
        courier = self.couriers.get(post.address)
        if courier is None:
            courier = self.couriers[post.address] = Courier(post)
            courier.start()
        courier.relink()

    async def gone(self, address: str) -> None:
        """Its port is closed, and nothing is carried any more."""
        courier = self.couriers.pop(address, None)
        if courier is not None:
            await courier.stop()
        with self._lock:
            own = self._own.pop(address, None)
        if own is not None:
            if own.server is not None:
                own.server.close()
            own.socket.close()
        for connection in list(self.connections.pop(address, ())):
            await connection.end()

    @classmethod
    def calls_first(cls, config: Frozen) -> bool:
        """Where the config says that the agent listens."""
        return cast(Hl7Config, config).listener is not None

    def _door(self, address: str, find: Find) -> Callable[[], Connection]:
        open_ones = self.connections.setdefault(address, set())
        return lambda: Connection(find, open_ones, self.guests, self.board.list_refused)

    def _own_port(self, post: SandboxClient) -> int:
        """Bound here, in the thread of whoever asks; it is the loop that lets anybody in."""
        with self._lock:
            own = self._own.get(post.address)
            if own is None and post.open and self._loop is not None:
                own = self._own[post.address] = OwnPort(socket.create_server((self._host, 0), backlog=BACKLOG))
                asyncio.run_coroutine_threadsafe(self._let_in(post, own), self._loop)
            return 0 if own is None else own.number

    async def _let_in(self, post: SandboxClient, own: OwnPort) -> None:
        if post.address in self._own:  # or its run was over before anybody came
            own.server = await _serve(
                own.socket, self._door(post.address, lambda facility: post if post.open else None)
            )

    async def _sweep(self) -> None:
        while True:
            await asyncio.sleep(min(self.limits.idle, self.limits.frame, self.limits.first) / SWEEPS)
            now = monotonic()
            for connection in [each for open_ones in self.connections.values() for each in open_ones]:
                with suppress(OSError):
                    connection.sweep(now)


async def _serve(listening: socket.socket, door: Callable[[], Connection]) -> asyncio.Server:
    # asyncio does not set it on connections of a socket it did not make; without it each answer waits 40 ms.
    listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    server = await asyncio.get_running_loop().create_server(door, sock=listening, backlog=ACCEPTED)
    listening.listen(BACKLOG)
    return server
