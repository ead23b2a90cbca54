"""Anthropic's API: messages."""

import re
from collections.abc import Mapping
from typing import Any, ClassVar

import orjson

from clerkship.providers.contract import (
    ANSWER_TOOL,
    BEGINNING,
    NO_TEXT,
    AnswerForm,
    AnswerReader,
    AnswerSummary,
    ChatReply,
    ChatRequest,
    ModelMessage,
    ModelOperation,
    ModelTool,
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

_PATH = re.compile(r"(?:/v1)*(?P<rest>/(?:messages(?:/count_tokens)?|models(?:/[\w.:-]+)?))")
_OPERATIONS = {"/messages": "messages", "/messages/count_tokens": "count_tokens"}
_CONTENT = frozenset({"messages", "model", "tools", "system", "stream", "metadata"})
"""Fields of a request that are not parameters of the model."""
_ERRORS = {
    400: "invalid_request_error",
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    529: "overloaded_error",
}


_STOPS: Mapping[str, StopReason] = {
    "max_tokens": "cut off",
    "model_context_window_exceeded": "cut off",
    "refusal": "refused",
}


class AnthropicApi:
    """Anthropic's API."""

    name: ClassVar[ProviderName] = "anthropic"
    forms: ClassVar[tuple[AnswerForm, ...]] = ("schema", "tool", "words")
    limits: ClassVar[tuple[str, ...]] = ("max_tokens",)
    requires_limit: ClassVar[bool] = True
    address_hint: ClassVar[str] = "without /v1"

    def find_operation(self, method: str, path: str) -> ModelOperation | None:
        """Return the operation of a request. The path may lack `/v1`, or have it twice."""
        match = _PATH.fullmatch(path)
        if match is None or (method == "GET") is not match["rest"].startswith("/models"):
            return None
        return ModelOperation(_OPERATIONS.get(match["rest"], "models"), f"/v1{match['rest']}")

    def parse_request(self, operation: ModelOperation, body: Mapping[str, Any]) -> RequestSummary:
        """Summarize a request."""
        blocks = [
            object_of(block)
            for message in map(object_of, list_of(body.get("messages")))
            for block in list_of(message.get("content"))
        ]
        results = [
            ModelToolResult(
                text_of(block.get("tool_use_id")), "", join_text(block.get("content")), block.get("is_error") is True
            )
            for block in blocks
            if block.get("type") == "tool_result"
        ]
        return RequestSummary(
            text_of(body.get("model")),
            {name: value for name, value in body.items() if name not in _CONTENT},
            tuple(text_of(object_of(tool).get("name")) for tool in list_of(body.get("tools"))),
            tuple(results),
            body.get("stream") is True,
        )

    def build_chat(self, request: ChatRequest) -> tuple[str, dict[str, Any]]:
        """Return the path and the body of a request for the next message. The system prompt is apart."""
        system = "\n\n".join(message.text for message in request.messages if message.role == "system")
        messages = [_build_message(message) for message in request.messages if message.role != "system"]
        if messages and messages[0]["role"] == "assistant":
            messages = [{"role": "user", "content": BEGINNING}, *messages]
        body = {**request.parameters, "model": request.model, "messages": messages}
        if system:
            body["system"] = system
        tools = list(request.tools)
        if request.form == "schema":
            form = {"type": "json_schema", "schema": request.schema}
            body["output_config"] = {**object_of(request.parameters.get("output_config")), "format": form}
        elif request.form == "tool":
            tools.append(ModelTool(ANSWER_TOOL, "Give your answer by calling this, once.", request.schema))
            body["tool_choice"] = {"type": "tool", "name": ANSWER_TOOL, "disable_parallel_tool_use": True}
        if tools:
            body["tools"] = [
                {"name": tool.name, "description": tool.description, "input_schema": tool.parameters} for tool in tools
            ]
        return "/v1/messages", body

    def parse_chat(self, data: Any) -> ChatReply | None:
        """Return the message in the body of a response; None if there is none."""
        content = object_of(data).get("content")
        if not isinstance(content, list) or not isinstance(data.get("usage"), Mapping):
            return None
        reader = MessageReader()
        reader.read({**data, "type": "message"})
        answer = reader.build_summary()
        text = "".join(text_of(block.get("text")) for block in map(object_of, content) if block.get("type") == "text")
        kept = [
            block
            for block in map(object_of, content)
            if block.get("type") != "text" or text_of(block.get("text")).strip()
        ]
        original = {"role": "assistant", "content": kept or NO_TEXT}
        message = ModelMessage("assistant", text, original=original)
        return ChatReply(message, tuple(answer.tool_calls), _STOPS.get(answer.finish_reason, ""), answer.tokens)

    def open_reader(self, operation: ModelOperation, *, is_stream: bool) -> AnswerReader:
        """Return a reader for the response."""
        return MessageReader()

    def render_error(self, status: int, code: str, message: str) -> bytes:
        """Return an error as Anthropic's server sends it."""
        kind = _ERRORS.get(status, "api_error" if status >= 500 else "invalid_request_error")
        return orjson.dumps({"type": "error", "error": {"type": kind, "message": message}})


def _build_message(message: ModelMessage) -> Mapping[str, Any]:
    if message.role == "tools":
        blocks = [
            {
                "type": "tool_result",
                "tool_use_id": result.id,
                "content": result.content,
                **({"is_error": True} if result.is_error else {}),
            }
            for result in message.results
        ]
        return {"role": "user", "content": blocks}
    return message.original or {"role": message.role, "content": message.text or NO_TEXT}


class MessageReader:
    """Reads a message. The events of a stream build it in parts."""

    def __init__(self) -> None:
        self.is_complete = False
        self._answer = AnswerSummary()
        self._inputs: dict[int, tuple[ModelToolCall, list[str]]] = {}
        """Each tool call of a stream with the parts of its arguments, by the number of its block."""
        self._usage: dict[str, Any] = {}

    def read(self, data: Mapping[str, Any]) -> None:
        """Read the body, or the next event."""
        kind, answer = data.get("type"), self._answer
        if kind in ("message", "message_start"):
            message = data if kind == "message" else object_of(data.get("message"))
            answer.id, answer.model = text_of(message.get("id")), text_of(message.get("model"))
            answer.finish_reason = text_of(message.get("stop_reason"))
            self._usage |= object_of(message.get("usage"))
            for number, block in enumerate(list_of(message.get("content"))):
                self._add_block(number, object_of(block))
        elif kind == "content_block_start":
            self._add_block(count_of(data.get("index")), object_of(data.get("content_block")))
        elif kind == "content_block_delta":
            started = self._inputs.get(count_of(data.get("index")))
            if started is not None:
                started[1].append(text_of(object_of(data.get("delta")).get("partial_json")))
        elif kind == "message_delta":
            answer.finish_reason = text_of(object_of(data.get("delta")).get("stop_reason")) or answer.finish_reason
            self._usage |= {name: count for name, count in object_of(data.get("usage")).items() if count is not None}
        self.is_complete = self.is_complete or kind == "message_stop"

    def _add_block(self, number: int, block: Mapping[str, Any]) -> None:
        if block.get("type") == "tool_use":
            call = ModelToolCall(text_of(block.get("id")), text_of(block.get("name")), block.get("input"))
            self._inputs[number] = call, []

    def build_summary(self) -> AnswerSummary:
        """Return what was read so far. Tokens read from the cache and written to it are a part of the prompt."""
        answer, usage = self._answer, self._usage
        answer.tool_calls = [
            call._replace(arguments=parse_arguments("".join(parts))) if any(parts) else call
            for call, parts in self._inputs.values()
        ]
        if usage:
            cached = count_of(usage.get("cache_read_input_tokens"))
            prompt = count_of(usage.get("input_tokens")) + cached + count_of(usage.get("cache_creation_input_tokens"))
            answer.tokens = TokenCounts(prompt, count_of(usage.get("output_tokens")), cached)
        return answer
