"""Run the deliveries of all playgrounds of this process in one thread with its own event loop, each with its client."""

import asyncio
import threading
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from datetime import timedelta
from functools import partial

from clerkship.events.event import Payload
from clerkship.playground import clock_hold  # the module, so that tests can change MAX_HOLD_SECONDS
from clerkship.playground.client import GatewayClient
from clerkship.playground.failure import record_failure
from clerkship.playground.gateway import Gateway
from clerkship.playground.playground import Playground
from clerkship.playground.sandbox import Sandbox
from clerkship.sandbox.authentication.jwks import JWKS_PATH
from clerkship.sandbox.operation import ProtocolCall
from clerkship.sandbox.request import Reply
from clerkship.transports.loop_thread import LoopThread, Work, WorkerPool
from clerkship.transports.outbound.address import OutboundAddress
from clerkship.transports.outbound.delivery import IssuedAccess, OutboundDelivery
from clerkship.transports.outbound.policy import ResolvedAddress

MAX_START_SECONDS = 20.0
MAX_CLOSE_SECONDS = 3.0


@dataclass(frozen=True, slots=True)
class DeliveryClient(GatewayClient):
    """Implements OutboundClient for one delivery of a sandbox."""

    hold: clock_hold.DeliveryHold

    async def call_as_run(self, call: ProtocolCall) -> Reply:
        """Call an operation as the run, not as the agent."""
        return await self.call(call, "run")

    async def resolve(self, address: OutboundAddress) -> ResolvedAddress:
        """Check an address against the outbound policy, and that none of our own listeners is there."""
        return await self.gateway.resolve(address)

    async def record(self, payload: Payload, wall_ms: float) -> None:
        """Log an event about a call of the agent and store its duration, unless the trial is over or the log full."""
        await self.run_locked(partial(self._record, payload, wall_ms))

    def _record(self, payload: Payload, wall_ms: float) -> None:
        if self.open and not self.playground.log.is_full:
            event = self.playground.emit(self.sandbox.name, payload, "run")
            self.playground.sidecar.add_call(event.seq, wall_ms)

    async def schedule(self, after: timedelta, due: Callable[[], None]) -> None:
        """Call `due` after a simulated duration."""
        playground = self.playground
        await self.run_locked(lambda: playground.clock.schedule(playground.now + after, due))

    async def sign_jwt(self, audience: str, tenant: str = "") -> str:
        """Return a JWT with which the sandbox identifies itself."""
        await self._start_http()
        return await self.run_locked(partial(self._sign_jwt, audience, tenant))

    def _sign_jwt(self, audience: str, tenant: str) -> str:
        credentials, url = self.sandbox.credentials, self._build_url(self.sandbox.name)
        keys_url = f"{url}{JWKS_PATH}"
        return credentials.signing_key.sign(
            issuer=url, audience=audience, now=credentials.wall_now(), keys_url=keys_url, tenant=tenant
        )

    async def find_url(self) -> str:
        """Return the URL of the sandbox."""
        await self._start_http()
        return self._build_url(self.sandbox.name)

    async def grant_access(
        self, sandbox: str, scopes: Sequence[str], patient: str, lifetime: timedelta
    ) -> IssuedAccess:
        """Issue an access token with scopes for another sandbox of the playground."""
        await self._start_http()
        return await self.run_locked(partial(self._grant_access, sandbox, scopes, patient, lifetime))

    def _grant_access(self, sandbox: str, scopes: Sequence[str], patient: str, lifetime: timedelta) -> IssuedAccess:
        token, access = self.playground.sandboxes[sandbox].credentials.grant(scopes, patient, lifetime)
        return IssuedAccess(self._build_url(sandbox), token, access.scope, int(lifetime.total_seconds()))

    async def _start_http(self) -> None:
        """Start the HTTP server if it is not running: URLs of sandboxes must work while the agent is called."""
        if not self.playground.base_url:
            self.playground.base_url = await asyncio.to_thread(self.gateway.http_url)

    def _build_url(self, sandbox: str) -> str:
        """Return the URL of a sandbox. Without an HTTP server, it has a reserved name (RFC 6761 §6.4)."""
        playground = self.playground
        if not playground.base_url:
            return f"http://{sandbox}.invalid"
        return f"{playground.base_url}/{playground.id}/{sandbox}"

    def random(self) -> float:
        """Return a random number that depends on the seed of the trial."""
        return self.playground.rng.stream(f"outbound/{self.hold.name}").random()

    @property
    def begun(self) -> int:
        """How often `begin` was called."""
        return self.hold.begun

    def begin(self) -> None:
        """Hold a stepped clock."""
        self.hold.begin()

    def work(self, seconds: float = 0.0) -> None:
        """Hold the clock while the sandbox itself works."""
        self.hold.work(seconds)

    def await_agent(self) -> None:
        """Hold the clock while the agent is called."""
        self.hold.await_agent()

    @asynccontextmanager
    async def turn(self) -> AsyncIterator[None]:
        """Wait for the turn of this delivery. A paced clock has no turns."""
        if self.playground.environment.time != "stepped":
            yield
            return
        try:
            await self._wait_for_turn()
            yield
        finally:
            await self.run_locked(self.hold.end_turn)

    async def _wait_for_turn(self) -> None:
        granted, loop = asyncio.Event(), asyncio.get_running_loop()

        def grant() -> None:
            with suppress(RuntimeError):  # the loop is closed: the process is shutting down
                loop.call_soon_threadsafe(granted.set)

        while not granted.is_set():
            await self.run_locked(partial(self.hold.request_turn, grant))
            with suppress(TimeoutError):
                await asyncio.wait_for(granted.wait(), clock_hold.MAX_HOLD_SECONDS)

    async def finish(self, begun: int) -> None:
        """Release the clock."""
        await self.run_locked(partial(self.hold.finish, begun))


@dataclass(frozen=True, slots=True)
class _RunningDelivery:
    delivery: OutboundDelivery
    client: DeliveryClient
    task: "asyncio.Task[None]"


class OutboundPool:
    """Starts the deliveries of a sandbox once its agent has an address, and stops them when its trial is over."""

    def __init__(self, gateway: Gateway) -> None:
        self._gateway = gateway
        self._workers = WorkerPool()
        self._running: dict[tuple[str, str], _RunningDelivery] = {}
        """By the address of the sandbox and the name of the delivery; only used in the event loop."""
        self._thread: LoopThread | None = None
        self._lock = threading.Lock()
        self._closed = False

    def prepare(self, playground: Playground) -> None:
        """Start the deliveries of sandboxes whose config has the address of the agent."""
        for sandbox in playground.sandboxes.values():
            kinds = sandbox.spec.outbound
            if kinds and any(kind.configured(sandbox.state.config) for kind in kinds):
                self.start(playground, sandbox)

    def start(self, playground: Playground, sandbox: Sandbox, name: str = "") -> None:
        """Start the deliveries of a sandbox, or restart those for which the agent registered or removed an address.

        `name` is the name of the address. The address of some messages, such as `listener/1`, does not restart a
        delivery: what it has delivered stays delivered. Can be called from any thread.
        """
        address = self._gateway.assign_address(playground, sandbox)
        link, _, messages = name.partition("/")
        for kind in sandbox.spec.outbound:
            if link not in ("", kind.link):
                continue
            order = list(playground.sandboxes).index(sandbox.name), kind.name
            hold = playground.clock_hold.join(f"{sandbox.name}/{kind.name}", order)
            client = DeliveryClient(self._gateway, self._workers, playground, sandbox, address, kind.name, hold)
            self._submit(partial(self._start, kind, client, is_restart=not messages))

    def stop(self, address: str) -> None:
        """Stop the deliveries of a sandbox whose trial is over. Can be called from any thread; does not wait."""
        if self._thread is not None:
            self._submit(partial(self._stop, address))

    def close(self) -> None:
        """Stop all deliveries and the thread."""
        with self._lock:
            self._closed = True
        if self._thread is not None:
            self._thread.stop(MAX_CLOSE_SECONDS)
        self._workers.close()

    def _submit(self, work: Work) -> None:
        """Run work in the event loop, starting its thread if needed."""
        with self._lock:
            if self._closed:
                return
            if self._thread is None:
                self._thread = LoopThread("outbound")
                self._thread.start(partial(asyncio.sleep, 0), self._close, MAX_START_SECONDS)
        self._thread.submit(work)

    async def _start(self, kind: type[OutboundDelivery], client: DeliveryClient, *, is_restart: bool) -> None:
        key = client.address, kind.name
        if key not in self._running and not client.hold.is_joined:  # a failed delivery may have left since `start`
            await client.run_locked(client.hold.join)  # without waiting for the lock in the event loop
        running = self._running.get(key)
        if running is None and client.open:  # not open: the trial has ended meanwhile
            delivery = kind(client)
            client.hold.reset = delivery.reset
            running = _RunningDelivery(delivery, client, asyncio.create_task(self._run(delivery, client)))
            self._running[key] = running
        if running is None:
            client.hold.leave()
        elif is_restart:
            running.delivery.reset()
        else:
            running.delivery.wake()

    async def _run(self, delivery: OutboundDelivery, client: DeliveryClient) -> None:
        """Run a delivery until the trial is over.

        An exception is a bug of the simulator: the trial is errored. The next registration starts the delivery again.
        """
        try:
            try:
                await delivery.run()
            finally:
                self._running.pop((client.address, delivery.name), None)
                client.hold.leave()
        except Exception as error:
            record_failure(client.playground, error, f"{client.sandbox.name}: outbound {delivery.name}")

    async def _stop(self, address: str) -> None:
        for key in [key for key in self._running if key[0] == address]:
            running = self._running.pop(key)
            running.task.cancel()
            await asyncio.wait([running.task])
            running.client.hold.leave()  # `_run` has not done so if its task was cancelled before it began

    async def _close(self) -> None:
        for address in {address for address, _ in self._running}:
            await self._stop(address)
