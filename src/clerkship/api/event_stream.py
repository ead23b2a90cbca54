"""Events of a task run as server-sent events, while they happen."""

import asyncio
from collections.abc import AsyncIterator

from starlette.concurrency import run_in_threadpool

from clerkship.service.serving.results import EventChoice, RunResults
from clerkship.service.serving.run_table import ServedTask

POLL_SECONDS = 0.25
"""Between two looks for new events. A look at a log that has not grown compares two numbers."""
KEEP_ALIVE_SECONDS = 15.0
"""After which a comment is sent, so that proxies keep the connection."""


async def stream_events(results: RunResults, task: ServedTask, choice: EventChoice) -> AsyncIterator[bytes]:
    """Yield the events after a position, then those that follow, until the task run has ended."""
    after, quiet = choice.after, 0.0
    while True:
        has_ended = await run_in_threadpool(results.has_ended, task)  # before reading: nothing is written after it
        numbered = await run_in_threadpool(results.select, task, choice.at(after))
        for number, line in numbered:
            after, quiet = number, 0.0
            yield b"id: %d\ndata: %b\n\n" % (number, line)
        if not numbered and has_ended:
            yield b"event: end\ndata: {}\n\n"
            return
        if not numbered:
            await asyncio.sleep(POLL_SECONDS)
            quiet += POLL_SECONDS
            if quiet >= KEEP_ALIVE_SECONDS:
                quiet = 0.0
                yield b": still here\n\n"
