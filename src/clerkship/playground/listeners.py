"""The listeners of this process for protocols other than HTTP. Each is opened when it is first needed, in a thread."""

import os
import threading
from dataclasses import dataclass, field
from functools import partial

from clerkship.kit.descriptors import raise_limit
from clerkship.kit.tls import TlsFiles
from clerkship.playground.client import GatewayClient
from clerkship.playground.gateway import Gateway
from clerkship.playground.outbound import OutboundPool
from clerkship.playground.playground import Playground
from clerkship.playground.sandbox import Sandbox
from clerkship.sandbox.listener import ProtocolListener, SandboxClient
from clerkship.sandbox.request import ConnectionInfo
from clerkship.transports.loop_thread import ListenerFailed, LoopThread, PortTaken, WorkerPool
from clerkship.transports.network import LOCAL_NETWORK, SandboxNetwork
from clerkship.transports.tcp import describe_host

MAX_START_SECONDS = 20.0
MAX_CLOSE_SECONDS = 3.0


@dataclass
class RunningListener:
    """A listener, its event loop and its thread."""

    gateway: Gateway
    kind: str
    listener_type: type[ProtocolListener]
    network: SandboxNetwork = LOCAL_NETWORK
    workers: WorkerPool = field(default_factory=WorkerPool)
    port: int = field(init=False)
    client_host: str = field(init=False)
    tls: TlsFiles | None = field(init=False)
    listener: ProtocolListener = field(init=False)
    _thread: LoopThread = field(init=False)

    def __post_init__(self) -> None:
        self.port = self.network.listener_ports.get(self.listener_type.name, 0)
        self.tls, self.client_host = self.network.tls, self.network.client_host
        self.listener, self._thread = self.listener_type(self), LoopThread(self.listener_type.name)

    def find(self, address: str) -> SandboxClient | None:
        """Return the sandbox with this address, if it is of the listener's kind."""
        match = self.gateway.find_by_address(address)
        if match is None:
            return None
        playground, sandbox = match
        if playground.closed or sandbox.spec.kind != self.kind:
            return None
        return GatewayClient(self.gateway, self.workers, playground, sandbox, sandbox.address, self.listener_type.name)

    def list_refused(self, address: str, operation: str, reason: str) -> None:
        """List a request without a valid credential, beside the log of its trial if the address is known."""
        match = self.gateway.find_by_address(address)
        name, requests = "", self.gateway.unmatched
        if match is not None:
            name, requests = match[1].name, match[0].sidecar.unauthenticated
        requests.add(sandbox=name, over=self.listener_type.name, method=operation, reason=reason)

    def client_for(self, playground: Playground, sandbox: Sandbox) -> GatewayClient:
        address = self.gateway.assign_address(playground, sandbox)
        return GatewayClient(self.gateway, self.workers, playground, sandbox, address, self.listener_type.name)

    def describe_connection(self, playground: Playground, sandbox: Sandbox) -> ConnectionInfo:
        """Return how a client reaches a sandbox."""
        info = self.listener.connection_info(self.client_for(playground, sandbox))
        host, reachable = self.network.host, self.client_host
        return {key: value.replace(host, reachable) if isinstance(value, str) else value for key, value in info.items()}

    def start(self) -> None:
        """Start the listener and wait until it is open.

        Raises PortTaken or ListenerFailed.
        """
        name = self.listener_type.name
        try:
            self._thread.start(
                partial(self.listener.open, self.network.host, self.port), self.listener.close, MAX_START_SECONDS
            )
        except TimeoutError:
            raise ListenerFailed(f"{name} did not start within {MAX_START_SECONDS:.0f} s") from None
        except OSError as error:
            reason = os.strerror(error.errno).lower() if error.errno else str(error)
            where = f"port {self.port}{describe_host(self.network.host)}"
            raise PortTaken(f"{name}: cannot listen on {where}: {reason}") from None
        except Exception as error:
            raise ListenerFailed(f"{name} did not start: {type(error).__name__}: {error}") from error

    def run_ended(self, address: str) -> None:
        """Call `run_ended` of the listener in its event loop."""
        self._thread.submit(partial(self.listener.run_ended, address))

    def stop(self) -> None:
        """Close the listener, waiting a few seconds at most. Can be called from any thread."""
        self._thread.stop(MAX_CLOSE_SECONDS)
        self.workers.close()


class ListenerPool:
    """The running listeners, by the kind of simulator and the name of the listener."""

    def __init__(self, gateway: Gateway, network: SandboxNetwork = LOCAL_NETWORK) -> None:
        self._gateway = gateway
        self._network = network
        self._running: dict[tuple[str, str], RunningListener] = {}
        self._lock = threading.Lock()
        self._closed = False
        self._outbound = OutboundPool(gateway)
        gateway.on_registered, gateway.on_run_ended = self._outbound.start, self._end_run
        gateway.listener_ports = self._open_ports

    def open_listeners(
        self, playground: Playground, sandbox: Sandbox
    ) -> dict[str, tuple[ProtocolListener, ConnectionInfo]]:
        """Return the listeners of a sandbox with their connection details, starting those that are not running."""
        opened = {
            each.name: (running.listener, running.describe_connection(playground, sandbox))
            for each in sandbox.spec.listeners
            if (running := self._ensure_running(sandbox.spec.kind, each)) is not None
        }
        sandbox.connection_info = {name: info for name, (_, info) in opened.items()}
        return opened

    def prepare(self, playground: Playground) -> None:
        """Start the deliveries of sandboxes whose config has the address of the agent."""
        self._outbound.prepare(playground)

    def close(self) -> None:
        """Stop all listeners and deliveries."""
        with self._lock:
            self._closed = True
            running, self._running = list(self._running.values()), {}
        for listener in running:  # without the lock: a request that is being answered may need it
            listener.stop()
        self._outbound.close()

    def _ensure_running(self, kind: str, listener_type: type[ProtocolListener]) -> RunningListener | None:
        if not listener_type.is_available() or not self._network.may_open(has_password=listener_type.has_password):
            return None
        with self._lock:
            if self._closed:
                raise ListenerFailed("the run has ended; its listeners are closed")
            running = self._running.get((kind, listener_type.name))
            if running is None:
                raise_limit()
                running = RunningListener(self._gateway, kind, listener_type, self._network)
                running.start()
                self._running[kind, listener_type.name] = running
            return running

    def _open_ports(self) -> list[int]:
        """Return the ports of all running listeners."""
        return [port for running in list(self._running.values()) for port in running.listener.ports()]

    def _end_run(self, address: str) -> None:
        with self._lock:
            running = list(self._running.values())
        for listener in running:
            listener.run_ended(address)
        self._outbound.stop(address)
