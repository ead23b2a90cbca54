"""Requests to a provider of models: sent again while it is busy, within limits of number and time, until cancelled.

See docs/decisions/0038-one-way-to-models.md.
"""

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from typing import Any, NamedTuple

import orjson

from clerkship.llm.retry import (
    ConcurrencyLimit,
    EndpointBusy,
    ModelOutage,
    ModelRetryPolicy,
    RequestDeclined,
    TimeSpent,
    build_status_error,
    describe_failures,
)
from clerkship.providers.apis import APIS
from clerkship.providers.connections import ProviderAccount, ProviderFailed, ProviderHost, RequestStop, ResponseTooLong

MAX_RESPONSE_BYTES = 20_000_000
JSON_HEADERS = {"content-type": "application/json", "accept": "application/json"}
QUOTA_CODES = frozenset({"insufficient_quota", "billing_hard_limit_reached"})
"""Error codes that some endpoints send with status 429 when waiting does not help."""


class CallCancelled(ModelOutage):
    """The model was closed before or during a call."""


class ProviderReply(NamedTuple):
    """The response to one request, as it came."""

    status: int
    headers: Mapping[str, str]
    data: bytes


Send = Callable[[str, bytes, RequestStop], ProviderReply]
"""Sends a body to a path of a provider, and returns the response. Raises ProviderFailed."""


def send_to(host: ProviderHost) -> Send:
    """Return a function that sends to a host."""

    def send(path: str, body: bytes, stop: RequestStop) -> ProviderReply:
        response = host.send("POST", path, {}, JSON_HEADERS, body, stop)
        return ProviderReply(response.status, response.headers, response.read_all(MAX_RESPONSE_BYTES))

    return send


class TimedRequest(RequestStop):
    """One request, which is stopped when its time is over."""

    is_late = False

    def expire(self) -> None:
        """Stop, because the time is over."""
        self.is_late = True
        self.stop()


class Cancellation:
    """Ends the requests of one model from another thread: those under way and those that are waiting."""

    def __init__(self, model: str = "the model") -> None:
        self._lock = threading.Lock()
        self._cancelled = threading.Event()
        self._message = f"the question to {model} was cancelled: the run is over"
        self._ends: set[Callable[[], None]] = set()
        """What ends or wakes the requests."""

    @property
    def is_cancelled(self) -> bool:
        """Whether all requests end now."""
        return self._cancelled.is_set()

    def cancel(self) -> bool:
        """End all requests, also later ones, with CallCancelled; return whether this was the first time."""
        with self._lock:
            is_first = not self._cancelled.is_set()
            self._cancelled.set()
        for end in tuple(self._ends):
            end()
        return is_first

    def check(self) -> None:
        """Raise CallCancelled if all requests end now."""
        if self.is_cancelled:
            raise CallCancelled(self._message)

    def wait(self, seconds: float) -> None:
        """Wait; raise CallCancelled if the requests end meanwhile."""
        self._cancelled.wait(seconds)
        self.check()

    @contextmanager
    def slot(self, limit: ConcurrencyLimit) -> Iterator[None]:
        """Wait for a slot of a limit; raise CallCancelled if the requests end meanwhile."""
        self._ends.add(limit.wake)
        if not limit.take(lambda: self.is_cancelled):
            self.check()
        try:
            yield
        finally:
            limit.give_back()

    @contextmanager
    def attempt(self, seconds: float) -> Iterator[TimedRequest]:
        """Make an attempt that is stopped after some seconds; raise CallCancelled if the requests end."""
        attempt = TimedRequest(seconds)
        timer = threading.Timer(seconds, attempt.expire)
        timer.daemon = True
        self._ends.add(attempt.stop)
        try:
            self.check()
            timer.start()
            yield attempt
        finally:
            timer.cancel()
            self._ends.discard(attempt.stop)
            attempt.detach()


class ModelClient:
    """Sends requests to one model, and reads its responses."""

    def __init__(
        self,
        account: ProviderAccount,
        send: Send,
        policy: ModelRetryPolicy,
        hint: str,
        limits: Sequence[ConcurrencyLimit] = (),
        cancellation: Cancellation | None = None,
    ) -> None:
        self.account, self._send, self._policy = account, send, policy
        self.limits, self.host = limits, account.host
        hint_404 = f"check the model's name and the address ({APIS[account.name].address_hint})"
        self._hints = {401: hint, 403: "the key has no access to this model", 404: hint_404}
        self.cancellation = Cancellation() if cancellation is None else cancellation

    def post(self, path: str, fields: Mapping[str, Any], model: str, time_spent: TimeSpent) -> Any:
        """Return the JSON of the response. Raises ModelOutage, RequestDeclined and CallCancelled."""
        body, failures = orjson.dumps(fields), list[EndpointBusy]()
        while True:
            with ExitStack() as slots:
                for limit in self.limits:
                    slots.enter_context(self.cancellation.slot(limit))
                try:
                    with time_spent.counted():
                        return self._post_once(path, body, model, self._policy.time_left(time_spent))
                except EndpointBusy as busy:
                    failures.append(busy)
                wait = self._choose_wait(failures, time_spent)
                if failures[-1].is_rate_limited:  # others wait as well, instead of being rejected one after another
                    for limit in self.limits:
                        limit.pause(wait)
            with time_spent.counted():
                self.cancellation.wait(wait)

    def _choose_wait(self, failures: Sequence[EndpointBusy], time_spent: TimeSpent) -> float:
        """Return the seconds before the next attempt; raise ModelOutage if there is none."""
        wait = self._policy.wait(len(failures), failures[-1])
        if self._policy.is_exhausted(failures) or time_spent.seconds + wait > self._policy.question_timeout:
            reason = f"{describe_failures(failures)} at {self.account.base_url}"
            raise ModelOutage(f"the model cannot be reached: {reason}") from None
        time_spent.retries[failures[-1].retry_reason] += 1
        return wait

    def _post_once(self, path: str, body: bytes, model: str, seconds: float) -> Any:
        with self.cancellation.attempt(seconds) as attempt:
            failed: ProviderFailed | None = None
            try:
                reply = self._send(path, body, attempt)
            except ResponseTooLong as too_long:
                raise ModelOutage(str(too_long)) from None
            except ProviderFailed as error:
                failed = error
            self.cancellation.check()
            if attempt.is_late:
                limit = (
                    f" ({self._policy.timeout:g} seconds; --model-timeout allows more)" if self._policy.timeout else ""
                )
                raise EndpointBusy(f"no answer in time{limit}", is_timeout=True)
            if failed is not None:
                raise EndpointBusy(self.account.redact_key(str(failed)))
        text = self.account.redact_key(reply.data.decode(errors="replace"))
        if reply.status != 200:
            raise self._build_error(reply, text, model)
        try:
            return orjson.loads(text)
        except orjson.JSONDecodeError:
            problem = f"the answer of {self.host} is not JSON: {text[:200]!r}"
        if text.startswith("{"):
            raise EndpointBusy(problem)  # half an answer: the next one may be complete
        raise ModelOutage(problem)

    def _build_error(self, reply: ProviderReply, text: str, model: str) -> Exception:
        message, code = _parse_error(text)
        if code in QUOTA_CODES:
            return ModelOutage(f"{self.host}: the quota for model `{model}` is used up: {message}")
        refused = f"{self.host} refuses model `{model}`"
        error = build_status_error(reply.status, message, reply.headers.get("retry-after", ""), refused, self._hints)
        if isinstance(error, RequestDeclined):
            error.code = code
        return error


def _parse_error(text: str) -> tuple[str, str]:
    """Return the message and the code of an error response; for an unknown format its beginning and no code."""
    error: Any = None
    with suppress(orjson.JSONDecodeError, KeyError, TypeError):
        error = orjson.loads(text)["error"]
    if not isinstance(error, dict):
        return text[:200], ""
    return str(error.get("message", text[:200]))[:500], str(error.get("code", ""))
