"""Access to a sandbox for listeners: through the gateway, with the sandbox's token."""

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
from clerkship.transports.loop_thread import WorkerPool

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class GatewayClient:
    """Implements SandboxClient for one sandbox."""

    gateway: Gateway
    workers: WorkerPool
    playground: Playground
    sandbox: Sandbox
    address: str
    protocol: str
    """The name of the protocol, such as `sftp`."""

    @property
    def token(self) -> str:
        """The token of the sandbox."""
        return self.sandbox.token

    @property
    def config(self) -> Frozen:
        """The configuration of the simulator."""
        config: Frozen = self.sandbox.state.config
        return config

    @property
    def callbacks(self) -> Mapping[str, str]:
        """The addresses that the agent registered, by name."""
        return self.sandbox.callbacks

    @property
    def open(self) -> bool:
        """Whether the trial is still going on."""
        return not self.playground.closed

    async def call(self, call: ProtocolCall, actor: Actor = "agent") -> Reply:
        """Call an operation."""
        reply = self.call_now(call, actor)
        return reply if isinstance(reply, Reply) else await reply

    def call_now(self, call: ProtocolCall, actor: Actor = "agent") -> Reply | Awaitable[Reply]:
        """Call an operation; return the reply if it is available at once, else an awaitable of it.

        This spares a quick call the cost of a coroutine.
        """
        context = RequestContext(self.playground.id, self.sandbox.name, call, self.sandbox.token, actor)
        reply = self.gateway.try_answer(context)
        if reply is None:
            return self._answer_in_worker(context)
        return reply if reply.delivery is IMMEDIATE or not reply.delivery.delay else _delay_reply(reply)

    async def _answer_in_worker(self, context: RequestContext) -> Reply:
        work, waits = partial(self.gateway.answer, context), self.playground.people.uses_model
        return await _delay_reply(await self.workers.run(self.playground.id, work, waits=waits))

    async def read_state(self, read: Callable[[Any], T]) -> T:
        """Read the state of the sandbox, with the playground locked."""
        return await self.run_locked(lambda: read(self.sandbox.state))

    async def run_locked(self, work: Callable[[], T]) -> T:
        """Run a function with the playground locked: at once if the lock is free, else in a worker thread."""
        lock, uses_model = self.playground.lock, self.playground.people.uses_model
        if uses_model or not lock.acquire(blocking=False):
            return await self.workers.run(self.playground.id, partial(self._run_with_lock, work), waits=uses_model)
        try:
            return work()
        finally:
            lock.release()

    def _run_with_lock(self, work: Callable[[], T]) -> T:
        with self.playground.lock:
            return work()

    def subscribe(self, callback: Callable[[str], None]) -> Callable[[], None]:
        """Call `callback` with the kind of each event of the sandbox; return a function that ends this."""

        def forward(event: Event) -> None:
            if event.source == self.sandbox.name:
                callback(event.kind)

        self.playground.subscribe(forward)
        return partial(self.playground.unsubscribe, forward)

    async def fail(self, error: Exception) -> None:
        """Record a bug of the simulator."""
        await self.run_locked(partial(record_failure, self.playground, error, f"{self.sandbox.name}: {self.protocol}"))


async def _delay_reply(reply: Reply) -> Reply:
    if reply.delivery.delay:
        await asyncio.sleep(reply.delivery.delay)
    return reply
