"""OpenAI's API: chat completions, responses and embeddings."""

import re
from collections.abc import Iterator, Mapping
from itertools import chain
from typing import Any, ClassVar

import orjson

from clerkship.providers.contract import (
    NO_TEXT,
    AnswerForm,
    AnswerReader,
    AnswerSummary,
    ChatReply,
    ChatRequest,
    ModelMessage,
    ModelOperation,
    ModelToolCall,
    ModelToolResult,
    ProviderName,
    RequestSummary,
    StopReason,
    TokenCounts,
    count_of,
    join_text,
    list_of,
    object_of,
    parse_arguments,
    text_of,
)

_PATH = re.compile(r"(?:/v1)*(?P<rest>/(?:chat/completions|responses|embeddings|models(?:/[\w.:-]+)?))")
_OPERATIONS = {"/chat/completions": "chat", "/responses": "responses", "/embeddings": "embeddings"}
_CONTENT = frozenset({"messages", "input", "model", "tools", "instructions", "functions", "stream"})
"""Fields of a request that are its content."""
SESSION_FIELDS = frozenset({"metadata", "user", "client_metadata", "prompt_cache_key", "safety_identifier"})
"""Fields that identify a session or a user, and do not change the answer."""
_LAST_EVENTS = frozenset({"response.completed", "response.failed", "response.incomplete"})


_THOUGHTS = ("reasoning_content", "reasoning_details")
"""Fields of a message that some servers want back."""
_STOPS: Mapping[Any, StopReason] = {"length": "cut off", "content_filter": "filtered"}


class OpenAiApi:
    """OpenAI's API, and that of servers that are compatible with it."""

    name: ClassVar[ProviderName] = "openai"
    forms: ClassVar[tuple[AnswerForm, ...]] = ("schema", "object", "words")
    limits: ClassVar[tuple[str, ...]] = ("max_tokens", "max_completion_tokens")
    """The name that most servers use, and that of OpenAI's newer models."""
    requires_limit: ClassVar[bool] = False
    address_hint: ClassVar[str] = "most end in /v1"

    def find_operation(self, method: str, path: str) -> ModelOperation | None:
        """Return the operation of a request. The path may have `/v1`, or have it twice."""
        match = _PATH.fullmatch(path)
        if match is None or (method == "GET") is not match["rest"].startswith("/models"):
            return None
        return ModelOperation(_OPERATIONS.get(match["rest"], "models"), match["rest"])

    def parse_request(self, operation: ModelOperation, body: Mapping[str, Any]) -> RequestSummary:
        """Summarize a request."""
        results = _list_results(body.get("messages"), body.get("input"))
        return RequestSummary(
            text_of(body.get("model")),
            {name: value for name, value in body.items() if name not in _CONTENT | SESSION_FIELDS},
            tuple(_tool_name(tool) for tool in (*list_of(body.get("tools")), *list_of(body.get("functions")))),
            tuple(results),
            body.get("stream") is True,
        )

    def build_chat(self, request: ChatRequest) -> tuple[str, dict[str, Any]]:
        """Return the path and the body of a request for the next message."""
        messages = list(chain.from_iterable(map(_build_messages, request.messages)))
        body = {**request.parameters, "model": request.model, "messages": messages}
        if request.form == "schema":
            schema = {"name": request.schema_name, "schema": request.schema, "strict": True}
            body["response_format"] = {"type": "json_schema", "json_schema": schema}
        elif request.form == "object":
            body["response_format"] = {"type": "json_object"}
        if request.tools:
            body["tools"] = [{"type": "function", "function": tool._asdict()} for tool in request.tools]
        return "/chat/completions", body

    def parse_chat(self, data: Any) -> ChatReply | None:
        """Return the message in the body of a response; None if there is none."""
        choice = object_of(next(iter(list_of(object_of(data).get("choices"))), None))
        message = choice.get("message")
        if not isinstance(message, Mapping):
            return None
        text, calls, usage = _message_text(message), list_of(message.get("tool_calls")), data.get("usage")
        content = text or (None if calls else NO_TEXT)
        original: dict[str, Any] = {"role": "assistant", "content": content}
        original |= {name: message[name] for name in _THOUGHTS if message.get(name)}
        if calls:
            original["tool_calls"] = [_repeat_call(call) for call in calls]
        stop: StopReason = "refused" if message.get("refusal") else _STOPS.get(choice.get("finish_reason"), "")
        return ChatReply(
            ModelMessage("assistant", text, original=original),
            tuple(map(_read_call, calls)),
            stop,
            parse_tokens(usage),
            parse_cost(usage),
        )

    def open_reader(self, operation: ModelOperation, *, is_stream: bool) -> AnswerReader:
        """Return a reader for the response."""
        return ResponsesReader() if operation.name == "responses" else ChatReader()

    def render_error(self, status: int, code: str, message: str) -> bytes:
        """Return an error as OpenAI's server sends it."""
        kind = "server_error" if status >= 500 else "invalid_request_error"
        return orjson.dumps({"error": {"message": message, "type": kind, "param": None, "code": code}})


def _build_messages(message: ModelMessage) -> Iterator[Mapping[str, Any]]:
    if message.role == "tools":
        for result in message.results:
            yield {"role": "tool", "tool_call_id": result.id, "content": result.content}
    else:
        yield message.original or {"role": message.role, "content": message.text}


def _message_text(message: Mapping[str, Any]) -> str:
    """Return the text or the refusal of a message."""
    content = message.get("content") or message.get("refusal")
    return text_of(content) or "".join(text_of(object_of(part).get("text")) for part in list_of(content))


def _read_call(call: Any) -> ModelToolCall:
    """Return a tool call with the arguments as the model wrote them."""
    function, id = object_of(call).get("function"), str(object_of(call).get("id") or "")
    name = text_of(object_of(function).get("name"))
    return ModelToolCall(id, name, object_of(function).get("arguments") if name else function)


def _repeat_call(call: Any) -> Mapping[str, Any]:
    """Return a tool call for the next request.

    Arguments that are not a JSON object are left out: some servers answer 500 if they are sent back.
    """
    id, name, arguments = _read_call(call)
    if name and arguments and isinstance(parse_arguments(arguments), Mapping):
        return object_of(call)
    return {"id": id, "type": "function", "function": {"name": name or "unknown", "arguments": "{}"}}


def _tool_name(tool: Any) -> str:
    tool = object_of(tool)
    return (
        text_of(object_of(tool.get("function")).get("name")) or text_of(tool.get("name")) or text_of(tool.get("type"))
    )


def _list_results(messages: Any, items: Any) -> list[ModelToolResult]:
    """Return the results of tools in the messages of a chat, or in the input of a response."""
    results = []
    for message in map(object_of, list_of(messages)):
        if message.get("role") in ("tool", "function"):
            id, name = text_of(message.get("tool_call_id")), text_of(message.get("name"))
            results.append(ModelToolResult(id, name, join_text(message.get("content"))))
    for item in map(object_of, list_of(items)):
        if text_of(item.get("type")).endswith("_call_output"):
            results.append(ModelToolResult(text_of(item.get("call_id")), "", join_text(item.get("output"))))
    return results


class ChatReader:
    """Reads chat completions and embeddings."""

    def __init__(self) -> None:
        self.is_complete = False
        """Never set: the events of a stream end with `[DONE]`, which is no JSON."""
        self._answer = AnswerSummary()
        self._calls: dict[tuple[int, int], list[str]] = {}
        """Id, name and arguments of each tool call, by choice and number."""

    def read(self, data: Mapping[str, Any]) -> None:
        """Read the body, or the next chunk: both have the same shape, with `message` or `delta`."""
        answer = self._answer
        answer.id, answer.model = text_of(data.get("id")) or answer.id, text_of(data.get("model")) or answer.model
        answer.tokens = parse_tokens(data.get("usage")) or answer.tokens
        for choice in map(object_of, list_of(data.get("choices"))):
            number = count_of(choice.get("index"))
            if not number:
                answer.finish_reason = text_of(choice.get("finish_reason")) or answer.finish_reason
            message = object_of(choice.get("message") or choice.get("delta"))
            for position, call in enumerate(map(object_of, list_of(message.get("tool_calls")))):
                index = call.get("index")
                self._add(number, count_of(index) if index is not None else position, call.get("id"), call)
            if message.get("function_call"):
                self._add(number, 0, "", {"function": message["function_call"]})

    def _add(self, choice: int, index: int, id: Any, call: Mapping[str, Any]) -> None:
        parts = self._calls.setdefault((choice, index), ["", "", ""])
        function = object_of(call.get("function"))
        parts[0] = text_of(id) or parts[0]
        parts[1] += text_of(function.get("name"))
        parts[2] += text_of(function.get("arguments"))

    def build_summary(self) -> AnswerSummary:
        """Return what was read so far."""
        self._answer.tool_calls = [
            ModelToolCall(id, name, parse_arguments(arguments)) for id, name, arguments in self._calls.values()
        ]
        return self._answer


class ResponsesReader:
    """Reads responses. The last event of a stream has the whole response."""

    def __init__(self) -> None:
        self.is_complete = False
        self._answer = AnswerSummary()

    def read(self, data: Mapping[str, Any]) -> None:
        """Read the body, or the next event."""
        if data.get("object") == "response":
            self._read_response(data)
            return
        kind = text_of(data.get("type"))
        if kind == "response.output_item.done":
            self._add_call(object_of(data.get("item")))
        elif isinstance(data.get("response"), Mapping):
            self._read_response(data["response"])
        self.is_complete = self.is_complete or kind in _LAST_EVENTS

    def _read_response(self, response: Mapping[str, Any]) -> None:
        answer = self._answer
        answer.id, answer.model = text_of(response.get("id")), text_of(response.get("model"))
        answer.tokens = parse_tokens(response.get("usage"))
        incomplete = text_of(object_of(response.get("incomplete_details")).get("reason"))
        answer.finish_reason = incomplete or text_of(response.get("status"))
        for item in map(object_of, list_of(response.get("output"))):
            self._add_call(item)

    def _add_call(self, item: Mapping[str, Any]) -> None:
        kind, id = text_of(item.get("type")), text_of(item.get("call_id"))
        if kind not in ("function_call", "custom_tool_call") or any(call.id == id for call in self._answer.tool_calls):
            return
        arguments = item.get("arguments") if kind == "function_call" else item.get("input")
        self._answer.tool_calls.append(ModelToolCall(id, text_of(item.get("name")), parse_arguments(arguments)))

    def build_summary(self) -> AnswerSummary:
        """Return what was read so far."""
        return self._answer


def parse_tokens(usage: Any) -> TokenCounts | None:
    """Return the tokens of a chat completion, an embedding or a response; None if they are not reported."""
    if not isinstance(usage, Mapping):
        return None
    details = object_of(usage.get("prompt_tokens_details") or usage.get("input_tokens_details"))
    return TokenCounts(
        count_of(usage.get("prompt_tokens")) or count_of(usage.get("input_tokens")),
        count_of(usage.get("completion_tokens")) or count_of(usage.get("output_tokens")),
        count_of(details.get("cached_tokens")),
    )


def parse_cost(usage: Any) -> float | None:
    """Return the cost, which some gateways report."""
    cost = object_of(usage).get("cost")
    return cost if isinstance(cost, int | float) and not isinstance(cost, bool) and cost >= 0 else None


INCLUDE_USAGE = b',"stream_options":{"include_usage":true}}'


def ask_for_usage(body: bytes, data: Mapping[str, Any]) -> bytes | None:
    """Return the body of a streamed chat with a request for the token counts; None if the client asks for them."""
    options = data.get("stream_options")
    if isinstance(options, Mapping) and "include_usage" in options:
        return None
    if "stream_options" not in data:  # all other bytes stay as the client wrote them
        return body.rstrip()[:-1] + INCLUDE_USAGE
    return orjson.dumps({**data, "stream_options": {**object_of(options), "include_usage": True}})


def is_usage_only(data: Mapping[str, Any] | None) -> bool:
    """Return whether an event of a chat has only the token counts, which the client did not ask for."""
    return data is not None and data.get("choices") == [] and isinstance(data.get("usage"), Mapping)
