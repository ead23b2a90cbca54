"""What takes its time is done in threads: one by one for a playground, and nobody waits for another's."""

import asyncio
import threading
from functools import partial

from clerkship.transports.executor import WorkerPool


def test_one_playground_is_served_in_order_and_another_meanwhile() -> None:
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


def test_what_goes_wrong_in_there_is_told_and_the_next_is_served() -> None:
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
