"""Events of a task run as server-sent events, while they happen."""

import asyncio
import threading
from collections import Counter
from collections.abc import AsyncIterator

from starlette.concurrency import run_in_threadpool
from starlette.responses import StreamingResponse
from starlette.types import Receive, Scope, Send

from clerkship.kit.wall import monotonic
from clerkship.service.serving.live_runs import ServerBusy
from clerkship.service.serving.results import EventChoice
from clerkship.service.serving.run_table import ServedTask
from clerkship.service.serving.server import Server

POLL_SECONDS = 0.25
"""Between two looks for new events. A look at the log of a trial under way compares two numbers."""
KEEP_ALIVE_SECONDS = 15.0
"""After which a comment is sent, so that proxies keep the connection."""
MAX_STREAM_SECONDS = 600.0
"""After which a stream ends. Its client connects again with `Last-Event-ID`, if its key is still valid."""
MAX_STREAMS = 500
"""Event streams of a server at the same time."""
MAX_STREAMS_OF_KEY = 20
"""Event streams with one key at the same time."""


class OpenStreams:
    """Counts the event streams that are open."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._counts: Counter[str] = Counter()

    def add(self, key_id: str) -> None:
        """Count a stream. Raise ServerBusy if there are too many."""
        with self._lock:
            if self._counts[key_id] >= MAX_STREAMS_OF_KEY:
                raise ServerBusy(f"this key has {MAX_STREAMS_OF_KEY} event streams open; close one, or read pages")
            if self._counts.total() >= MAX_STREAMS:
                raise ServerBusy(f"{MAX_STREAMS} event streams are open; read pages, or try again later")
            self._counts[key_id] += 1

    def remove(self, key_id: str) -> None:
        """Forget a stream."""
        with self._lock:
            self._counts[key_id] -= 1
            self._counts += Counter()  # drops keys without streams


class EventStream(StreamingResponse):
    """The answer with a stream, which is counted until it ends, however it ends."""

    def __init__(self, server: Server, streams: OpenStreams, key_id: str, task: ServedTask, choice: EventChoice):
        streams.add(key_id)
        self._streams, self._key_id = streams, key_id
        super().__init__(stream_events(server, task, choice), media_type="text/event-stream")

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send it."""
        try:
            await super().__call__(scope, receive, send)
        finally:
            self._streams.remove(self._key_id)


async def stream_events(server: Server, task: ServedTask, choice: EventChoice) -> AsyncIterator[bytes]:
    """Yield the events after a position, then those that follow, until the task run has ended or the server stops."""
    after, quiet, until = choice.after, 0.0, monotonic() + MAX_STREAM_SECONDS
    while not server.is_stopping and monotonic() < until:
        events = await run_in_threadpool(server.results.read_on, task, choice.at(after))
        for number, line in events.numbered:
            quiet = 0.0
            yield b"id: %d\ndata: %b\n\n" % (number, line)
        is_new, after = events.place > after, events.place
        if not is_new and events.has_ended:
            yield b"event: end\ndata: {}\n\n"
            return
        if not is_new:
            await asyncio.sleep(POLL_SECONDS)
            quiet += POLL_SECONDS
            if quiet >= KEEP_ALIVE_SECONDS:
                quiet = 0.0
                yield b": still here\n\n"
