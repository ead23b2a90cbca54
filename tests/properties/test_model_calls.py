"""Whatever an agent or a provider sends, a model call is read and never breaks the proxy."""

from typing import Any

import orjson
from hypothesis import given, settings
from hypothesis import strategies as st

from clerkship.model_proxy.refusals import stream_response
from clerkship.model_proxy.truncation import cut_answer
from clerkship.providers.apis import APIS
from clerkship.recording.recorded_calls import hide_stream, split_request

FIELDS = [
    "arguments",
    "args",
    "call_id",
    "candidates",
    "choices",
    "completion_tokens",
    "content",
    "contents",
    "delta",
    "finishReason",
    "function",
    "functionCall",
    "functionDeclarations",
    "functionResponse",
    "generationConfig",
    "id",
    "index",
    "input",
    "item",
    "message",
    "messages",
    "metadata",
    "model",
    "name",
    "output",
    "parts",
    "prompt_tokens",
    "prompt_tokens_details",
    "response",
    "role",
    "status",
    "stop_reason",
    "text",
    "tool_calls",
    "tools",
    "type",
    "usage",
    "usageMetadata",
]
TEXTS = [
    "content_block_delta",
    "content_block_start",
    "function_call",
    "function_call_output",
    "message",
    "message_delta",
    "message_start",
    "response",
    "response.completed",
    "response.output_item.done",
    "text",
    "tool",
    "tool_result",
    "tool_use",
]
PATHS = {
    "openai": ("/v1/chat/completions", "/v1/responses", "/v1/embeddings"),
    "anthropic": ("/v1/messages",),
    "gemini": ("/v1beta/models/m:generateContent", "/v1beta/models/m:embedContent"),
}
LEAVES = st.none() | st.booleans() | st.integers(-1, 2**53) | st.floats(0, 9) | st.sampled_from(TEXTS)
VALUES = st.recursive(
    LEAVES,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(FIELDS), inner, max_size=5),
    max_leaves=20,
)
BODIES = st.dictionaries(st.sampled_from(FIELDS), VALUES, max_size=8)


@settings(max_examples=100, deadline=None)
@given(BODIES)
def test_any_object_is_read_as_request_and_response(body: dict[str, Any]) -> None:
    for name, paths in PATHS.items():
        api = APIS[name]
        api.parse_chat(body)
        for path in paths:
            operation = api.find_operation("POST", path)
            assert operation is not None
            api.parse_request(operation, body)
            reader = api.open_reader(operation, is_stream=True)
            reader.read(body)
            reader.build_summary()
            if operation.name != "embeddings":
                cut_answer(operation.name, [orjson.loads(orjson.dumps(body))], 3)
    stream_response({**body, "status": "completed"})


@settings(max_examples=50, deadline=None)
@given(BODIES)
def test_any_object_is_recorded(body: dict[str, Any]) -> None:
    parts = list(split_request(body, str))
    assert parts == list(split_request(dict(reversed(body.items())), str))
    event = f"data: {orjson.dumps(body).decode()}\n\n"
    assert "".join(hide_stream(event * 2, str)) == event * 2
