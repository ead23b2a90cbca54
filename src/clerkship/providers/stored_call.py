"""The words in a stored model call: what the model answered, its system prompt, and what tools returned."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import orjson

from clerkship.providers.apis import APIS, find_api
from clerkship.providers.contract import ModelOperation, ModelToolResult, ProviderName, list_of, object_of, text_of
from clerkship.providers.server_sent_events import split_events

_SYSTEM_ROLES = ("system", "developer")


def read_answer_text(provider: str, response: str) -> str:
    """Return the text of an answer, whole or streamed, without the model's thoughts; empty if it cannot be read."""
    read = _ANSWERS[find_api(provider)]
    return "".join(read(data) for data in _parse_response(response))


def read_system_prompt(provider: str, request: str) -> str:
    """Return the system prompt of a request; empty if it has none, or if the stored request was cut."""
    try:
        body = orjson.loads(request)
    except orjson.JSONDecodeError:
        return ""
    return _PROMPTS[find_api(provider)](object_of(body))


def read_tool_results(provider: str, request: str) -> Sequence[ModelToolResult]:
    """Return the results of tools in a request, those of earlier calls too; none if it cannot be read."""
    try:
        body = orjson.loads(request)
    except orjson.JSONDecodeError:
        return ()
    return APIS[find_api(provider)].parse_request(ModelOperation("", ""), object_of(body)).results


def _parse_response(response: str) -> Iterator[Mapping[str, Any]]:
    """Yield the body, or the events of a stream."""
    try:
        yield object_of(orjson.loads(response))
    except orjson.JSONDecodeError:
        events = split_events(response.encode(errors="replace"))
        yield from (event.data for event in events if event.data is not None)


def _join_parts(content: Any) -> str:
    """Return a text, or the texts in a list of parts."""
    return text_of(content) or "".join(text_of(object_of(part).get("text")) for part in list_of(content))


def _read_openai(data: Mapping[str, Any]) -> str:
    if data.get("type") == "response.output_text.delta":
        return text_of(data.get("delta"))
    if data.get("object") == "response":
        return "".join(_join_parts(object_of(item).get("content")) for item in list_of(data.get("output")))
    choices = [each for each in map(object_of, list_of(data.get("choices"))) if not each.get("index")]
    return "".join(_join_parts(object_of(each.get("message") or each.get("delta")).get("content")) for each in choices)


def _read_anthropic(data: Mapping[str, Any]) -> str:
    if data.get("type") == "content_block_delta":
        return text_of(object_of(data.get("delta")).get("text"))
    return _join_parts(data.get("content")) if data.get("type") == "message" else ""


def _read_gemini(data: Mapping[str, Any]) -> str:
    candidate = object_of(next(iter(list_of(data.get("candidates"))), None))
    parts = map(object_of, list_of(object_of(candidate.get("content")).get("parts")))
    return "".join(text_of(part.get("text")) for part in parts if not part.get("thought"))


def _find_openai_prompt(body: Mapping[str, Any]) -> str:
    messages = map(object_of, (*list_of(body.get("messages")), *list_of(body.get("input"))))
    prompts = [_join_parts(message.get("content")) for message in messages if message.get("role") in _SYSTEM_ROLES]
    return "\n\n".join(filter(None, [text_of(body.get("instructions")), *prompts]))


def _find_anthropic_prompt(body: Mapping[str, Any]) -> str:
    return _join_parts(body.get("system"))


def _find_gemini_prompt(body: Mapping[str, Any]) -> str:
    return _join_parts(object_of(body.get("systemInstruction") or body.get("system_instruction")).get("parts"))


_Read = Callable[[Mapping[str, Any]], str]
_ANSWERS: Mapping[ProviderName, _Read] = {
    "openai": _read_openai,
    "anthropic": _read_anthropic,
    "gemini": _read_gemini,
}
_PROMPTS: Mapping[ProviderName, _Read] = {
    "openai": _find_openai_prompt,
    "anthropic": _find_anthropic_prompt,
    "gemini": _find_gemini_prompt,
}
