"""A sandbox as listeners reach it: through the gateway, with the token of the sandbox."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

from clerkship.events.event import Event
from clerkship.model.frozen import Frozen
from clerkship.model.scenario import Actor
from clerkship.playground.failure import record_failure
from clerkship.playground.gateway import Gateway
from clerkship.playground.handlers import RequestContext
from clerkship.playground.playground import Playground
from clerkship.playground.sandbox import Sandbox
from clerkship.sandbox.operation import ProtocolCall
from clerkship.sandbox.request import IMMEDIATE, Reply
from clerkship.transports.executor import WorkerPool

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class GatewayClient:
    """Implements SandboxClient for one sandbox."""

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

    async def call(self, call: ProtocolCall, actor: Actor = "agent") -> Reply:
        """Call an operation."""
        reply = self.call_now(call, actor)
        return reply if isinstance(reply, Reply) else await reply

    def call_now(self, call: ProtocolCall, actor: Actor = "agent") -> Reply | Awaitable[Reply]:
        """Call an operation; return the reply itself if it is available at once."""
        exchange = RequestContext(self.playground.id, self.sandbox.name, call, self.sandbox.token, actor)
        reply = self.gateway.try_answer(exchange)
        if reply is None:
            return self._in_time(exchange)
        return reply if reply.delivery is IMMEDIATE or not reply.delivery.delay else _delay_reply(reply)

    async def _in_time(self, exchange: RequestContext) -> Reply:
        """In a worker thread."""
        work, waits = partial(self.gateway.answer, exchange), self.playground.people.thinks
        return await _delay_reply(await self.workers.run(self.playground.id, work, waits=waits))

    async def read_state(self, read: Callable[[Any], T]) -> T:
        """Read its state."""
        return await self.run_locked(lambda: read(self.sandbox.state))

    async def run_locked(self, work: Callable[[], T]) -> T:
        """Run a function with the playground locked: at once where it is free, else in a worker thread."""
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
        await self.run_locked(partial(record_failure, self.playground, error, f"{self.sandbox.name}: {self.over}"))


async def _delay_reply(reply: Reply) -> Reply:
    if reply.delivery.delay:
        await asyncio.sleep(reply.delivery.delay)
    return reply
