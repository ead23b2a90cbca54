"""Worker threads: order within a playground, and independence between playgrounds."""

import asyncio
import threading
from functools import partial

from clerkship.transports.loop_thread import WorkerPool


def test_requests_of_a_playground_run_in_order_without_blocking_another() -> None:
    async def serve() -> list[str]:
        workers, done = WorkerPool(), list[str]()
        gate = threading.Event()

        def slow() -> None:
            assert gate.wait(20), "the other playground was not served"
            done.append("a1")

        def other() -> None:
            done.append("b")
            gate.set()

        first = asyncio.ensure_future(workers.run("a", slow))
        rest = [asyncio.ensure_future(workers.run("a", partial(done.append, n))) for n in ("a2", "a3", "a4")]
        await asyncio.sleep(0)
        await workers.run("b", other)
        await asyncio.gather(first, *rest)
        assert workers._queues == {}
        workers.close()
        return done

    assert asyncio.run(serve()) == ["b", "a1", "a2", "a3", "a4"]


def test_exception_is_raised_to_the_caller_and_later_work_still_runs() -> None:
    async def serve() -> object:
        workers = WorkerPool()
        try:
            await workers.run("a", lambda: 1 // 0)
        except ZeroDivisionError:
            return await workers.run("a", lambda: "next")
        finally:
            workers.close()
        return None

    assert asyncio.run(serve()) == "next"
