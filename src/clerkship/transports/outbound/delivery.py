"""Deliver the messages of a sandbox to its agent, one at a time, and retry failed attempts.

See docs/decisions/0005-outbound-delivery.md.
"""

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractAsyncContextManager, contextmanager, suppress
from datetime import timedelta
from functools import partial
from typing import Any, ClassVar, NamedTuple, Protocol

from clerkship.events.event import Payload
from clerkship.events.lifecycle import OutboundAttempted, OutboundOutcome
from clerkship.kit.wall import perf_counter
from clerkship.model.frozen import Frozen
from clerkship.sandbox.listener import SandboxClient
from clerkship.sandbox.operation import ProtocolCall
from clerkship.sandbox.request import Reply
from clerkship.transports.outbound.address import OutboundAddress
from clerkship.transports.outbound.policy import OutboundRefused, ResolvedAddress
from clerkship.transports.outbound.retry import RetryPolicy

MAX_CONNECT_SECONDS = 5.0


class IssuedAccess(NamedTuple):
    """An access token with scopes for another sandbox of the playground. Never logged."""

    url: str
    """The URL of that sandbox."""
    token: str
    scope: str
    expires_in: int
    """Seconds of wall time."""


class OutboundClient(SandboxClient, Protocol):
    """The interface through which a delivery uses its sandbox."""

    async def call_as_run(self, call: ProtocolCall) -> Reply:
        """Call an operation for the delivery itself, to read a message.

        It is logged with the actor `run`, so it is not an action of the agent. Report what the agent answers with
        the calls of SandboxClient: those are logged as the agent's.
        """

    async def resolve(self, address: OutboundAddress) -> ResolvedAddress:
        """Check an address against the policy. Raise OutboundRefused, also for our own listeners."""

    async def record(self, payload: Payload, wall_ms: float) -> None:
        """Log an event about a call of the agent, and store beside the log how long the call took.

        Does nothing if the run is over or its log is full.
        """

    async def schedule(self, after: timedelta, due: Callable[[], None]) -> None:
        """Call `due` after this simulated time, in the thread that moves the clock."""

    async def sign_jwt(self, audience: str, tenant: str = "") -> str:
        """Return a JWT with which the sandbox identifies itself at an endpoint of the agent. Never log it.

        The HTTP server is running afterwards: it serves the public keys.
        """

    async def find_url(self) -> str:
        """Return the URL of the sandbox. The HTTP server is running afterwards. Never log it."""

    async def grant_access(
        self, sandbox: str, scopes: Sequence[str], patient: str, lifetime: timedelta
    ) -> IssuedAccess:
        """Issue an access token with SMART scopes for another sandbox of the playground, at a URL that works.

        Raises BadScope, and KeyError if there is no such sandbox. The kind of that sandbox must accept such tokens
        (`ScopedBearerToken`), as `fhir` does.
        """

    def random(self) -> float:
        """Return a number from 0 up to 1 that follows from the seed of the run."""

    @property
    def begun(self) -> int:
        """The number of calls of `begin`."""

    def begin(self) -> None:
        """Hold a stepped clock, because there may be a message to deliver. Can be called from any thread."""

    def work(self, seconds: float = 0.0) -> None:
        """Hold the clock while the sandbox itself works, however busy the machine is.

        `seconds` is the timeout of a call of the agent for all of which the clock is held.
        """

    def await_agent(self) -> None:
        """Hold the clock while the agent is called, for at most two seconds of wall time."""

    def turn(self) -> AbstractAsyncContextManager[None]:
        """Wait until this delivery may make an attempt.

        On a stepped clock, the deliveries of a run make one attempt at a time, in the order of their sandboxes, so
        that the log does not depend on the speed of the agent.
        """

    async def finish(self, begun: int) -> None:
        """Release the clock, unless `begin` was called more than `begun` times."""


class DeliveryFailed(Exception):
    """One attempt to deliver a message failed.

    `reason` is a code such as `not_public`, which contains no address and no text of the agent. `is_final` means
    that another attempt would fail in the same way.
    """

    def __init__(
        self, outcome: OutboundOutcome, status: int | None = None, reason: str = "", *, is_final: bool = False
    ) -> None:
        super().__init__(outcome)
        self.outcome, self.status, self.reason, self.is_final = outcome, status, reason, is_final


class OutboundDelivery(ABC):
    """Delivers the messages of one sandbox to its agent. Everything except `hear`, `wake` and `reset` runs in one event
    loop.

    No lock is held during an attempt: an agent may send requests to any sandbox before it answers.
    """

    name: ClassVar[str]
    """Its name in the log, such as `mllp`."""
    link: ClassVar[str] = "listener"
    """The name under which the agent registers its address, with `OperationContext.register_callback`.

    A name such as `listener/1` is the address for some messages only; see `find_address`.
    """
    wakes_on: ClassVar[str | tuple[str, ...]] = ".arrived"
    """The ending, or the endings, of the event kinds after which there may be a message to deliver."""
    in_order: ClassVar[bool] = True
    """Whether later messages wait while an earlier one is retried."""

    def __init__(self, client: OutboundClient) -> None:
        self.client = client
        self._attempts: dict[str, int] = {}
        self._finished: set[str] = set()
        """Messages that were delivered or given up; they are sent again only if the agent registers again."""
        self._backing_off: set[str] = set()
        self._generation = 0
        self._wall_ms: float | None = None
        """How long the agent took in this attempt, if `measure` was used."""
        self._news = asyncio.Event()
        self._loop = asyncio.get_running_loop()

    @classmethod
    @abstractmethod
    def configured(cls, config: Frozen) -> str | None:
        """Return the address in the config of the sandbox, which is used if the agent has registered none."""

    @property
    @abstractmethod
    def retry(self) -> RetryPolicy:
        """When failed attempts are repeated."""

    @abstractmethod
    def pending(self, state: Any) -> Iterable[str]:
        """Return the ids of the messages to deliver, the oldest first. Called with the playground locked."""

    @abstractmethod
    async def send(self, message_id: str, resolved: ResolvedAddress) -> None:
        """Send one message to an address that was checked, and wait for the answer.

        Raise DeliveryFailed, OSError if the connection fails (TimeoutError, ConnectionRefusedError), or EOFError if
        it ends early. Any other exception is a bug and makes the run errored, so an agent must not be able to cause
        one.
        """

    async def disconnect(self) -> None:  # noqa: B027  (most protocols open a connection per message)
        """Close a connection that is kept between messages: an attempt failed, or the agent removed its address."""

    async def give_up(self, message_id: str, failure: DeliveryFailed) -> None:  # noqa: B027
        """Do what follows if a message is not sent again after a failure."""

    @property
    def address(self) -> str:
        """The agent's address as it was registered, else as configured; empty if there is none."""
        return self.client.callbacks.get(self.link, self.configured(self.client.config)) or ""

    @property
    def has_address(self) -> bool:
        """Whether there is an address to which some message may be sent."""
        return bool(self.address)

    async def find_address(self, message_id: str) -> str:
        """Return the address for one message; empty if it has none. Override it, and `has_address`, if messages have
        their own.
        """
        return self.address

    def hear(self, kind: str) -> None:
        """Wake the delivery if an event of the sandbox may have added a message. Called in the thread that logs the
        event.
        """
        if kind.endswith(self.wakes_on):
            self.wake()

    def wake(self) -> None:
        """Look for messages to deliver. Can be called from any thread."""
        self.client.begin()
        with suppress(RuntimeError):  # the loop is closed: the run is over
            self._loop.call_soon_threadsafe(self._news.set)

    def reset(self) -> None:
        """Deliver from the start: the agent has registered or removed an address, or the run was rewound.

        Can be called from any thread.
        """
        self._generation += 1
        for messages in (self._attempts, self._finished, self._backing_off):
            messages.clear()
        self.wake()

    async def run(self) -> None:
        """Deliver messages until the run is over."""
        unsubscribe = self.client.subscribe(self.hear)
        try:
            while self.client.open:
                await self._news.wait()
                self._news.clear()
                begun = self.client.begun
                while await self._deliver_next():
                    pass
                if not self.has_address:
                    await self.disconnect()
                await self.client.finish(begun)
        finally:
            await self.disconnect()
            if self.client.open:  # the delivery failed while the run continues
                await self.client.read_state(lambda _: unsubscribe())

    async def _deliver_next(self) -> bool:
        """Attempt one message; return False if there is none to send now."""
        async with self.client.turn():
            message_id = await self._next()
            address = await self.find_address(message_id) if message_id is not None else ""
            if message_id is None or not address:  # the agent may have removed its address since `_next` looked
                return False
            await self._attempt(message_id, address)
        return True

    async def _next(self) -> str | None:
        """Return the oldest message that may be sent now."""
        if not self.has_address or not self.client.open:
            return None
        message_id = await self.client.read_state(self._first_pending)
        return None if message_id in self._backing_off else message_id

    def _first_pending(self, state: Any) -> str | None:
        skipped = self._finished if self.in_order else self._finished | self._backing_off
        return next((message_id for message_id in self.pending(state) if message_id not in skipped), None)

    async def _attempt(self, message_id: str, address: str) -> None:
        generation = self._generation
        number = self._attempts[message_id] = self._attempts.get(message_id, 0) + 1
        self._wall_ms = None
        started_at = perf_counter()
        failure = await self._try(message_id, address)
        self.client.work()
        wall_ms = (perf_counter() - started_at) * 1000 if self._wall_ms is None else self._wall_ms
        delay = None
        if failure is None or failure.is_final:
            self._finished.add(message_id)
        elif generation == self._generation:
            delay = self.retry.delay(number, self.client.random)
        await self.client.record(self._describe(message_id, number, failure, delay), wall_ms)
        if failure is not None:
            await self.disconnect()
            if not failure.is_final and generation == self._generation:
                await self._retry(message_id, delay)
            if message_id in self._finished:
                await self.give_up(message_id, failure)

    async def _try(self, message_id: str, address: str) -> DeliveryFailed | None:
        """Make one attempt; return the failure, or None."""
        try:
            resolved = await self.client.resolve(OutboundAddress.parse(address))
            self.client.await_agent()
            await self.send(message_id, resolved)
        except DeliveryFailed as failed:
            return failed
        except OutboundRefused as refused:
            return DeliveryFailed("refused_by_policy", reason=refused.code, is_final=True)
        except TimeoutError:
            return DeliveryFailed("timed_out")
        except ConnectionRefusedError:
            return DeliveryFailed("connection_refused")
        except (OSError, EOFError):
            return DeliveryFailed("lost")
        return None

    @contextmanager
    def measure(self) -> Iterator[None]:
        """Measure how long the agent takes to answer. Without it, the duration of the whole attempt is stored."""
        started_at = perf_counter()
        try:
            yield
        finally:
            self._wall_ms = (perf_counter() - started_at) * 1000

    async def _retry(self, message_id: str, after: timedelta | None) -> None:
        """Schedule another attempt in simulated time; give the message up if there is no delay."""
        if after is None:
            self._finished.add(message_id)
            return
        self._backing_off.add(message_id)
        await self.client.schedule(after, partial(self._retry_now, message_id, self._generation))

    def _retry_now(self, message_id: str, generation: int) -> None:
        if generation == self._generation:
            self._backing_off.discard(message_id)
            self.wake()

    def _describe(
        self, message_id: str, number: int, failure: DeliveryFailed | None, delay: timedelta | None
    ) -> OutboundAttempted:
        return OutboundAttempted(
            channel=self.name,
            message=message_id,
            attempt=number,
            outcome="delivered" if failure is None else failure.outcome,
            status=None if failure is None else failure.status,
            reason="" if failure is None else failure.reason,
            retry_in=None if delay is None else delay.total_seconds(),
        )


async def open_connection(resolved: ResolvedAddress) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """Connect to the first of the checked IP addresses that accepts."""
    for ip in resolved.ips[:-1]:
        with suppress(OSError):
            return await _connect(ip, resolved.address.port)
    return await _connect(resolved.ips[-1], resolved.address.port)


async def _connect(ip: str, port: int) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    return await asyncio.wait_for(asyncio.open_connection(ip, port), MAX_CONNECT_SECONDS)
