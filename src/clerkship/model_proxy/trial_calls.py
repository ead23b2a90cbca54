"""The model calls of one trial: their events, their tokens and costs, and the tools whose results they carry."""

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager
from datetime import timedelta
from itertools import islice
from random import Random  # noqa: TID251  (the type alone; the generator is handed in)
from typing import Any, Protocol

from clerkship.events.agent import ActionExecuted, ToolExecuted, is_call_of
from clerkship.events.event import Event, Payload
from clerkship.events.lifecycle import ModelCalled, ProposedToolCall, RequestRefused
from clerkship.events.log import Log
from clerkship.events.sidecar import MAX_UNAUTHENTICATED, Sidecar
from clerkship.kit.text import replace_surrogates
from clerkship.kit.wall import perf_counter
from clerkship.model.environment import Environment
from clerkship.model.usage import MODEL_USAGE, Prices
from clerkship.model_proxy.limits import ReachedLimit, RunLimits, TrialLimits
from clerkship.providers.connections import RequestStop
from clerkship.providers.contract import (
    AnswerSummary,
    ModelOperation,
    ModelToolCall,
    ModelToolResult,
    RequestSummary,
    TokenCounts,
    join_text,
    object_of,
)
from clerkship.recording.recorded_calls import CallRecording, hide_stream
from clerkship.sandbox.faults.contract import FREE_OPERATIONS
from clerkship.sandbox.request import Refusal, Request

SOURCE = "models"
"""The source of the events of model calls."""
MAX_LOGGED_BODY = 1_000_000
"""Characters of a request or response that are stored."""
MAX_LOGGED_BODIES = 100_000_000
"""Characters of all requests and responses of a trial that are stored."""
MAX_OPEN_CALLS = 64
"""Calls of one trial at the same time."""
MAX_PROPOSED_CALLS = 10_000
"""Proposed tool calls that wait for their result; the oldest ones are forgotten."""
MAX_NAMES = 1000
"""Tools of a request that are named in its event."""
FindPrices = Callable[[str, str], Prices | None]
"""Returns the prices of a provider's model; None if they are not known."""


class FaultHost(Protocol):
    """The faults of a playground, as far as model calls need them."""

    def matching_calls(self, source: str, operation: str) -> Iterator[tuple[Any, Random]]:
        """Yield the faults that affect a model call, each with its random generator."""

    def trigger(self, active: Any, sandbox: str, operation: str, details: Mapping[str, Any]) -> object:
        """Count and log that a fault took effect."""


class TrialHost(Protocol):
    """The part of a playground that the proxy uses."""

    closed: bool
    log: Log
    sidecar: Sidecar
    environment: Environment
    hidden: dict[str, str]
    """Texts that the log replaces."""

    @property
    def faults(self) -> FaultHost:
        """The faults that are active."""

    def advance(self, by: timedelta) -> None:
        """Let simulated time pass."""

    @property
    def lock(self) -> AbstractContextManager[Any, Any]:
        """The lock that each change needs."""

    def emit(self, source: str, payload: Payload, actor: str, cause: int | None = None) -> Event:
        """Append an event to the log."""

    def redact(self, text: str) -> str:
        """Replace the credentials of the trial's sandboxes."""


class OpenCall:
    """A model call from its request to the end of its response."""

    def __init__(
        self, calls: "TrialCalls", provider: str, operation: str, request: RequestSummary, body: bytes
    ) -> None:
        self.provider, self.operation, self.request, self.body = provider, operation, request, body
        self.stop: RequestStop | None = None
        """Stops waiting for the provider; None until the request is sent."""
        self.status = 0
        self.is_stream = False
        self._calls = calls
        self._started = perf_counter()
        self._first_byte: float | None = None
        self._response = bytearray()
        self.is_ended = False
        self.is_outage = False
        """Whether the provider could not be reached, or was too busy or broken to answer."""
        self.is_counted = False
        """Whether it counts toward the limits, unless it fails."""

    def add_bytes(self, data: bytes) -> None:
        """Add a part of the response."""
        if self._first_byte is None:
            self._first_byte = perf_counter()
        self._response += data

    def end(self, answer: AnswerSummary, error: str = "") -> None:
        """Log the call, once."""
        self._calls.end(self, answer, error)

    def describe_times(self) -> dict[str, float]:
        """Return the milliseconds until the end of the response, and until its first part."""
        times = {"wall_ms": round((perf_counter() - self._started) * 1000, 3)}
        if self._first_byte is not None:
            times["first_part_ms"] = round((self._first_byte - self._started) * 1000, 3)
        return times

    @property
    def response(self) -> bytes:
        """The response so far."""
        return bytes(self._response)


class ProposedCalls:
    """The tool calls that models proposed and whose results were not seen yet."""

    def __init__(self) -> None:
        self._by_id: dict[str, tuple[ModelToolCall, int]] = {}
        self._by_name: dict[str, deque[tuple[ModelToolCall, int]]] = {}

    def add(self, call: ModelToolCall, event: int) -> None:
        """Add a call, with the number of the event of the model call that proposed it."""
        if not call.id:
            self._by_name.setdefault(call.name, deque(maxlen=MAX_PROPOSED_CALLS)).append((call, event))
            return
        self._by_id[call.id] = call, event
        if len(self._by_id) > MAX_PROPOSED_CALLS:
            del self._by_id[next(iter(self._by_id))]

    def take(self, result: ModelToolResult) -> tuple[ModelToolCall, int] | None:
        """Remove and return the call of a result; None if it is not new."""
        found = self._by_id.pop(result.id, None) if result.id else None
        if found is None and (waiting := self._by_name.get(result.name)):
            found = waiting.popleft()
        return found


class TrialCalls:
    """The model calls of one trial, and its account of tokens and costs."""

    def __init__(
        self,
        host: TrialHost,
        token: str,
        redact: Callable[[str], str],
        find_prices: FindPrices,
        limits: RunLimits,
        recording: CallRecording | None,
    ) -> None:
        self.host, self.token, self.recording = host, token, recording
        self._redact, self._find_prices = redact, find_prices
        self.limits = TrialLimits(limits)
        self._open: set[OpenCall] = set()
        self._is_closed = False
        self._proposed = ProposedCalls()
        self.outage = ""
        """Why the last call has no answer, if its provider is the reason."""
        self._logged_bytes = 0
        self._counts = {"calls": 0, "prompt_tokens": 0, "completion_tokens": 0}
        self._cost: float | None = 0.0
        self._searched = 0
        """Events of the log that were searched for reported tools."""
        self._has_reported_tools = False
        self._unauthenticated = 0
        self._called_actions: set[int] = set()
        """Numbers of the logged actions that are calls which a model proposed."""

    def begin(self, provider: str, operation: str, request: RequestSummary, body: bytes) -> OpenCall:
        """Accept a call, and log the tools whose results it carries. Raises Refusal if no more can be accepted."""
        call = OpenCall(self, provider, operation, request, body)
        with self.host.lock:
            if self._is_closed or self.host.closed:
                raise Refusal(401, "run_over", "the run is over, so its model token is no longer valid")
            if self.host.log.is_full:
                self.host.log.overflowed = True
                raise Refusal(400, "log_full", "the log of this run is full")
            if len(self._open) >= MAX_OPEN_CALLS:
                raise Refusal(429, "too_many_calls", f"{MAX_OPEN_CALLS} model calls of this run are open already")
            self._open.add(call)
            self._log_results(request.results)
        return call

    def refuse_unauthenticated(self, request: Request, operation: ModelOperation | None, refusal: Refusal) -> None:
        """Log a request to the address of the trial without its token, but not as an action of the agent.

        Only the first ones are logged, because any client that knows the address can send more. Others are counted.
        """
        with self.host.lock:
            self._unauthenticated += 1
            if self._unauthenticated <= MAX_UNAUTHENTICATED and not (self.host.closed or self.host.log.is_full):
                name = "unknown" if operation is None else operation.name
                refused = RequestRefused(
                    operation=name, status=refusal.status, code=refusal.code, reason=refusal.reason
                )
                self.host.emit(SOURCE, refused, "run")
                return
            self.host.sidecar.unauthenticated.add(
                sandbox=SOURCE,
                method=request.method,
                path=self._redact(request.path),
                status=refusal.status,
                reason=refusal.reason,
            )

    def count(self, call: OpenCall) -> ReachedLimit | None:
        """Count a call that a model is to answer, or return the limit for which it is refused."""
        if call.operation in FREE_OPERATIONS:
            return None
        price = self._find_prices(call.provider, call.request.model)
        reached = self.limits.begin_call(call.request.model, has_price=price is not None)
        call.is_counted = reached is None
        return reached

    def _log_results(self, results: Iterable[ModelToolResult]) -> None:
        """Log each tool whose result is new, unless it is in the log already."""
        for result in results:
            found = self._proposed.take(result)
            if found is None or self._reports_tools() or self._is_logged_action(*found):
                continue
            call, event = found
            arguments = call.arguments if isinstance(call.arguments, Mapping) else {"input": call.arguments}
            executed = ToolExecuted(
                tool_name=call.name,
                arguments=self._clean(dict(arguments)),
                result=self._clean(result.content),
                is_error=result.is_error,
                error_message=str(self._clean(join_text(result.content))) if result.is_error else None,
            )
            self.host.emit("agent", executed, "agent", event)

    def _is_logged_action(self, call: ModelToolCall, proposed: int) -> bool:
        """Return whether a call is an action that was logged since a model proposed it: over MCP, each is one."""
        for event in islice(self.host.log.events, proposed, None):
            payload = event.payload
            if not isinstance(payload, ActionExecuted) or event.source != "agent" or event.seq in self._called_actions:
                continue
            if is_call_of(payload.name, call.name):
                self._called_actions.add(event.seq)
                return True
        return False

    def _reports_tools(self) -> bool:
        """Return whether the agent has reported a tool: an event without a model call as its cause."""
        events, start = self.host.log.events, self._searched
        self._searched = len(events)
        self._has_reported_tools = self._has_reported_tools or any(
            isinstance(event.payload, ToolExecuted) and event.source == "agent" and event.cause is None
            for event in islice(events, start, None)
        )
        return self._has_reported_tools

    def end(self, call: OpenCall, answer: AnswerSummary, error: str) -> None:
        """Log a call whose response has ended, unless the run is over."""
        with self.host.lock:
            if call.is_ended:
                return
            call.is_ended = True
            self._open.discard(call)
            if call.operation not in FREE_OPERATIONS:
                self.outage = error or f"the provider answered with status {call.status}" if call.is_outage else ""
            if not self.host.closed:
                self._log(call, answer, error)

    def _log(self, call: OpenCall, answer: AnswerSummary, error: str) -> None:
        request, (request_body, is_cut) = call.request, self._store(call.body)
        called = ModelCalled(
            provider=call.provider,
            operation=call.operation,
            model=self._clean(answer.model or request.model),
            status=call.status,
            parameters=self._clean(dict(request.parameters)),
            tools=tuple(self._clean(list(request.tools[:MAX_NAMES]))),
            tool_calls=tuple(
                ProposedToolCall(
                    id=self._clean(one.id), name=self._clean(one.name), arguments=self._clean(one.arguments)
                )
                for one in answer.tool_calls
            ),
            finish_reason=self._clean(answer.finish_reason),
            error=self._clean(error),
            request=request_body,
            response=self._store(call.response, is_stream=call.is_stream)[0],
            request_is_cut=is_cut,
        )
        event = self.host.emit(SOURCE, called, "agent")
        for proposed in answer.tool_calls:
            self._proposed.add(proposed, event.seq)
        self._add_use(call, answer, error, event.seq)

    def _add_use(self, call: OpenCall, answer: AnswerSummary, error: str, seq: int) -> None:
        tokens, model = answer.tokens, answer.model or call.request.model
        prices = self._find_prices(call.provider, model) or self._find_prices(call.provider, call.request.model)
        cost = None if prices is None or tokens is None else prices.cost(*tokens)
        is_answered = 0 < call.status < 400 and call.operation not in FREE_OPERATIONS
        if not is_answered:
            tokens, cost = TokenCounts(), 0.0  # nothing was generated
        if call.is_counted:
            used = None if tokens is None else tokens.prompt + tokens.completion
            self.limits.end_call(used, cost, is_answered=is_answered and not error)
        counts = tokens or TokenCounts()
        self.host.sidecar.add_model_call(
            seq,
            {
                "prompt_tokens": counts.prompt,
                "completion_tokens": counts.completion,
                "cached_tokens": counts.cached,
                "cost": cost,
                **call.describe_times(),
            },
        )
        self._counts["calls"] += is_answered
        self._counts["prompt_tokens"] += counts.prompt
        self._counts["completion_tokens"] += counts.completion
        self._cost = None if self._cost is None or cost is None else self._cost + cost

    def close(self) -> None:
        """End the calls that are open, and add the account of all calls to the facts of the trial."""
        if self.recording is not None and (self.outage or self.limits.reached):
            self.recording.interrupt()
        with self.host.lock:
            self._is_closed, calls = True, list(self._open)
        for call in calls:
            call.end(AnswerSummary(), "the agent did not wait for the end of the response")
            if call.stop is not None:
                call.stop.stop()
        if self._counts["calls"]:
            facts, counts = self.host.sidecar.facts, {**self._counts, "cost": self._cost}
            facts[MODEL_USAGE] = {**counts, **object_of(facts.get(MODEL_USAGE))}

    def _store(self, body: bytes, *, is_stream: bool = False) -> tuple[str, bool]:
        """Return the part of a body that is stored, and whether that is less than the whole. It is redacted first, so
        that no secret is cut and left.
        """
        text = body.decode(errors="replace")
        redacted: str = "".join(hide_stream(text, self._redact)) if is_stream else self._redact(text)
        stored = redacted[: max(0, min(MAX_LOGGED_BODY, MAX_LOGGED_BODIES - self._logged_bytes))]
        self._logged_bytes += len(stored)
        return stored, len(stored) < len(redacted)

    def _clean(self, value: Any) -> Any:
        """Return a value with each text redacted and valid: JSON may have half of a surrogate pair."""
        if isinstance(value, str):
            return self._redact(replace_surrogates(value))
        if isinstance(value, Mapping):
            return {self._clean(name): self._clean(part) for name, part in value.items()}
        return [self._clean(part) for part in value] if isinstance(value, list | tuple) else value
