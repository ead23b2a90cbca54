"""Google's Gemini API: generateContent, embeddings and token counts."""

import re
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any, ClassVar

import orjson

from clerkship.providers.contract import (
    AnswerReader,
    AnswerSummary,
    ModelOperation,
    ModelToolCall,
    ModelToolResult,
    ProviderName,
    RequestSummary,
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
    503: "UNAVAILABLE",
    504: "DEADLINE_EXCEEDED",
}


class GeminiWire:
    """The Gemini API of Google AI."""

    name: ClassVar[ProviderName] = "gemini"

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

    def open_reader(self, operation: ModelOperation, *, is_stream: bool) -> AnswerReader:
        """Return a reader for the response."""
        return ContentReader()

    def render_error(self, status: int, code: str, message: str) -> bytes:
        """Return an error as Google's servers send it."""
        name = _STATUSES.get(status, HTTPStatus(status).name)
        return orjson.dumps({"error": {"code": status, "message": message, "status": name}})


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
