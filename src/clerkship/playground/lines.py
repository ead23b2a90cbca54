"""The lines of this process: each kind is opened once, in a thread of its own, the first time somebody needs it."""

import importlib.util
import os
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial

from clerkship.kit.descriptors import raise_limit
from clerkship.model.problem import PlatformError
from clerkship.playground.client import GatewayClient
from clerkship.playground.gateway import Gateway
from clerkship.playground.outbound import OutboundPool
from clerkship.playground.playground import Playground
from clerkship.playground.sandbox import Sandbox
from clerkship.sandbox.listener import ConnectionInfo, ProtocolListener, SandboxClient
from clerkship.transports.executor import WorkerPool
from clerkship.transports.loop_thread import LoopThread

HOST = "127.0.0.1"
START_LIMIT = 20.0
CLOSE_LIMIT = 3.0


class ProtocolListenerFailed(PlatformError):
    """A line did not open."""


class ProtocolPortTaken(ProtocolListenerFailed):
    """Somebody else listens where a line was to be."""


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
        return GatewayClient(self.gateway, self.workers, playground, sandbox, sandbox.address, self.make.name)

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
        return GatewayClient(self.gateway, self.workers, playground, sandbox, address, self.make.name)

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

    def tell_gone(self, address: str) -> None:
        """The line hears, in its own loop, that a run is over."""
        self._thread.submit(partial(self.line.run_ended, address))

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
        self._outbound = OutboundPool(gateway)
        gateway.on_link, gateway.on_leave = self._outbound.start, self._left
        gateway.line_ports = self._open_ports

    def of(self, playground: Playground, sandbox: Sandbox) -> dict[str, tuple[ProtocolListener, ConnectionInfo]]:
        """Every line to a sandbox, with what its agent is told; opens those that are not open."""
        found = {
            make.name: (running.line, running.line.connection_info(running.seat(playground, sandbox)))
            for make in sandbox.spec.listeners
            if (running := self._run(sandbox.spec.kind, make)) is not None
        }
        sandbox.told = {name: told for name, (_, told) in found.items()}
        return found

    def prepare(self, playground: Playground) -> None:
        """Start to call the agent where a config says how it is reached."""
        self._outbound.prepare(playground)

    def close(self) -> None:
        """All of them."""
        with self._lock:
            self._closed = True
            running, self._running = list(self._running.values()), {}
        for line in running:  # outside the lock: one that is being answered may want it
            line.stop()
        self._outbound.close()

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

    def _open_ports(self) -> list[int]:
        """Where lines listen that have told nobody yet."""
        return [port for running in list(self._running.values()) for port in running.line.ports()]

    def _left(self, address: str) -> None:
        with self._lock:
            running = list(self._running.values())
        for line in running:
            line.tell_gone(address)
        self._outbound.stop(address)


def is_there(make: type[ProtocolListener]) -> bool:
    """Whether what it cannot do without is installed."""
    return not make.package or importlib.util.find_spec(make.package) is not None
