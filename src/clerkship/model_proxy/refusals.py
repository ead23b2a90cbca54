"""What a model answers that refuses, as a body or as the events of a stream. It has used no tokens."""

from collections.abc import Callable, Mapping
from typing import Any

from clerkship.providers.contract import list_of, object_of

ID = "injected"
"""The end of the ids in such an answer."""


def build_refusal(operation: str, model: str, text: str, *, is_stream: bool) -> list[Mapping[str, Any]]:
    """Return the events of the refusal, or its body alone."""
    return _BUILDERS[operation](model, text, is_stream)


def _build_chat(model: str, text: str, is_stream: bool) -> list[Mapping[str, Any]]:
    head = {"id": f"chatcmpl-{ID}", "created": 0, "model": model}
    usage = {"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0}
    if not is_stream:
        message = {"role": "assistant", "content": None, "refusal": text}
        choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": "stop"}
        return [{**head, "object": "chat.completion", "choices": [choice], "usage": usage}]
    head["object"] = "chat.completion.chunk"
    begun: dict[str, Any] = {"role": "assistant", "content": None, "refusal": ""}
    deltas: list[tuple[dict[str, Any], str | None]] = [(begun, None), ({"refusal": text}, None), ({}, "stop")]
    chunks = [
        {**head, "choices": [{"index": 0, "delta": delta, "logprobs": None, "finish_reason": reason}]}
        for delta, reason in deltas
    ]
    return [*chunks, {**head, "choices": [], "usage": usage}, {"done": True}]


def _build_response(model: str, text: str, is_stream: bool) -> list[Mapping[str, Any]]:
    part = {"type": "refusal", "refusal": text}
    item = {"id": f"msg_{ID}", "type": "message", "role": "assistant", "status": "completed", "content": [part]}
    details = {"input_tokens_details": {"cached_tokens": 0}, "output_tokens_details": {"reasoning_tokens": 0}}
    usage = {"input_tokens": 0, "output_tokens": 0, "total_tokens": 0, **details}
    head = {"id": f"resp_{ID}", "object": "response", "created_at": 0, "status": "completed", "model": model}
    choices = {"parallel_tool_calls": True, "tool_choice": "auto", "tools": []}
    response = {**head, **choices, "output": [item], "usage": usage}
    return stream_response(response) if is_stream else [response]


def stream_response(response: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return the events with which OpenAI streams a response, each text in one piece."""
    events: list[dict[str, Any]] = []
    begun = {**response, "status": "in_progress", "output": [], "usage": None}
    events += [{"type": f"response.{kind}", "response": begun} for kind in ("created", "in_progress")]
    for number, item in enumerate(map(object_of, list_of(response.get("output")))):
        place = {"item_id": item.get("id"), "output_index": number}
        parts = [*map(object_of, list_of(item.get("content")))] if item.get("type") == "message" else []
        started = {**item, "status": "in_progress"} | ({"content": []} if parts else {})
        events.append({"type": "response.output_item.added", "output_index": number, "item": started})
        for content, part in enumerate(parts):
            kind, field = ("refusal", "refusal") if part.get("type") == "refusal" else ("output_text", "text")
            at, text = {**place, "content_index": content}, part.get(field)
            events += [
                {"type": "response.content_part.added", **at, "part": {**part, field: ""}},
                {"type": f"response.{kind}.delta", **at, "delta": text},
                {"type": f"response.{kind}.done", **at, field: text},
                {"type": "response.content_part.done", **at, "part": part},
            ]
        if item.get("type") == "function_call":
            arguments = item.get("arguments")
            events += [
                {"type": "response.function_call_arguments.delta", **place, "delta": arguments},
                {"type": "response.function_call_arguments.done", **place, "arguments": arguments},
            ]
        events.append({"type": "response.output_item.done", "output_index": number, "item": item})
    events.append({"type": f"response.{response['status']}", "response": response})
    return [{**event, "sequence_number": number} for number, event in enumerate(events)]


def _build_message(model: str, text: str, is_stream: bool) -> list[Mapping[str, Any]]:
    message = {"id": f"msg_{ID}", "type": "message", "role": "assistant", "model": model, "content": []}
    stop = {"stop_reason": "refusal", "stop_sequence": None}
    usage = {"input_tokens": 0, "output_tokens": 0}
    if not is_stream:
        return [{**message, **stop, "usage": usage}]
    started = {**message, "stop_reason": None, "stop_sequence": None, "usage": usage}
    changed = {"type": "message_delta", "delta": stop, "usage": {"output_tokens": 0}}
    return [{"type": "message_start", "message": started}, changed, {"type": "message_stop"}]


def _build_content(model: str, text: str, is_stream: bool) -> list[Mapping[str, Any]]:
    usage = {"promptTokenCount": 0, "totalTokenCount": 0}
    candidate = {"finishReason": "SAFETY", "index": 0}
    return [{"candidates": [candidate], "usageMetadata": usage, "modelVersion": model, "responseId": ID}]


_BUILDERS: Mapping[str, Callable[[str, str, bool], list[Mapping[str, Any]]]] = {
    "chat": _build_chat,
    "responses": _build_response,
    "messages": _build_message,
    "generate": _build_content,
}
"""By operation."""
