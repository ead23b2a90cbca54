"""Run the deliveries of all playgrounds of this process, in one thread with its own event loop."""

import asyncio
import threading
from dataclasses import dataclass
from functools import partial

from clerkship.playground.delivery_client import DeliveryClient
from clerkship.playground.failure import record_failure
from clerkship.playground.gateway import Gateway
from clerkship.playground.playground import Playground
from clerkship.playground.sandbox import Sandbox
from clerkship.transports.executor import WorkerPool
from clerkship.transports.loop_thread import LoopThread, Work
from clerkship.transports.outbound.delivery import OutboundDelivery

MAX_START_SECONDS = 20.0
MAX_CLOSE_SECONDS = 3.0


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
            if any(kind.configured(sandbox.state.config) for kind in sandbox.spec.outbound):
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
