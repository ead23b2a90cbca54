"""Requests that we build fit the types of the providers' own libraries."""

from functools import cache
from typing import Any, get_args

import pytest
from pydantic import BaseModel, ConfigDict, TypeAdapter, create_model

from clerkship.actors.toolbox import FINISH_TOOL, WAIT_TOOL
from clerkship.llm.contract import Question
from clerkship.model.frozen import Flag
from clerkship.providers.apis import APIS
from clerkship.providers.contract import (
    AnswerForm,
    ChatRequest,
    ModelMessage,
    ModelToolResult,
    ProviderName,
)
from tests.imports import anthropic, genai, openai


class Verdict(BaseModel):
    """The shape of an answer."""

    reasoning: str
    passed: Flag


@cache
def get_body_type(provider: str) -> Any:
    """Return the type of the body of a request, from the provider's library."""
    if provider == "openai":
        return openai.types.chat.completion_create_params.CompletionCreateParamsNonStreaming
    if provider == "anthropic":
        return anthropic.types.message_create_params.MessageCreateParamsNonStreaming
    types = genai.types
    fields: dict[str, Any] = {
        "contents": (list.__class_getitem__(types.Content), ...),
        "systemInstruction": (types.Content, ...),
        "tools": (list.__class_getitem__(types.Tool), []),
        "generationConfig": (types.GenerationConfig, ...),
    }
    return create_model("GeminiBody", __config__=ConfigDict(extra="forbid"), **fields)


CALL = {"id": "1", "type": "function", "function": {"name": "wait", "arguments": "{}"}}
ANSWERS: dict[ProviderName, Any] = {
    "openai": {
        "choices": [
            {
                "message": {
                    "tool_calls": [{"id": "1", "type": "function", "function": {"name": "wait", "arguments": "{}"}}]
                }
            }
        ]
    },
    "anthropic": {
        "content": [
            {"type": "thinking", "thinking": "Hm.", "signature": "c2ln"},
            {"type": "tool_use", "id": "1", "name": "wait", "input": {}},
        ],
        "usage": {"input_tokens": 1, "output_tokens": 1},
    },
    "gemini": {
        "candidates": [
            {"content": {"role": "model", "parts": [{"functionCall": {"name": "wait"}, "thoughtSignature": "c2ln"}]}}
        ]
    },
}
NAMES: tuple[ProviderName, ...] = get_args(ProviderName)


@cache
def adapt(provider: str) -> TypeAdapter[Any]:
    """Return the validator of a body; to build it takes a second."""
    return TypeAdapter(get_body_type(provider))


def check(provider: ProviderName, request: ChatRequest) -> dict[str, Any]:
    """Build a body, and check that the library of the provider knows all of it."""
    _, body = APIS[provider].build_chat(request)
    if provider == "gemini":
        get_body_type(provider).model_validate(body)
    else:
        adapt(provider).validate_python({**body, "max_tokens": 10})
        known = get_body_type(provider)
        assert body.keys() <= known.__required_keys__ | known.__optional_keys__
    return body


@pytest.mark.parametrize("provider", NAMES)
@pytest.mark.parametrize("form", ["schema", "tool", "object", "words"])
def test_question_fits(provider: ProviderName, form: AnswerForm) -> None:
    messages = [ModelMessage("system", "Be strict."), ModelMessage("assistant", "Hello"), ModelMessage("user", "Well?")]
    schema = Question("", Verdict).schema
    check(provider, ChatRequest("m", messages, form=form, schema=schema, schema_name="Verdict"))


@pytest.mark.parametrize("provider", NAMES)
def test_conversation_with_tools_fits(provider: ProviderName) -> None:
    reply = APIS[provider].parse_chat(ANSWERS[provider])
    assert reply is not None
    [call] = reply.calls
    results = (ModelToolResult(call.id, call.name, "error: no", is_error=True),)
    messages = [
        ModelMessage("system", "Work."),
        ModelMessage("user", "Go"),
        reply.message,
        ModelMessage("tools", results=results),
        ModelMessage("assistant"),
        ModelMessage("user", "And?"),
    ]
    body = check(provider, ChatRequest("m", messages, [FINISH_TOOL, WAIT_TOOL]))
    assert len(body["contents" if provider == "gemini" else "messages"]) == 6 - (provider != "openai")
