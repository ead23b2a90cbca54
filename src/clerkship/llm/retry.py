"""Retries of requests to a model endpoint: how often, after which delay, and how many requests at once."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import datetime
from email.utils import parsedate_to_datetime
from typing import NamedTuple, TypeVar

from clerkship.kit.rng import random_fraction
from clerkship.kit.wall import now
from clerkship.model.errors import InputError, PlatformError
from clerkship.model.usage import NO_USAGE, RetryReason, Usage

R = TypeVar("R")
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


class TimeSpent:
    """The time that one question has taken so far, and how often it was sent again."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self.retries: Counter[RetryReason] = Counter()

    @asynccontextmanager
    async def counted(self) -> AsyncIterator[None]:
        """Add the time spent in this block."""
        loop = asyncio.get_running_loop()
        start = loop.time()
        try:
            yield
        finally:
            self.seconds += loop.time() - start


class ConcurrencyLimit:
    """A limit on concurrent requests that can also pause new ones."""

    def __init__(self, at_once: int) -> None:
        self.at_once = at_once
        self._slots = asyncio.Semaphore(at_once)
        self._until = 0.0

    @asynccontextmanager
    async def slot(self) -> AsyncIterator[None]:
        """Wait for a free slot, first come first served."""
        async with self._slots:
            # A loop, because the pause may be extended meanwhile.
            while (left := self._until - asyncio.get_running_loop().time()) > 0:  # noqa: ASYNC110  (it is a time)
                await asyncio.sleep(left)
            yield

    def pause(self, seconds: float) -> None:
        """Start no new requests for a while."""
        self._until = max(self._until, asyncio.get_running_loop().time() + seconds)


async def call_with_retries(
    call: Callable[[], Awaitable[R]],
    where: str,
    policy: ModelRetryPolicy,
    limits: Sequence[ConcurrencyLimit],
    time_spent: TimeSpent,
) -> R:
    """Call a function, and retry while the endpoint is busy; raise ModelOutage when the retries are exhausted.

    A slot is released while waiting for the next attempt. If the endpoint reports too many requests, other requests
    wait as well, instead of being rejected one after another.
    """
    failures: list[EndpointBusy] = []
    while True:
        try:
            async with AsyncExitStack() as slots:
                for limit in limits:
                    await slots.enter_async_context(limit.slot())
                async with time_spent.counted(), asyncio.timeout(_time_left(policy, time_spent)):
                    return await call()
        except TimeoutError:
            failures.append(build_timeout(policy.timeout))
        except EndpointBusy as busy:
            failures.append(busy)
        wait = policy.wait(len(failures), failures[-1])
        if _is_exhausted(failures, policy) or time_spent.seconds + wait > policy.question_timeout:
            raise ModelOutage(f"the model cannot be reached: {_describe_failures(failures)} at {where}") from None
        time_spent.retries[failures[-1].retry_reason] += 1
        if failures[-1].is_rate_limited:
            for limit in limits:
                limit.pause(wait)
        async with time_spent.counted():
            await asyncio.sleep(wait)


def build_timeout(seconds: float | None) -> EndpointBusy:
    """Return the error for an attempt without an answer, with the limit and how to change it."""
    limit = f" ({seconds:g} seconds; --model-timeout allows more)" if seconds is not None else ""
    return EndpointBusy(f"no answer in time{limit}", is_timeout=True)


def _time_left(policy: ModelRetryPolicy, time_spent: TimeSpent) -> float:
    left = max(policy.question_timeout - time_spent.seconds, 0.001)
    return left if policy.timeout is None else min(left, policy.timeout)


def _is_exhausted(failures: Sequence[EndpointBusy], policy: ModelRetryPolicy) -> bool:
    rate_limited = sum(busy.is_rate_limited for busy in failures)
    failed = len(failures) - rate_limited
    too_long = failures[-1].wait is not None and failures[-1].wait > MAX_WAIT
    return failed >= policy.attempts or rate_limited >= policy.max_rate_limited or too_long


def _describe_failures(failures: Sequence[EndpointBusy]) -> str:
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
