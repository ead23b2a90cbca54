"""Google's Gemini API: generateContent, embeddings and token counts."""

import re
from collections.abc import Mapping
from typing import Any, ClassVar

import orjson

from clerkship.providers.contract import (
    BEGINNING,
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
    list_of,
    object_of,
    text_of,
)

_CALL = re.compile(r"/v1(?:beta\d*|alpha)?/(?:models|tunedModels)/(?P<model>[\w.-]+):(?P<action>\w+)")
_LIST = re.compile(r"/v1(?:beta\d*|alpha)?/models(?:/[\w.-]+)?")
_OPERATIONS = {
    "generateContent": "generate",
    "streamGenerateContent": "generate",
    "embedContent": "embeddings",
    "batchEmbedContents": "embeddings",
    "countTokens": "count_tokens",
}
_STATUSES = {
    400: "INVALID_ARGUMENT",
    401: "UNAUTHENTICATED",
    403: "PERMISSION_DENIED",
    404: "NOT_FOUND",
    429: "RESOURCE_EXHAUSTED",
    500: "INTERNAL",
    504: "DEADLINE_EXCEEDED",
}


_STOPS: Mapping[str, StopReason] = {
    "MAX_TOKENS": "cut off",
    "MALFORMED_FUNCTION_CALL": "malformed call",
    "UNEXPECTED_TOOL_CALL": "malformed call",
    **dict.fromkeys(("SAFETY", "RECITATION", "LANGUAGE", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII"), "filtered"),
}


class GeminiApi:
    """The Gemini API of Google AI."""

    name: ClassVar[ProviderName] = "gemini"
    forms: ClassVar[tuple[AnswerForm, ...]] = ("schema", "object", "words")
    limits: ClassVar[tuple[str, ...]] = ("maxOutputTokens",)
    requires_limit: ClassVar[bool] = False
    address_hint: ClassVar[str] = "without /v1beta"

    def find_operation(self, method: str, path: str) -> ModelOperation | None:
        """Return the operation of a request."""
        if method == "GET":
            return ModelOperation("models", path) if _LIST.fullmatch(path) else None
        match = _CALL.fullmatch(path)
        name = _OPERATIONS.get(match["action"]) if match is not None else None
        if match is None or name is None or method != "POST":
            return None
        return ModelOperation(name, path, match["model"], is_stream=match["action"].startswith("stream"))

    def parse_request(self, operation: ModelOperation, body: Mapping[str, Any]) -> RequestSummary:
        """Summarize a request. Results have no ids in most clients, only the names of their tools."""
        tools = [
            text_of(object_of(function).get("name"))
            for tool in map(object_of, list_of(body.get("tools")))
            for function in list_of(tool.get("functionDeclarations") or tool.get("function_declarations"))
        ]
        parts = [
            object_of(part)
            for content in map(object_of, list_of(body.get("contents")))
            for part in list_of(content.get("parts"))
        ]
        answers = [object_of(part.get("functionResponse") or part.get("function_response")) for part in parts]
        results = [
            ModelToolResult(text_of(answer.get("id")), text_of(answer.get("name")), answer.get("response"))
            for answer in answers
            if answer
        ]
        parameters = object_of(body.get("generationConfig") or body.get("generation_config"))
        return RequestSummary(operation.model, parameters, tuple(tools), tuple(results), operation.is_stream)

    def build_chat(self, request: ChatRequest) -> tuple[str, dict[str, Any]]:
        """Return the path and the body of a request for the next message. The system prompt is apart."""
        system = "\n\n".join(message.text for message in request.messages if message.role == "system")
        contents = [_build_content(message) for message in request.messages if message.role != "system"]
        if contents and contents[0]["role"] == "model":
            contents = [{"role": "user", "parts": [{"text": BEGINNING}]}, *contents]
        config = dict(request.parameters)
        if request.form in ("schema", "object"):
            config["responseMimeType"] = "application/json"
        if request.form == "schema":
            config["responseJsonSchema"] = request.schema
        body: dict[str, Any] = {"contents": contents, "generationConfig": config}
        if system:
            body["systemInstruction"] = {"parts": [{"text": system}]}
        if request.tools:
            functions = [
                {"name": tool.name, "description": tool.description, "parametersJsonSchema": tool.parameters}
                for tool in request.tools
            ]
            body["tools"] = [{"functionDeclarations": functions}]
        return f"/v1beta/models/{request.model}:generateContent", body

    def parse_chat(self, data: Any) -> ChatReply | None:
        """Return the message in the body of a response; None if there is none."""
        data = object_of(data)
        candidates, feedback = list_of(data.get("candidates")), object_of(data.get("promptFeedback"))
        if not candidates and not feedback.get("blockReason"):
            return None
        reader = ContentReader()
        reader.read(data)
        answer = reader.build_summary()
        content = object_of(object_of(next(iter(candidates), None)).get("content"))
        parts = [object_of(part) for part in list_of(content.get("parts"))]
        text = "".join(text_of(part.get("text")) for part in parts if not part.get("thought"))
        original = {**content, "role": "model", "parts": list(parts) or [{"text": NO_TEXT}]}
        stop: StopReason = "filtered" if feedback.get("blockReason") else _STOPS.get(answer.finish_reason, "")
        message = ModelMessage("assistant", text, original=original)
        return ChatReply(message, tuple(answer.tool_calls), stop, answer.tokens)

    def open_reader(self, operation: ModelOperation, *, is_stream: bool) -> AnswerReader:
        """Return a reader for the response."""
        return ContentReader()

    def render_error(self, status: int, code: str, message: str) -> bytes:
        """Return an error as Google's servers send it."""
        name = _STATUSES.get(status, "UNAVAILABLE" if status >= 500 else "INVALID_ARGUMENT")
        return orjson.dumps({"error": {"code": status, "message": message, "status": name}})


def _build_content(message: ModelMessage) -> Mapping[str, Any]:
    if message.role == "tools":
        answers = [
            {"name": result.name, "response": {"result": result.content}, **({"id": result.id} if result.id else {})}
            for result in message.results
        ]
        return {"role": "user", "parts": [{"functionResponse": answer} for answer in answers]}
    if message.original:
        return object_of(message.original)
    return {"role": "model" if message.role == "assistant" else "user", "parts": [{"text": message.text or NO_TEXT}]}


class ContentReader:
    """Reads generated content. Each event of a stream has the shape of a whole body, with the next parts."""

    def __init__(self) -> None:
        self.is_complete = False
        """Never set: the end of the body ends a stream."""
        self._answer = AnswerSummary()

    def read(self, data: Mapping[str, Any]) -> None:
        """Read the body, or the next event."""
        answer = self._answer
        answer.id = text_of(data.get("responseId")) or answer.id
        answer.model = text_of(data.get("modelVersion")) or answer.model
        answer.tokens = _parse_tokens(data.get("usageMetadata")) or answer.tokens
        blocked = text_of(object_of(data.get("promptFeedback")).get("blockReason"))
        answer.finish_reason = blocked or answer.finish_reason
        for candidate in map(object_of, list_of(data.get("candidates"))[:1]):
            answer.finish_reason = text_of(candidate.get("finishReason")) or answer.finish_reason
            for part in map(object_of, list_of(object_of(candidate.get("content")).get("parts"))):
                call = object_of(part.get("functionCall"))
                if call:
                    found = ModelToolCall(text_of(call.get("id")), text_of(call.get("name")), call.get("args") or {})
                    answer.tool_calls.append(found)

    def build_summary(self) -> AnswerSummary:
        """Return what was read so far."""
        return self._answer


def _parse_tokens(usage: Any) -> TokenCounts | None:
    """Return the tokens; those of thoughts are a part of the completion."""
    if not isinstance(usage, Mapping):
        return None
    completion = count_of(usage.get("candidatesTokenCount")) + count_of(usage.get("thoughtsTokenCount"))
    return TokenCounts(
        count_of(usage.get("promptTokenCount")), completion, count_of(usage.get("cachedContentTokenCount"))
    )
