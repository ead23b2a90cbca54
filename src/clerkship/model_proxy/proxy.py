"""The model proxy: takes the agent's model calls, passes them to the provider with the real key, and logs them.

The bytes of requests and responses are passed on as they are. See docs/decisions/0036-model-proxy.md.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import orjson

from clerkship.kit.depth import is_deeper_than
from clerkship.kit.secrets import equal_in_constant_time, new_name, new_token
from clerkship.model.errors import PlatformError
from clerkship.model.redaction import build_redactor
from clerkship.model.usage import ModelLimits
from clerkship.model_proxy.faults import CallFaults
from clerkship.model_proxy.limits import CallUse, RunLimits
from clerkship.model_proxy.trial_calls import FindPrices, OpenCall, TrialCalls, TrialHost
from clerkship.providers.apis import APIS
from clerkship.providers.connections import (
    MIN_KEY_LENGTH,
    ProviderAccount,
    ProviderFailed,
    ProviderHost,
    ProviderResponse,
    RequestStop,
)
from clerkship.providers.contract import (
    AnswerReader,
    AnswerSummary,
    ModelOperation,
    ProviderApi,
    RequestSummary,
)
from clerkship.providers.openai import ask_for_usage, is_usage_only
from clerkship.providers.server_sent_events import EventSplitter, split_events
from clerkship.recording.recorded_calls import AskedCall, CallRecording
from clerkship.sandbox.authentication.bearer import parse_bearer_token
from clerkship.sandbox.handle import MODELS
from clerkship.sandbox.model_access import ModelAccess, ModelAddress
from clerkship.sandbox.request import IMMEDIATE, JSON, ByteStream, Delivery, Refusal, Reply, Request

TOKEN_PREFIX = "clk_mdl"
MAX_RESPONSE_BYTES = 50_000_000
_PASSED_ON = frozenset({"content-type", "accept", "user-agent", "idempotency-key"})
"""Headers of requests that are passed on, with those of the prefixes. Others may be credentials or about the way."""
_PASSED_ON_PREFIXES = ("anthropic-", "openai-", "x-stainless-", "x-goog-api-client")
_PASSED_BACK = frozenset({"retry-after", "retry-after-ms", "request-id", "x-request-id", "x-should-retry"})
_PASSED_BACK_PREFIXES = ("anthropic-", "openai-", "x-ratelimit-")
_RETRIES = "x-stainless-retry-count"
"""The header in which clients of OpenAI and Anthropic count how often they have repeated a call."""
_EVENT_STREAM = "text/event-stream"
EMPTY_BODY: Mapping[str, Any] = {}
UNREACHABLE = 502
TOO_MANY_REQUESTS = 429


class ModelProxy:
    """The model calls of all agents of a run."""

    def __init__(self, accounts: Sequence[ProviderAccount], find_prices: FindPrices) -> None:
        self._hosts = {account.name: ProviderHost(account) for account in accounts}
        keys = {account.variable: account.key for account in accounts if account.key}
        self._redactor = build_redactor(keys, shortest=MIN_KEY_LENGTH)
        self._find_prices = find_prices
        self.limits = RunLimits()
        self._trials: dict[str, TrialCalls] = {}
        self._names: dict[int, str] = {}

    def limit(self, limits: ModelLimits, used: CallUse | None = None) -> None:
        """Set the limits of the calls of all trials, before the first. `used` is what the run has used before."""
        self.limits = RunLimits(limits, used)

    def open_trial(
        self, trial: TrialHost, base_url: Callable[[], str], recording: CallRecording | None = None
    ) -> ModelAccess:
        """Accept the model calls of a trial; return where its agent sends them, and the token that it needs."""
        name, token = new_name("trial"), new_token(TOKEN_PREFIX)

        trial.hidden |= {token: "[model token]", name: "[trial]"}

        def redact(text: str) -> str:
            return trial.redact(self._redactor.text(text))

        self._trials[name] = TrialCalls(trial, token, redact, self._find_prices, self.limits, recording)
        self._names[id(trial)] = name

        def build_addresses() -> dict[str, ModelAddress]:
            base = f"{base_url()}/{MODELS}/{name}"
            return {
                provider: ModelAddress(f"{base}/{provider}{_VERSION.get(provider, '')}", token)
                for provider in self._hosts
            }

        def call(provider: str, path: str, body: bytes, stop: RequestStop) -> Reply:
            request = Request("POST", f"/{provider}{path}", {}, {"x-api-key": token, "content-type": JSON}, body)
            return self.answer(name, request, stop=stop)

        return ModelAccess(build_addresses, call)

    def find_trial(self, name: str) -> TrialHost | None:
        """Return the trial with this name, while its agent may call models."""
        calls = self._trials.get(name)
        return None if calls is None else calls.host

    def find_calls(self, trial: TrialHost) -> TrialCalls | None:
        """Return the calls of a trial, while its agent may call models."""
        return self._trials.get(self._names.get(id(trial), ""))

    def end_trial(self, trial: TrialHost) -> None:
        """Accept no more calls of a trial, and end those that are open."""
        calls = self._trials.pop(self._names.pop(id(trial), ""), None)
        if calls is not None:
            calls.close()

    def close(self) -> None:
        """Close the connections to the providers."""
        for host in self._hosts.values():
            host.close()

    def answer(
        self, name: str, request: Request, objection: Refusal | None = None, stop: RequestStop | None = None
    ) -> Reply:
        """Answer a request to `/models/{name}/{provider}/…`.

        `objection` is what is wrong with its transport. A built-in agent gives the `stop` of its request, and reports
        its tools itself.
        """
        provider, _, rest = request.path.lstrip("/").partition("/")
        api = APIS.get(provider, APIS["openai"])
        try:
            trial = self._authenticate(name, request, api.find_operation(request.method, f"/{rest}"))
            host = self._hosts.get(api.name) if provider in APIS else None
            if host is None:
                known = ", ".join(self._hosts)
                raise Refusal(404, "unknown_provider", f"no provider `{provider[:40]}` here (expected one of {known})")
        except Refusal as refusal:
            return _refuse(api, refusal)
        return ProxiedCall(self, api, host, trial, stop).answer(request, f"/{rest}", objection)

    def _authenticate(self, name: str, request: Request, operation: ModelOperation | None) -> TrialCalls:
        """Return the trial of a request; its token is in one of the headers in which the providers expect a key."""
        headers, trial = request.headers, self._trials.get(name)
        keys = (headers.get("x-api-key", ""), headers.get("x-goog-api-key", ""), request.query.get("key", ""))
        tokens = (parse_bearer_token(headers), *keys)
        if trial is None or not any(equal_in_constant_time(trial.token, token) for token in tokens):
            reason = "the API key is not the model token of this run; use the one in OPENAI_API_KEY, ANTHROPIC_API_KEY"
            refusal = Refusal(401, "invalid_api_key", f"{reason} or GEMINI_API_KEY, or in `models` of the message")
            if trial is not None:
                trial.refuse_unauthenticated(request, operation, refusal)
            raise refusal
        return trial

    def hide_keys(self, data: bytes) -> bytes:
        """Return the bytes of a response without the keys, which some providers quote in errors."""
        return self._redactor.body(data) if self._redactor else data


_VERSION = {"openai": "/v1"}
"""What the base URL of a client ends with: those of Anthropic and Google add the version themselves."""


class ProxiedCall:
    """One model call."""

    def __init__(
        self, proxy: ModelProxy, api: ProviderApi, host: ProviderHost, calls: TrialCalls, stop: RequestStop | None
    ) -> None:
        self._proxy, self._api, self._host, self._calls = proxy, api, host, calls
        self._stop = stop
        self._recording = calls.recording
        self._asked: AskedCall | None = None

    def answer(self, request: Request, path: str, objection: Refusal | None) -> Reply:
        """Pass the request on, and return the response. Each call is logged, also one that is refused here."""
        operation = self._api.find_operation(request.method, path)
        summary, body, data = RequestSummary("", {}, ()), request.body, EMPTY_BODY
        try:
            if operation is None:
                raise _refuse_path(request, path)
            if objection is not None:
                raise objection
            if operation.name != "models":
                data = _parse_body(request.body)
                summary = self._api.parse_request(operation, data)
                if self._stop is not None:
                    summary = replace(summary, results=())
                if operation.name == "chat" and summary.is_stream:
                    body = ask_for_usage(request.body, data) or request.body
        except Refusal as refusal:
            return self._log_refusal(operation, request, refusal)
        try:
            call = self._calls.begin(self._api.name, operation.name, summary, request.body)
        except Refusal as refusal:
            return _refuse(self._api, refusal)
        self._faults, self._drops_usage = CallFaults(self._calls.host, self._api, call), body is not request.body
        if self._recording is not None:
            self._asked = self._recording.ask(self._api.name, operation.path, self._name_limit(data))
            call.body = "\n".join(self._asked.texts).encode()  # so that the log of a replay is the same
        try:
            return (
                self._refuse_beyond_limit(call)
                or self._inject_faults(call, operation, request)
                or self._replay(call, operation, request)
                or self._pass_on(call, operation, request, body)
            )
        except BaseException as error:
            self._release()
            call.end(AnswerSummary(), f"the proxy failed: {error}")
            raise

    def _name_limit(self, data: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return a request as it is looked for: a built-in agent names its limit of tokens as the address needs it, and
        a replay may know another one.
        """
        names = () if self._stop is None else self._api.limits
        return {names[0] if name in names else name: value for name, value in data.items()} if names else data

    def _release(self) -> None:
        """Count the call as none of those that are recorded."""
        if self._recording is not None and self._asked is not None:
            self._recording.release(self._asked)

    def _log_refusal(self, operation: ModelOperation | None, request: Request, refusal: Refusal) -> Reply:
        try:
            name = "unknown" if operation is None else operation.name
            call = self._calls.begin(self._api.name, name, RequestSummary("", {}, ()), request.body)
        except Refusal as later:
            return _refuse(self._api, later)
        call.status = refusal.status
        call.end(AnswerSummary(), refusal.reason)
        return _refuse(self._api, refusal)

    def _refuse_beyond_limit(self, call: OpenCall) -> Reply | None:
        reached = self._calls.count(call)
        return None if reached is None else self._refuse_call(call, reached.code, reached.message)

    def _inject_faults(self, call: OpenCall, operation: ModelOperation, request: Request) -> Reply | None:
        sends_events = call.request.is_stream and (not operation.is_stream or request.query.get("alt") == "sse")
        injected = self._faults.inject(sends_events=sends_events)
        if injected is None:
            return None
        self._release()
        call.status = injected.status
        return self._finish(call, operation, injected.media, injected.headers, injected.data)

    def _refuse_call(self, call: OpenCall, code: str, reason: str) -> Reply:
        """Refuse a call so that clients do not repeat it."""
        call.status = 400
        call.end(AnswerSummary(), reason)
        return _refuse(self._api, Refusal(400, code, reason))

    def _replay(self, call: OpenCall, operation: ModelOperation, request: Request) -> Reply | None:
        """Return the recorded response, or in a replay the refusal of a request that is not recorded."""
        if self._recording is None or self._asked is None:
            return None
        is_repeated = request.headers.get(_RETRIES, "0") != "0"
        self._asked = self._recording.begin(self._asked, is_repeated=is_repeated)
        recorded = self._recording.find(self._asked)
        if recorded is None and self._recording.replays:
            return self._refuse_call(call, "not_recorded", str(self._recording.miss(self._asked)))
        if recorded is None:
            return None
        call.status, data = recorded.status, recorded.response.encode()
        return self._finish(call, operation, recorded.media, recorded.headers, data)

    def _pass_on(self, call: OpenCall, operation: ModelOperation, request: Request, body: bytes) -> Reply:
        try:
            response = self._send(call, operation, request, body)
            data = None if _is_stream(response) and not self._faults.cuts else response.read_all(MAX_RESPONSE_BYTES)
            if self._drops_usage and data is not None and response.status == 400 and b"stream_options" in data:
                self._drops_usage = False  # a server that does not know this field
                response = self._send(call, operation, request, request.body)
                data = None if _is_stream(response) and not self._faults.cuts else response.read_all(MAX_RESPONSE_BYTES)
        except ProviderFailed as failed:
            self._release()
            call.status, call.is_outage = UNREACHABLE, True
            call.end(AnswerSummary(), str(failed))
            return _refuse(self._api, Refusal(UNREACHABLE, "provider_failed", str(failed)))
        call.status = response.status
        call.is_outage = response.status >= 500 or response.status == TOO_MANY_REQUESTS
        headers, media = _select_headers(response), response.headers.get("content-type", JSON)

        def save(body: bytes) -> None:
            if self._recording is not None and self._asked is not None:
                self._recording.save(self._asked, response.status, media, headers, body)

        if data is not None:
            data = self._proxy.hide_keys(data)
            save(data)
            return self._finish(call, operation, media, headers, data)
        call.is_stream = True
        reader = self._api.open_reader(operation, is_stream=True)
        stream = StreamedResponse(self._proxy, call, reader, response, save, self._release)
        parts = stream.read(drops_usage=self._drops_usage)
        next(parts)  # so that it ends the call also if the agent leaves before the first part
        chunks = ByteStream(parts)
        return Reply(response.status, b"", _EVENT_STREAM, headers, stream=chunks, delivery=self._delivery)

    def _send(self, call: OpenCall, operation: ModelOperation, request: Request, body: bytes) -> ProviderResponse:
        stop = call.stop = self._stop or RequestStop()
        if call.is_ended:  # with the trial, just before
            stop.stop()
        headers = {
            name: value
            for name, value in request.headers.items()
            if name in _PASSED_ON or name.startswith(_PASSED_ON_PREFIXES)
        }
        query = {name: value for name, value in request.query.items() if name != "key"}
        return self._host.send(request.method, operation.path, query, headers, body, stop)

    def _finish(
        self, call: OpenCall, operation: ModelOperation, media: str, headers: Mapping[str, str], data: bytes
    ) -> Reply:
        """Log a response that has arrived, and return it."""
        is_stream, error = media.startswith(_EVENT_STREAM), ""
        data = self._faults.cut(data, is_stream=is_stream) if call.status < 400 else data
        call.add_bytes(data)
        call.is_stream = is_stream
        reader = self._api.open_reader(operation, is_stream=is_stream)
        if is_stream:
            data = self._read_events(reader, data)
        elif call.status < 400:
            try:
                for part in _list_bodies(orjson.loads(data)):
                    reader.read(part)
            except orjson.JSONDecodeError:
                error = f"the response of {self._host.name} is not JSON"
        call.end(reader.build_summary(), error)
        return Reply(call.status, data, media, headers, delivery=self._delivery)

    @property
    def _delivery(self) -> Delivery:
        return replace(IMMEDIATE, delay=self._faults.delay.total_seconds()) if self._faults.delay else IMMEDIATE

    def _read_events(self, reader: AnswerReader, data: bytes) -> bytes:
        """Read the events of a stream; return those that the client gets."""
        events = [*split_events(data)]
        for event in events:
            reader.read(event.data or {})
        return b"".join(event.raw for event in events if not (self._drops_usage and is_usage_only(event.data)))


class StreamedResponse:
    """The response of a provider that comes as a stream of events."""

    def __init__(
        self,
        proxy: ModelProxy,
        call: OpenCall,
        reader: AnswerReader,
        response: ProviderResponse,
        save: Callable[[bytes], None],
        release: Callable[[], None],
    ) -> None:
        self._proxy, self._call, self._reader, self._response = proxy, call, reader, response
        self._save, self._release = save, release

    def _end(self, error: str = "") -> None:
        """Log the call, and record it if it is complete; nothing happens the second time."""
        if not self._call.is_ended:
            if error:
                self._release()
            else:
                self._save(self._call.response)
        self._call.end(self._reader.build_summary(), error)

    def read(self, *, drops_usage: bool) -> Iterator[bytes]:
        """Yield nothing, and then the bytes as they arrive.

        The call is logged before the client gets the last event, upon which it acts.

        With `drops_usage`, leave out the token counts that only the proxy has asked for.
        """
        call, reader, splitter = self._call, self._reader, EventSplitter()
        error, received = "the agent did not read the response to its end", 0
        try:
            yield b""
            while data := self._response.read():
                received += len(data)
                if received > MAX_RESPONSE_BYTES:
                    error = f"the response has more than {MAX_RESPONSE_BYTES:,} bytes"
                    raise ProviderFailed(error)
                parts = []
                for event in splitter.feed(data):
                    raw = self._proxy.hide_keys(event.raw)
                    call.add_bytes(raw)
                    if event.data is not None:
                        reader.read(event.data)
                    if event.is_done or reader.is_complete:
                        self._end()
                    if not (drops_usage and is_usage_only(event.data)):
                        parts.append(raw)
                yield b"".join(parts)
            error, rest = "", splitter.take_rest()
            call.add_bytes(rest)
            self._end()
            yield rest
        except ProviderFailed as failed:
            call.is_outage = True
            error = str(failed)
            call.add_bytes(self._proxy.hide_keys(splitter.take_rest()))
            raise StreamBroken(error) from None
        finally:
            self._end(error)
            if error:
                self._response.close()


class StreamBroken(PlatformError):
    """The response of a provider broke off in the middle, and so does that to the agent."""


def _is_stream(response: ProviderResponse) -> bool:
    return response.status < 400 and response.headers.get("content-type", "").startswith(_EVENT_STREAM)


def _parse_body(body: bytes) -> Mapping[str, object]:
    """Return the JSON object of a request. Raises Refusal."""
    try:
        data = orjson.loads(body)
    except orjson.JSONDecodeError:
        raise Refusal(400, "invalid_json", "the body is not JSON") from None
    if not isinstance(data, dict):
        raise Refusal(400, "invalid_json", "the body is not a JSON object")
    if is_deeper_than(data):
        raise Refusal(400, "invalid_json", "the body is nested too deeply")
    return data


def _list_bodies(data: object) -> list[Mapping[str, object]]:
    """Return the objects of a body: Gemini sends a list of events if a stream is asked for without `alt=sse`."""
    return [part for part in (data if isinstance(data, list) else [data]) if isinstance(part, dict)]


def _refuse_path(request: Request, path: str) -> Refusal:
    if request.method == "GET" and "upgrade" in request.headers:
        return Refusal(426, "no_websocket", "model calls over WebSocket are not supported; use HTTP")
    reason = (
        f"{request.method} {path[:100]} is not passed on: only chats, responses, messages, embeddings and models are"
    )
    return Refusal(404, "not_passed_on", reason)


def _refuse(api: ProviderApi, refusal: Refusal) -> Reply:
    headers = {"x-should-retry": "false"} if refusal.status in (401, 404, 400, 413) else {}
    return Reply(refusal.status, api.render_error(refusal.status, refusal.code, refusal.reason), headers=headers)


def _select_headers(response: ProviderResponse) -> dict[str, str]:
    return {
        name: value
        for name, value in response.headers.items()
        if name in _PASSED_BACK or name.startswith(_PASSED_BACK_PREFIXES)
    }
