"""The lines of this process: each kind is opened once, in a thread of its own, the first time somebody needs it."""

import asyncio
import importlib.util
import os
import threading
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeVar

from clerkship.events.event import Event
from clerkship.kit.descriptors import raise_limit
from clerkship.model.frozen import Frozen
from clerkship.model.problem import PlatformError
from clerkship.playground.gateway import Gateway, RequestContext, SimulatorBroken
from clerkship.playground.http import RequestHandler
from clerkship.playground.playground import Playground
from clerkship.playground.sandbox import Sandbox
from clerkship.sandbox.exchange import IMMEDIATE, Refusal, Reply
from clerkship.sandbox.listener import ConnectionInfo, ProtocolListener, SandboxClient
from clerkship.sandbox.operation import ProtocolCall
from clerkship.transports.executor import WorkerPool
from clerkship.transports.loop_thread import LoopThread

HOST = "127.0.0.1"
START_LIMIT = 20.0
CLOSE_LIMIT = 3.0
T = TypeVar("T")


class ProtocolListenerFailed(PlatformError):
    """A line did not open."""


class ProtocolPortTaken(ProtocolListenerFailed):
    """Somebody else listens where a line was to be."""


@dataclass(frozen=True, slots=True)
class GatewayClient:
    """A sandbox as a line reaches it: through the gateway, with the sandbox's own token."""

    gateway: RequestHandler
    workers: WorkerPool
    playground: Playground
    sandbox: Sandbox
    address: str

    @property
    def token(self) -> str:
        """Its credential."""
        return self.sandbox.token

    @property
    def config(self) -> Frozen:
        """How its simulator is configured."""
        return self.sandbox.state.config

    @property
    def links(self) -> Mapping[str, str]:
        """Where the agent says it is."""
        return self.sandbox.links

    @property
    def open(self) -> bool:
        """Whether its run goes on."""
        return not self.playground.closed

    async def send(self, call: ProtocolCall) -> Reply:
        """Call an operation as the agent."""
        reply = self.ask(call)
        return reply if isinstance(reply, Reply) else await reply

    def ask(self, call: ProtocolCall) -> Reply | Awaitable[Reply]:
        """Call an operation as the agent; return the reply itself where it is there at once."""
        exchange = RequestContext(self.playground.id, self.sandbox.name, call, self.sandbox.token)
        try:
            reply = self.gateway.try_handle(exchange)
        except SimulatorBroken:
            reply = self._broken(exchange)
        if reply is None:
            return self._in_time(exchange)
        return reply if reply.delivery is IMMEDIATE or not reply.delivery.delay else _late(reply)

    async def _in_time(self, exchange: RequestContext) -> Reply:
        """In a worker thread."""
        work = partial(self._handle, exchange)
        return await _late(await self.workers.run(self.playground.id, work, waits=self.playground.thinks))

    def _handle(self, exchange: RequestContext) -> Reply:
        try:
            return self.gateway.handle(exchange)
        except SimulatorBroken:
            return self._broken(exchange)

    def _broken(self, exchange: RequestContext) -> Reply:
        broken = Refusal(500, "internal_error", "the simulator failed; the run will be errored")
        return exchange.call.refuse(broken, self.sandbox.spec)

    async def look(self, read: Callable[[Any], T]) -> T:
        """Read its state."""
        lock = self.playground.lock
        if self.playground.thinks or not lock.acquire(blocking=False):
            return await self.workers.run(self.playground.id, partial(self._look, read), waits=self.playground.thinks)
        try:
            return read(self.sandbox.state)
        finally:
            lock.release()

    def _look(self, read: Callable[[Any], T]) -> T:
        with self.playground.lock:
            return read(self.sandbox.state)

    def watch(self, tell: Callable[[str], None]) -> None:
        """Be told of its events."""

        def hear(event: Event) -> None:
            if event.source == self.sandbox.name:
                tell(event.kind)

        self.playground.follow(hear)


async def _late(reply: Reply) -> Reply:
    if reply.delivery.delay:
        await asyncio.sleep(reply.delivery.delay)
    return reply


@dataclass
class RunningListener:
    """One line, its loop and its thread."""

    gateway: Gateway
    kind: str
    make: type[ProtocolListener]
    port: int = 0
    workers: WorkerPool = field(default_factory=WorkerPool)
    line: ProtocolListener = field(init=False)
    _thread: LoopThread = field(init=False)

    def __post_init__(self) -> None:
        """It is given the sandboxes of its kind."""
        self.line, self._thread = self.make(self), LoopThread(self.make.name)

    def find(self, address: str) -> SandboxClient | None:
        """The sandbox of this address, if it is of this line's kind."""
        found = self.gateway.at(address)
        if found is None:
            return None
        playground, sandbox = found
        if playground.closed or sandbox.spec.kind != self.kind:
            return None
        return GatewayClient(self.gateway, self.workers, playground, sandbox, sandbox.address)

    def list_refused(self, address: str, operation: str, reason: str) -> None:
        """List a request without a valid credential: beside the log of its trial if the address is known."""
        found = self.gateway.at(address)
        name, listed = "", self.gateway.unplaced
        if found is not None:
            name, listed = found[1].name, found[0].sidecar.unauthenticated
        listed.add(sandbox=name, over=self.make.name, method=operation, reason=reason)

    def seat(self, playground: Playground, sandbox: Sandbox) -> GatewayClient:
        """A sandbox as this line reaches it."""
        address = self.gateway.locate(playground, sandbox)
        return GatewayClient(self.gateway, self.workers, playground, sandbox, address)

    def start(self) -> None:
        """Open it, and wait until it is."""
        try:
            self._thread.start(partial(self.line.open, HOST, self.port), self.line.close, START_LIMIT)
        except TimeoutError:
            raise ProtocolListenerFailed(f"{self.make.name} did not start within {START_LIMIT:.0f} s") from None
        except OSError as error:
            reason = os.strerror(error.errno).lower() if error.errno else str(error)
            raise ProtocolPortTaken(f"{self.make.name}: nothing can listen on port {self.port}: {reason}") from None
        except Exception as error:
            raise ProtocolListenerFailed(f"{self.make.name} did not start: {type(error).__name__}: {error}") from error

    def tell_linked(self, seat: GatewayClient) -> None:
        """The line hears, in its own loop, that an agent can be reached."""
        self._thread.submit(partial(self.line.linked, seat))

    def tell_gone(self, address: str) -> None:
        """The line hears, in its own loop, that a run is over."""
        self._thread.submit(partial(self.line.gone, address))

    def stop(self) -> None:
        """From any thread; it is waited for, but not for long."""
        self._thread.stop(CLOSE_LIMIT)
        self.workers.close()


class ListenerPool:
    """By the kind of simulator and the line's name."""

    def __init__(self, gateway: Gateway, ports: Mapping[str, int] | None = None) -> None:
        self._gateway = gateway
        self._ports = ports or {}
        self._running: dict[tuple[str, str], RunningListener] = {}
        self._lock = threading.Lock()
        self._closed = False
        gateway.on_link, gateway.on_leave = self._linked, self._left
        gateway.line_ports = self._open_ports

    def of(self, playground: Playground, sandbox: Sandbox) -> dict[str, tuple[ProtocolListener, ConnectionInfo]]:
        """Every line to a sandbox, with what its agent is told; opens those that are not open."""
        found = {
            make.name: (running.line, running.line.told(running.seat(playground, sandbox)))
            for make in sandbox.spec.lines
            if (running := self._run(sandbox.spec.kind, make)) is not None
        }
        sandbox.told = {name: told for name, (_, told) in found.items()}
        return found

    def prepare(self, playground: Playground) -> None:
        """Open what has to call an agent before that asks for anything."""
        for sandbox in playground.sandboxes.values():
            if any(make.calls_first(sandbox.state.config) for make in sandbox.spec.lines):
                self._linked(playground, sandbox)

    def close(self) -> None:
        """All of them."""
        with self._lock:
            self._closed = True
            running, self._running = list(self._running.values()), {}
        for line in running:  # outside the lock: one that is being answered may want it
            line.stop()

    def _run(self, kind: str, make: type[ProtocolListener]) -> RunningListener | None:
        if not is_there(make):
            return None
        with self._lock:
            if self._closed:
                raise ProtocolListenerFailed("the run is over; there is no line any more")
            found = self._running.get((kind, make.name))
            if found is None:
                raise_limit()
                found = RunningListener(self._gateway, kind, make, self._ports.get(make.name, 0))
                found.start()
                self._running[kind, make.name] = found
            return found

    def _linked(self, playground: Playground, sandbox: Sandbox) -> None:
        for make in sandbox.spec.lines:
            running = self._run(sandbox.spec.kind, make)
            if running is not None:
                running.tell_linked(running.seat(playground, sandbox))

    def _open_ports(self) -> list[int]:
        """Where lines listen that have told nobody yet."""
        return [port for running in list(self._running.values()) for port in running.line.ports()]

    def _left(self, address: str) -> None:
        with self._lock:
            running = list(self._running.values())
        for line in running:
            line.tell_gone(address)


def is_there(make: type[ProtocolListener]) -> bool:
    """Whether what it cannot do without is installed."""
    return not make.package or importlib.util.find_spec(make.package) is not None
