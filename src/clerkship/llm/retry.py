"""Requests to a model that are sent again: how often, after which delay, and how many requests at once."""

import threading
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from email.utils import parsedate_to_datetime
from typing import NamedTuple

from clerkship.kit.rng import random_fraction
from clerkship.kit.wall import monotonic, now
from clerkship.model.errors import InputError, PlatformError
from clerkship.model.usage import NO_USAGE, RetryReason, Usage

MAX_ATTEMPTS = 4
MAX_RATE_LIMITED = 10
"""Attempts that may be rejected for too many requests: the endpoint is busy, not broken."""
INITIAL_BACKOFF = 0.5
"""Seconds before the second attempt, doubled for each further one, unless the server sends Retry-After."""
MAX_WAIT = 60.0
"""A longer Retry-After is not waited for."""
QUESTION_TIMEOUT = 600.0
"""Seconds for one question with its attempts, waits and repairs, not counting the wait for a slot; at least three times
the limit of one attempt."""
TOO_MANY_REQUESTS = 429
BUSY_STATUSES = frozenset({408, 409, 425, TOO_MANY_REQUESTS})


class ModelOutage(PlatformError):
    """The model cannot be reached now. The agent is not at fault: the trial is errored."""

    def __init__(self, message: str, usage: Usage = NO_USAGE) -> None:
        super().__init__(message)
        self.usage = usage
        """The usage before the error."""


class RequestDeclined(InputError):
    """The endpoint rejects the key, the model, or a part of the request."""

    status: int = 0
    code: str = ""
    usage: Usage = NO_USAGE
    """The usage before the error."""


class EndpointBusy(Exception):
    """An attempt failed, and may succeed later."""

    def __init__(
        self, reason: str, wait: float | None = None, *, is_rate_limited: bool = False, is_timeout: bool = False
    ) -> None:
        super().__init__(reason)
        self.wait = wait
        self.is_rate_limited = is_rate_limited
        """Whether the endpoint reports too many requests, so that other requests should wait too."""
        self.retry_reason: RetryReason = (
            "rate limit" if is_rate_limited else "timeout" if is_timeout else "server error"
        )


class ModelRetryPolicy(NamedTuple):
    """How often and for how long to retry."""

    attempts: int = MAX_ATTEMPTS
    max_rate_limited: int = MAX_ATTEMPTS
    backoff: float = INITIAL_BACKOFF
    timeout: float | None = None
    """Seconds for one attempt."""

    @property
    def question_timeout(self) -> float:
        """Seconds for one question with its attempts, waits and repairs."""
        return max(QUESTION_TIMEOUT, 3 * (self.timeout or 0))

    def wait(self, failed: int, busy: EndpointBusy) -> float:
        """Return the seconds to wait before the next attempt, with jitter, so that failed requests do not return all at
        once.
        """
        if busy.wait is not None:
            return max(busy.wait, self.backoff) * (1 + random_fraction() / 10)
        return min(self.backoff * 2.0 ** (failed - 1), MAX_WAIT) * (0.5 + random_fraction())

    def time_left(self, time_spent: "TimeSpent") -> float:
        """Return the seconds for the next attempt of a question."""
        left = max(self.question_timeout - time_spent.seconds, 0.001)
        return left if self.timeout is None else min(left, self.timeout)

    def is_exhausted(self, failures: Sequence[EndpointBusy]) -> bool:
        """Return whether there is no attempt after these."""
        rate_limited = sum(busy.is_rate_limited for busy in failures)
        failed = len(failures) - rate_limited
        too_long = failures[-1].wait is not None and failures[-1].wait > MAX_WAIT
        return failed >= self.attempts or rate_limited >= self.max_rate_limited or too_long


class TimeSpent:
    """The time that one question has taken so far, and how often it was sent again."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self.retries: Counter[RetryReason] = Counter()

    @contextmanager
    def counted(self) -> Iterator[None]:
        """Add the time spent in this block."""
        start = monotonic()
        try:
            yield
        finally:
            self.seconds += monotonic() - start


class ConcurrencyLimit:
    """A limit on concurrent requests that can also pause new ones."""

    def __init__(self, at_once: int) -> None:
        self.at_once = self._free = at_once
        self._reserved = 0
        self._changed = threading.Condition()
        self._until = 0.0

    def reserve(self, at_once: int) -> None:
        """Allow at least the sum of all that is reserved."""
        with self._changed:
            self._reserved += at_once
            more = max(self._reserved - self.at_once, 0)
            self.at_once, self._free = self.at_once + more, self._free + more

    def take(self, is_cancelled: Callable[[], bool]) -> bool:
        """Wait for a free slot and take it; return False if the wait is cancelled."""
        with self._changed:
            while not is_cancelled():
                pause = self._until - monotonic()
                if self._free and pause <= 0:
                    self._free -= 1
                    return True
                self._changed.wait(pause if pause > 0 else None)
            self._changed.notify()  # for the next one, if a slot is free
            return False

    def give_back(self) -> None:
        """Free a slot."""
        with self._changed:
            self._free += 1
            self._changed.notify()

    def wake(self) -> None:
        """Let all that wait see whether they are cancelled."""
        with self._changed:
            self._changed.notify_all()

    def pause(self, seconds: float) -> None:
        """Start no new requests for a while."""
        with self._changed:
            self._until = max(self._until, monotonic() + seconds)


def describe_failures(failures: Sequence[EndpointBusy]) -> str:
    """Describe the last failure, the number of attempts, and other failures before it."""
    last = str(failures[-1])
    wait = failures[-1].wait
    later = f" (Retry-After: {wait:,.0f} seconds)" if wait is not None and wait > MAX_WAIT else ""
    before = list(dict.fromkeys(str(busy) for busy in failures if str(busy) != last))
    others = f" (before that: {'; '.join(before)})" if before else ""
    return f"{last}{later}, in {len(failures)} attempt{'s' * (len(failures) > 1)}{others}"


def build_status_error(
    status: int, words: str, wait: str, refused: str, hints: Mapping[int, str]
) -> EndpointBusy | RequestDeclined:
    """Return the error for a status: EndpointBusy if the same request may succeed later, RequestDeclined otherwise.

    `wait` is the Retry-After header; `refused` says which endpoint refused which model.
    """
    if status in BUSY_STATUSES or status >= 500:
        seconds = parse_retry_after(wait, now())
        is_rate_limited = status == TOO_MANY_REQUESTS or (status in (503, 529) and seconds is not None)
        return EndpointBusy(f"status {status}: {words}", seconds, is_rate_limited=is_rate_limited)
    declined = RequestDeclined.of(
        f"{refused} with status {status}: {words}", hint=hints.get(status, "see the message of the endpoint")
    )
    declined.status = status
    return declined


def parse_retry_after(text: str, now: datetime) -> float | None:
    """Return the seconds of a Retry-After header, given as seconds or as a date (RFC 9110 §10.2.3)."""
    if text.isascii() and text.isdigit():
        return float(text[:9])
    try:
        return max((parsedate_to_datetime(text) - now).total_seconds(), 0.0)
    except (ValueError, TypeError):
        return None
