"""A sandbox as listeners and deliveries reach it: through the gateway, with the token of the sandbox."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from typing import Any, TypeVar

from clerkship.events.event import Event, Payload
from clerkship.model.frozen import Frozen
from clerkship.model.scenario import Actor
from clerkship.playground import clock_hold
from clerkship.playground.failure import SimulatorBroken, record_failure
from clerkship.playground.gateway import Gateway, RequestContext
from clerkship.playground.playground import Playground
from clerkship.playground.sandbox import Sandbox
from clerkship.sandbox.exchange import IMMEDIATE, Refusal, Reply
from clerkship.sandbox.operation import ProtocolCall
from clerkship.transports.executor import WorkerPool
from clerkship.transports.outbound.address import OutboundAddress
from clerkship.transports.outbound.policy import ResolvedAddress

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class GatewayClient:
    """Implements SandboxClient and OutboundClient for one sandbox."""

    gateway: Gateway
    workers: WorkerPool
    playground: Playground
    sandbox: Sandbox
    address: str
    over: str
    """The name of the protocol, such as `sftp`."""

    @property
    def token(self) -> str:
        """Its credential."""
        return self.sandbox.token

    @property
    def config(self) -> Frozen:
        """How its simulator is configured."""
        return self.sandbox.state.config

    @property
    def callbacks(self) -> Mapping[str, str]:
        """Addresses that the agent registered."""
        return self.sandbox.callbacks

    @property
    def open(self) -> bool:
        """Whether its run has not ended."""
        return not self.playground.closed

    async def call(self, call: ProtocolCall) -> Reply:
        """Call an operation as the agent."""
        reply = self.call_now(call)
        return reply if isinstance(reply, Reply) else await reply

    def call_now(self, call: ProtocolCall) -> Reply | Awaitable[Reply]:
        """Call an operation as the agent; return the reply itself if it is available at once."""
        return self._begin_call(call, "agent")

    def _begin_call(self, call: ProtocolCall, actor: Actor) -> Reply | Awaitable[Reply]:
        exchange = RequestContext(self.playground.id, self.sandbox.name, call, self.sandbox.token, actor)
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
        return await _late(await self.workers.run(self.playground.id, work, waits=self.playground.people.thinks))

    def _handle(self, exchange: RequestContext) -> Reply:
        try:
            return self.gateway.handle(exchange)
        except SimulatorBroken:
            return self._broken(exchange)

    def _broken(self, exchange: RequestContext) -> Reply:
        broken = Refusal(500, "internal_error", "the simulator failed; the run will be errored")
        return exchange.call.refuse(broken, self.sandbox.spec)

    async def read_state(self, read: Callable[[Any], T]) -> T:
        """Read its state."""
        return await self._locked(lambda: read(self.sandbox.state))

    async def _locked(self, work: Callable[[], T]) -> T:
        """Do something with the playground locked: at once where it is free, else in a worker thread."""
        lock, thinks = self.playground.lock, self.playground.people.thinks
        if thinks or not lock.acquire(blocking=False):
            return await self.workers.run(self.playground.id, partial(self._lock, work), waits=thinks)
        try:
            return work()
        finally:
            lock.release()

    def _lock(self, work: Callable[[], T]) -> T:
        with self.playground.lock:
            return work()

    def subscribe(self, callback: Callable[[str], None]) -> Callable[[], None]:
        """Call callback with the kind of each event of the sandbox."""

        def forward(event: Event) -> None:
            if event.source == self.sandbox.name:
                callback(event.kind)

        self.playground.follow(forward)
        return partial(self.playground.unfollow, forward)

    async def fail(self, error: Exception) -> None:
        """Record a bug of the simulator."""
        await self._locked(partial(record_failure, self.playground, error, f"{self.sandbox.name}: {self.over}"))

    # For deliveries.

    async def call_as_run(self, call: ProtocolCall) -> Reply:
        """Call an operation as the run."""
        reply = self._begin_call(call, "run")
        return reply if isinstance(reply, Reply) else await reply

    async def resolve(self, address: OutboundAddress) -> ResolvedAddress:
        """Check an address by the policy of the entry point, and that none of our own listeners is there."""
        self.gateway.check_address(address)
        return await self.gateway.policy.check(address)

    async def record(self, payload: Payload) -> None:
        """Log an event of the sandbox, unless the run is over or its log is full."""
        await self._locked(partial(self._record, payload))

    def _record(self, payload: Payload) -> None:
        if self.open and not self.playground.log.is_full:
            self.playground.emit(self.sandbox.name, payload, "run")

    async def schedule(self, after: timedelta, due: Callable[[], None]) -> None:
        """Have a function called once so much simulated time has passed."""
        clock = self.playground.clock
        await self._locked(lambda: clock.schedule(clock.now + after, due))

    def random(self) -> float:
        """Return a number that the seed of the run decides."""
        return self.playground.rng.stream(f"outbound/{self._delivery}").random()

    @property
    def _delivery(self) -> str:
        return f"{self.sandbox.name}/{self.over}"

    @property
    def begun(self) -> int:
        """How often `begin` was called."""
        return self.playground.clock_hold.begun(self._delivery)

    def join(self) -> None:
        """Add the delivery to those that hold the clock, and hold it."""
        place = list(self.playground.sandboxes).index(self.sandbox.name)
        self.playground.clock_hold.join(self._delivery, (place, self.over))

    async def rejoin(self) -> None:
        """Join in the event loop, which must not wait for the lock of the playground."""
        await self._locked(self.join)

    def on_reset(self, reset: Callable[[], None]) -> None:
        """Have the delivery start over when the playground is rewound."""
        self.playground.clock_hold.on_reset(self._delivery, reset)

    def leave(self) -> None:
        """Remove the delivery from those that hold the clock."""
        self.playground.clock_hold.leave(self._delivery)

    def begin(self) -> None:
        """Hold a stepped clock."""
        self.playground.clock_hold.begin(self._delivery)

    def extend(self) -> None:
        """Hold the clock for one more attempt."""
        self.playground.clock_hold.extend(self._delivery)

    @asynccontextmanager
    async def turn(self) -> AsyncIterator[None]:
        """Wait for the turn of the delivery; on a paced clock there are no turns."""
        if self.playground.environment.time != "stepped":
            yield
            return
        try:
            await self._wait_for_turn()
            yield
        finally:
            await self._locked(partial(self.playground.clock_hold.end_turn, self._delivery))

    async def _wait_for_turn(self) -> None:
        hold, granted, loop = self.playground.clock_hold, asyncio.Event(), asyncio.get_running_loop()

        def grant() -> None:
            with suppress(RuntimeError):  # the loop is closed: the run is over
                loop.call_soon_threadsafe(granted.set)

        while not granted.is_set():
            await self._locked(partial(hold.request_turn, self._delivery, grant))
            with suppress(TimeoutError):
                await asyncio.wait_for(granted.wait(), clock_hold.MAX_HOLD_SECONDS)

    async def finish(self, begun: int) -> None:
        """Release the clock."""
        await self._locked(partial(self.playground.clock_hold.finish, self._delivery, begun))


async def _late(reply: Reply) -> Reply:
    if reply.delivery.delay:
        await asyncio.sleep(reply.delivery.delay)
    return reply
