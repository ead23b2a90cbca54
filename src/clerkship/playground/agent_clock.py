"""The simulated clock as an agent uses it, in process and over HTTP, and a clock that follows wall time."""

import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from datetime import datetime, timedelta
from functools import partial

from clerkship.events.lifecycle import ClockAdvanced
from clerkship.model.duration import parse_duration
from clerkship.playground.failure import guard, record_failure
from clerkship.playground.playground import Playground
from clerkship.sandbox.request import Refusal, Reply, Request, json_reply

MAX_SLEEP_SECONDS = 0.05
MAX_AHEAD = timedelta(days=3660)
"""How far an agent may move simulated time from its start in one trial: about ten years."""
ADVANCING = "advancing the clock"
"""The operation named in a failure of the platform while the agent waits."""


_NO_CLOCK = nullcontext()


@contextmanager
def _paced_clock(playground: Playground) -> Iterator[None]:
    stopped = threading.Event()
    threading.Thread(target=_run_due_work, args=(playground, stopped), name="clerkship-pacer", daemon=True).start()
    try:
        yield
    finally:
        stopped.set()


def run_paced_clock(playground: Playground) -> AbstractContextManager[None]:
    """Return a context manager that runs due work in a thread. A stepped playground needs no thread."""
    return _paced_clock(playground) if playground.environment.time == "paced" else _NO_CLOCK


def _run_due_work(playground: Playground, stopped: threading.Event) -> None:
    while not stopped.wait(_seconds_to_next(playground)):
        with playground.lock:
            if playground.closed or playground.broken is not None:
                return
            try:
                playground.clock.settle()
            except Exception as error:  # no caller could handle it in this thread: the trial is errored
                record_failure(playground, error, "advancing the clock")


def _seconds_to_next(playground: Playground) -> float:
    with playground.lock:
        due = playground.clock.next_due()
        if due is None:
            return MAX_SLEEP_SECONDS
        return min(max((due - playground.now).total_seconds(), 0.0), MAX_SLEEP_SECONDS)


class TimeLimitExceeded(ValueError):
    """Raised when an agent moves simulated time further than MAX_AHEAD from its start."""


class AgentClock:
    """The simulated clock of a playground for its agent, which can read it, wait, or skip to the next event."""

    def __init__(self, playground: Playground) -> None:
        self._playground = playground

    @property
    def now(self) -> datetime:
        """The simulated time, in the time zone of the environment's `now`."""
        return self._playground.now.astimezone(self._playground.zone)

    def advance(self, by: timedelta) -> None:
        """Wait for a duration.

        Raises TimeLimitExceeded if time would be more than MAX_AHEAD past its start.
        """
        playground = self._playground
        # An agent could pass a subclass of timedelta with its own comparison.
        by = timedelta(days=by.days, seconds=by.seconds, microseconds=by.microseconds)
        if by < timedelta(0):
            raise ValueError("expected a duration that is not negative")
        with playground.lock:
            if by > MAX_AHEAD - (playground.now - playground.started_at):
                raise TimeLimitExceeded(f"simulated time runs at most {MAX_AHEAD.days:,} days ahead of its start")
            guard(playground, ADVANCING, partial(self._wait, by))

    def skip(self) -> bool:
        """Wait for the next scheduled event; return false if there is none."""
        with self._playground.lock:
            return guard(self._playground, ADVANCING, self._skip)

    def _wait(self, by: timedelta) -> None:
        self._record(by.total_seconds())
        advance_by(self._playground, by)

    def _skip(self) -> bool:
        self._record(None)
        return skip_to_next_event(self._playground)

    def _record(self, seconds: float | None) -> None:
        """Log that the agent waits, unless the log is full. What sandboxes are telling it at this time comes before."""
        _wait_for_deliveries(self._playground)
        if not self._playground.log.is_full and not self._playground.closed:
            self._playground.emit("run", ClockAdvanced(seconds=seconds), "agent")


def answer_clock(playground: Playground, request: Request) -> Reply:
    """Answer `GET /`, `POST /advance?by=10m` and `POST /skip`."""
    clock = AgentClock(playground)
    if (request.method, request.path) == ("POST", "/advance"):
        by = _parse_duration(request.query.get("by", ""))
        try:
            clock.advance(by)
        except TimeLimitExceeded as error:
            raise Refusal(400, "time_limit", str(error)) from None
    elif (request.method, request.path) == ("POST", "/skip"):
        return json_reply(200, {"skipped": clock.skip(), "now": clock.now.isoformat()})
    elif (request.method, request.path) != ("GET", "/"):
        raise Refusal(404, "no_such_route", "the clock has GET /, POST /advance?by= and POST /skip")
    return json_reply(200, {"now": clock.now.isoformat()})


def _parse_duration(text: str) -> timedelta:
    try:
        return parse_duration(text)
    except ValueError as error:
        raise Refusal(400, "bad_duration", str(error)) from None


def advance_by(playground: Playground, by: timedelta) -> None:
    """Let simulated time pass.

    If there are deliveries, a stepped clock stops at each scheduled event until they have called the agent.
    """
    with playground.lock:
        _wait_for_deliveries(playground)
        end = playground.now + by
        while (due := playground.clock.next_due()) is not None and due <= end and playground.clock_hold.is_used:
            advance_to(playground, due)
        advance_to(playground, end)


def skip_to_next_event(playground: Playground) -> bool:
    """Advance to the next scheduled event; return false if there is none."""
    with playground.lock:
        _wait_for_deliveries(playground)
        due = playground.clock.next_due()
        if due is None:
            return False
        advance_to(playground, due)
        return True


def advance_to(playground: Playground, time: datetime) -> None:
    """Advance to a time, and wait until the sandboxes have called the agent."""
    playground.clock.advance(max(time - playground.now, timedelta(0)))
    _wait_for_deliveries(playground)


def _wait_for_deliveries(playground: Playground) -> None:
    """Wait until the sandboxes have called the agent.

    Deliveries read the log, so buffered events are written first.
    """
    if not playground.clock_hold.is_used or playground.environment.time != "stepped":
        return
    was_holding = not playground.writer.hold()  # during a request over HTTP, the lines of events are held
    playground.writer.release()
    playground.clock_hold.wait()
    if was_holding:
        playground.writer.hold()
