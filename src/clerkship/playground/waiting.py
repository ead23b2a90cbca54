"""Let simulated time pass within a request, such as one that listens to a phone call."""

from collections.abc import Callable
from datetime import datetime, timedelta

from clerkship.playground.agent_clock import MAX_AHEAD, advance_to
from clerkship.playground.paced_clock import MAX_SLEEP_SECONDS
from clerkship.playground.playground import Playground
from clerkship.sandbox.request import Refusal


def pass_time(playground: Playground, limit: timedelta, is_done: Callable[[], bool]) -> datetime:
    """Let time pass until `is_done` returns true, at most for `limit`; return the time then.

    A stepped clock jumps from one scheduled event to the next. A paced clock is waited for without the lock, so that
    other requests go on. Raises Refusal if simulated time would be too far ahead of its start.
    """
    end = playground.now + limit
    if end - playground.started_at > MAX_AHEAD:
        raise Refusal(400, "time_limit", f"simulated time runs at most {MAX_AHEAD.days:,} days ahead of its start")
    if playground.environment.time == "stepped":
        _step(playground, end, is_done)
    else:
        _wait(playground, end, is_done)
    return playground.now


def _step(playground: Playground, end: datetime, is_done: Callable[[], bool]) -> None:
    while not is_done() and not playground.closed:
        due = playground.clock.next_due()
        if due is None or due > end:
            advance_to(playground, end)
            return
        advance_to(playground, due)


def _wait(playground: Playground, end: datetime, is_done: Callable[[], bool]) -> None:
    was_holding = not playground.writer.hold()  # during a request over HTTP, the lines of events are held
    playground.writer.release()
    playground.clock.settle()
    while not is_done() and not playground.closed and (left := (end - playground.now).total_seconds()) > 0:
        playground.clock_hold.changed.wait(min(left, MAX_SLEEP_SECONDS))
        playground.clock.settle()
    if was_holding:
        playground.writer.hold()
