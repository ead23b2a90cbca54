"""Runs the deliveries of all playgrounds of this process, in one thread with an event loop of its own."""

import asyncio
import threading
from collections.abc import Coroutine
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from clerkship.kit.descriptors import Hush
from clerkship.playground.delivery_client import DeliveryClient
from clerkship.playground.failure import record_failure
from clerkship.playground.gateway import Gateway
from clerkship.playground.playground import Playground
from clerkship.playground.sandbox import Sandbox
from clerkship.transports.executor import WorkerPool
from clerkship.transports.outbound.delivery import OutboundDelivery

NAME = "clerkship-outbound"
MAX_CLOSE_SECONDS = 3.0


@dataclass(frozen=True, slots=True)
class _Running:
    delivery: OutboundDelivery
    client: DeliveryClient
    task: "asyncio.Task[None]"


class OutboundPool:
    """Starts the deliveries of a sandbox once its agent has an address, and stops them when its run is over."""

    def __init__(self, gateway: Gateway) -> None:
        self._gateway = gateway
        self._workers = WorkerPool()
        self._running: dict[tuple[str, str], _Running] = {}
        """By the address of the sandbox and the name of the delivery; used in the loop alone."""
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._lock = threading.Lock()
        self._closed = False

    def prepare(self, playground: Playground) -> None:
        """Start the deliveries of sandboxes whose config has an address."""
        for sandbox in playground.sandboxes.values():
            if any(kind.configured(sandbox.state.config) for kind in sandbox.spec.outbound):
                self.start(playground, sandbox)

    def start(self, playground: Playground, sandbox: Sandbox) -> None:
        """Start the deliveries of a sandbox, or have them start over: its agent has registered an address, or removed
        it. From any thread."""
        address = self._gateway.locate(playground, sandbox)
        for kind in sandbox.spec.outbound:
            client = DeliveryClient(self._gateway, self._workers, playground, sandbox, address, kind.name)
            client.join()
            self._submit(self._start(kind, client))

    def stop(self, address: str) -> None:
        """Stop the deliveries of a sandbox whose run is over. From any thread; does not wait."""
        if self._loop is not None:
            self._submit(self._stop(address))

    def close(self) -> None:
        """Stop all deliveries and the thread."""
        with self._lock:
            self._closed = True
            loop, thread = self._loop, self._thread
        if loop is not None and thread is not None:
            with suppress(RuntimeError):  # the loop is closed already
                asyncio.run_coroutine_threadsafe(self._close(), loop)
            thread.join(MAX_CLOSE_SECONDS)
        self._workers.close()

    def _submit(self, work: Coroutine[Any, Any, None]) -> None:
        with self._lock:
            loop = None if self._closed else self._open_loop()
        if loop is None:
            work.close()
            return
        asyncio.run_coroutine_threadsafe(work, loop)

    def _open_loop(self) -> asyncio.AbstractEventLoop:
        if self._loop is None:
            self._loop = asyncio.new_event_loop()
            self._loop.set_exception_handler(Hush("outbound"))
            self._thread = threading.Thread(target=self._serve, args=(self._loop,), name=NAME, daemon=True)
            self._thread.start()
        return self._loop

    @staticmethod
    def _serve(loop: asyncio.AbstractEventLoop) -> None:
        with asyncio.Runner(loop_factory=lambda: loop) as runner:
            runner.get_loop().run_forever()

    async def _start(self, kind: type[OutboundDelivery], client: DeliveryClient) -> None:
        key = client.address, kind.name
        if key not in self._running and not client.begun:  # one that failed has left after `start`
            await client.rejoin()
        running = self._running.get(key)
        if running is None and client.open:  # or the run ended meanwhile
            delivery = kind(client)
            client.on_reset(delivery.reset)
            running = _Running(delivery, client, asyncio.create_task(self._run(delivery, client)))
            self._running[key] = running
        if running is None:
            client.leave()
        else:
            running.delivery.reset()

    async def _run(self, delivery: OutboundDelivery, client: DeliveryClient) -> None:
        """Run a delivery until the run is over. An exception is a bug of the simulator, so the run is errored; the next
        registration starts the delivery anew."""
        try:
            try:
                await delivery.run()
            finally:
                self._running.pop((client.address, delivery.name), None)
                client.leave()
        except Exception as error:
            record_failure(client.playground, error, f"{client.sandbox.name}: outbound {delivery.name}")

    async def _stop(self, address: str) -> None:
        for key in [key for key in self._running if key[0] == address]:
            running = self._running.pop(key)
            running.task.cancel()
            await asyncio.wait([running.task])
            running.client.leave()  # a task that had not begun does not do so

    async def _close(self) -> None:
        for address in {address for address, _ in self._running}:
            await self._stop(address)
        asyncio.get_running_loop().stop()
