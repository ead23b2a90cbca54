"""What a span says by the conventions for generative AI, in old and new names, and by OpenInference."""

import re
from collections.abc import Mapping
from typing import Any, Literal, NamedTuple

import orjson

from clerkship.kit.depth import cut_at_depth

SpanOperation = Literal["chat", "embeddings", "execute_tool", "invoke_agent", "other"]
OWN_PREFIX = "clerkship."
"""Attributes with this prefix are logged with the span, without the prefix."""
_NAMES: Mapping[str, tuple[str, ...]] = {
    "operation": ("gen_ai.operation.name",),
    "kind": ("openinference.span.kind",),
    "model": ("gen_ai.response.model", "gen_ai.request.model", "llm.model_name", "embedding.model_name", "model"),
    "provider": ("gen_ai.provider.name", "gen_ai.system", "llm.provider", "llm.system"),
    "response_id": ("gen_ai.response.id",),
    "input_tokens": (
        *("gen_ai.usage.input_tokens", "gen_ai.usage.prompt_tokens", "llm.token_count.prompt", "input_tokens"),
    ),
    "output_tokens": (
        *("gen_ai.usage.output_tokens", "gen_ai.usage.completion_tokens"),
        *("llm.token_count.completion", "output_tokens"),
    ),
    "tool_name": ("gen_ai.tool.name", "tool.name", "tool_name"),
    "call_id": ("gen_ai.tool.call.id", "tool_call.id", "tool_use_id"),
    "arguments": ("gen_ai.tool.call.arguments", "input.value"),
    "result": ("gen_ai.tool.call.result", "output.value"),
    "error": ("error.type",),
}
"""The attributes of each fact, the first that is there first. Those without a dot are Claude Code's."""
_OPERATIONS: Mapping[str, SpanOperation] = {
    "chat": "chat",
    "text_completion": "chat",
    "generate_content": "chat",
    "embeddings": "embeddings",
    "execute_tool": "execute_tool",
    "invoke_agent": "invoke_agent",
}
_KINDS: Mapping[str, SpanOperation] = {
    "LLM": "chat",
    "EMBEDDING": "embeddings",
    "TOOL": "execute_tool",
    "AGENT": "invoke_agent",
}
_SPAN_NAMES: Mapping[str, SpanOperation] = {
    "claude_code.llm_request": "chat",
    "claude_code.tool": "execute_tool",
    "claude_code.interaction": "invoke_agent",
}
_CACHED_TOKENS = ("cache_read_tokens", "cache_creation_tokens")
"""Input tokens that Claude Code does not count as `input_tokens`."""
READ_ATTRIBUTES = frozenset((*(name for names in _NAMES.values() for name in names), *_CACHED_TOKENS))
"""Attributes that are read, besides those with OWN_PREFIX. All others are skipped."""
MAX_NAME = 200
"""Characters of a name of a model, provider, tool or span, and of an id."""
_RESPONSE_ID = re.compile(r'\{\s*"id"\s*:\s*"([^"\\]{1,200})"')
"""The id at the start of a response that was cut."""


class SpanFacts(NamedTuple):
    """What is known of a span. Texts are empty, and other facts None, where the span does not say."""

    operation: SpanOperation
    model: str = ""
    provider: str = ""
    response_id: str = ""
    input_tokens: int | None = None
    output_tokens: int | None = None
    tool_name: str = ""
    call_id: str = ""
    arguments: Mapping[str, Any] = {}
    result: Any = None
    error: str = ""
    own: Mapping[str, Any] = {}
    """The attributes with OWN_PREFIX."""


def read_facts(name: str, attributes: Mapping[str, Any]) -> SpanFacts:
    """Return what a span with this name and these attributes says."""
    values = {fact: _find(attributes, names) for fact, names in _NAMES.items()}
    operation = _find_operation(name, values)
    own = {key.removeprefix(OWN_PREFIX): value for key, value in attributes.items() if key.startswith(OWN_PREFIX)}
    error = _to_name(values["error"])
    if operation == "execute_tool":
        return SpanFacts(
            operation,
            tool_name=_to_name(values["tool_name"]) or _name_of_tool_span(name),
            call_id=_to_name(values["call_id"]),
            arguments=_to_arguments(values["arguments"]),
            result=_parse_json(values["result"]),
            error=error,
            own=own,
        )
    if operation == "other":
        return SpanFacts(operation, error=error, own=own)
    return SpanFacts(
        operation,
        model=_to_name(values["model"]),
        provider=_to_name(values["provider"]).lower(),
        response_id=_to_name(values["response_id"]) or _find_response_id(values["result"]),
        input_tokens=_add_cached(_to_count(values["input_tokens"]), attributes),
        output_tokens=_to_count(values["output_tokens"]),
        error=error,
        own=own,
    )


def _find(attributes: Mapping[str, Any], names: tuple[str, ...]) -> Any:
    return next((attributes[name] for name in names if name in attributes), None)


def _find_operation(name: str, values: Mapping[str, Any]) -> SpanOperation:
    if values["operation"] is not None:
        return _OPERATIONS.get(str(values["operation"]), "other")
    if values["kind"] is not None:
        return _KINDS.get(str(values["kind"]).upper(), "other")
    if name in _SPAN_NAMES:
        return _SPAN_NAMES[name]
    if name.startswith("claude_code."):
        return "other"
    if values["tool_name"] is not None:
        return "execute_tool"
    return "chat" if values["provider"] is not None and values["model"] is not None else "other"


def _name_of_tool_span(name: str) -> str:
    """Return the name of a tool from that of its span, `execute_tool NAME`."""
    return name.removeprefix("execute_tool ")[:MAX_NAME]


def _to_name(value: Any) -> str:
    return "" if value is None else str(value)[:MAX_NAME]


def _to_count(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**53 else None


def _add_cached(tokens: int | None, attributes: Mapping[str, Any]) -> int | None:
    if tokens is None:
        return None
    return tokens + sum(_to_count(attributes.get(name)) or 0 for name in _CACHED_TOKENS)


def _to_arguments(value: Any) -> Mapping[str, Any]:
    """Return the arguments of a tool as an object; anything else is its argument `input`."""
    parsed = _parse_json(value)
    if isinstance(parsed, dict):
        return parsed
    return {} if parsed is None or parsed == "" else {"input": parsed}


def _parse_json(value: Any) -> Any:
    """Return the value that a text has in JSON; the text itself if it is not JSON."""
    if isinstance(value, str) and value[:1] in ("{", "[", '"'):
        try:
            return cut_at_depth(orjson.loads(value))
        except orjson.JSONDecodeError:
            return value
    return value


def _find_response_id(output: Any) -> str:
    """Return the id of a response, which is not the first key of one that was streamed; one that was cut is no JSON."""
    parsed = _parse_json(output)
    if isinstance(parsed, dict):
        return _to_name(parsed.get("id"))
    found = _RESPONSE_ID.match(output) if isinstance(output, str) else None
    return found[1] if found is not None else ""
