"""The answer to an HTTP request from worker threads: the reply, then the chunks of its stream."""

import asyncio
from collections import deque
from collections.abc import Callable

from clerkship.sandbox.request import ByteStream, Reply
from clerkship.transports.http_parser import PendingRequest
from clerkship.transports.loop_thread import WorkerPool

READ_AHEAD_BYTES = 65_536
"""Bytes of a stream that are read before the client has taken them; the last chunk may exceed it."""


class WorkerAnswer:
    """Answers one request in worker threads, and hands the parts of the answer to the event loop as they come.

    The job that answers reads the first chunk, too. Each later job reads many chunks of a request that waits for
    something other than the processor, and one of any other request, so that other requests get their turn.
    """

    def __init__(
        self, workers: WorkerPool, pending: PendingRequest, gone: "asyncio.Future[None]", reply: Reply | None = None
    ) -> None:
        """`gone` is done when the client has closed the connection: then no further chunk is read."""
        self._workers, self._pending, self._gone, self._reply = workers, pending, gone, reply
        self._loop = asyncio.get_running_loop()
        self._chunks: deque[bytes | None] = deque()
        self._arrived = asyncio.Event()
        self._job: asyncio.Future[None] | None = None

    async def get_reply(self) -> Reply:
        """Return the reply."""
        while self._reply is None:
            await self._advance(self._answer)
        return self._reply

    async def read_chunk(self) -> bytes | None:
        """Return the next chunk of the stream, or None at its end. Raises PlatformError if the stream failed."""
        while not self._chunks:
            await self._advance(self._read_ahead)
        return self._chunks.popleft()

    async def _advance(self, work: Callable[[], None]) -> None:
        """Wait until a job hands something over or ends; start one if none is running. Raise what one has raised."""
        if self._job is None or self._job.done():
            if self._job is not None:
                self._job.result()
            self._job = await self._workers.start(self._pending.queue, work, waits=self._pending.waits)
            self._job.add_done_callback(self._job_ended)
        await self._arrived.wait()
        self._arrived.clear()

    def _job_ended(self, job: "asyncio.Future[None]") -> None:
        if not job.cancelled():
            job.exception()  # is raised by `_advance`, if the connection still reads
        self._arrived.set()

    # In worker threads.

    def _answer(self) -> None:
        self._reply = self._pending.answer()
        self._wake()
        if self._reply.stream is not None:
            self._read(self._reply.stream)

    def _read_ahead(self) -> None:
        assert self._reply is not None
        assert self._reply.stream is not None
        size = 0
        while size < READ_AHEAD_BYTES and (chunk := self._read(self._reply.stream)) is not None:
            size += len(chunk) if self._pending.waits else READ_AHEAD_BYTES

    def _read(self, stream: ByteStream) -> bytes | None:
        chunk = None if self._gone.done() else self._pending.read(stream)
        self._chunks.append(chunk)
        if not self._arrived.is_set():
            self._wake()
        return chunk

    def _wake(self) -> None:
        self._loop.call_soon_threadsafe(self._arrived.set)
