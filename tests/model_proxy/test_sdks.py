"""The official Python clients of the providers call models through the proxy, streaming and not, with tools."""

import json
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from typing import Any

import pytest

from tests.imports import anthropic, genai, openai
from tests.model_proxy.desk import ModelDesk
from tests.model_proxy.provider import Call, ModelProvider

SUM = Call("add", {"a": 6, "b": 7})
SCHEMA = {"type": "object", "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}}}
CloseLater = Callable[[Any], Any]
QUESTION = [{"role": "user", "content": "six plus seven?"}]


@pytest.fixture
def desk() -> Iterator[ModelDesk]:
    with ModelProvider(SUM, "It is 13.") as provider, ModelDesk(provider) as opened:
        yield opened


@pytest.fixture
def closed_later() -> Iterator[CloseLater]:
    """Close clients at the end of the test."""
    with ExitStack() as stack:
        yield lambda client: stack.enter_context(closing(client))


def check_log(desk: ModelDesk, operation: str) -> None:
    """Check the events of a question, a tool call and the answer."""
    kinds = [event.kind for event in desk.events]
    assert kinds == ["agent.model.called", "agent.tool.executed", "agent.model.called"]
    first, second = desk.calls
    assert (first.operation, first.status, first.tools) == (operation, 200, ("add",))
    assert [(call.name, call.arguments) for call in first.tool_calls] == [("add", {"a": 6, "b": 7})]
    assert second.tool_calls == ()
    assert second.finish_reason in ("stop", "completed", "end_turn", "STOP")
    assert [(usage["prompt_tokens"], usage["completion_tokens"]) for usage in desk.usage] == [(100, 10)] * 2
    assert all(usage["cost"] > 0 for usage in desk.usage)


@pytest.mark.parametrize("stream", [False, True])
def test_openai_chat(desk: ModelDesk, closed_later: CloseLater, stream: bool) -> None:
    client = closed_later(openai.OpenAI(base_url=desk.openai.base_url, api_key=desk.openai.api_key))
    tools = [{"type": "function", "function": {"name": "add", "parameters": SCHEMA}}]
    messages: list[object] = list(QUESTION)
    asked = {"model": "gpt-4o", "messages": messages, "tools": tools}
    if stream:
        with client.chat.completions.stream(**asked) as events:
            message = events.get_final_completion().choices[0].message
    else:
        message = client.chat.completions.create(**asked).choices[0].message
    [call] = message.tool_calls
    assert json.loads(call.function.arguments) == {"a": 6, "b": 7}
    messages += [
        message.model_dump(exclude_none=True, exclude={"parsed"}),
        {"role": "tool", "tool_call_id": call.id, "content": "13"},
    ]
    if stream:
        chunks = client.chat.completions.create(**asked, stream=True)
        text = "".join(chunk.choices[0].delta.content or "" for chunk in chunks)  # each chunk has a choice
    else:
        text = client.chat.completions.create(**asked).choices[0].message.content
    assert text == "It is 13."
    check_log(desk, "chat")


@pytest.mark.parametrize("stream", [False, True])
def test_openai_responses(desk: ModelDesk, closed_later: CloseLater, stream: bool) -> None:
    client = closed_later(openai.OpenAI(base_url=desk.openai.base_url, api_key=desk.openai.api_key))
    tools = [{"type": "function", "name": "add", "parameters": SCHEMA, "strict": False}]

    def ask(items: object) -> object:
        asked = {"model": "gpt-4o", "input": items, "tools": tools}
        if not stream:
            return client.responses.create(**asked)
        with client.responses.stream(**asked) as events:
            return events.get_final_response()

    response = ask(QUESTION)
    [call] = response.output  # type: ignore[attr-defined]
    assert json.loads(call.arguments) == {"a": 6, "b": 7}
    result = {"type": "function_call_output", "call_id": call.call_id, "output": "13"}
    items = [*QUESTION, {"type": "function_call", "call_id": call.call_id, "name": "add", "arguments": call.arguments}]
    assert ask([*items, result]).output_text == "It is 13."  # type: ignore[attr-defined]
    check_log(desk, "responses")


def test_openai_embeddings_and_models(desk: ModelDesk, closed_later: CloseLater) -> None:
    client = closed_later(openai.OpenAI(base_url=desk.openai.base_url, api_key=desk.openai.api_key))
    vector = client.embeddings.create(model="text-embedding-3-small", input="x", encoding_format="float")
    assert vector.data[0].embedding == [0.5, 0.25]
    assert [model.id for model in client.models.list()] == ["gpt-4o-2024-08-06"]
    assert [call.operation for call in desk.calls] == ["embeddings", "models"]
    assert desk.usage[0]["cost"] == pytest.approx(3 * 0.02 / 1_000_000)


@pytest.mark.parametrize("stream", [False, True])
def test_anthropic_messages(desk: ModelDesk, closed_later: CloseLater, stream: bool) -> None:
    client = closed_later(anthropic.Anthropic(base_url=desk.anthropic.base_url, api_key=desk.anthropic.api_key))
    messages: list[object] = list(QUESTION)
    asked = {"model": "claude-sonnet-4-6", "max_tokens": 100, "messages": messages}
    asked["tools"] = [{"name": "add", "input_schema": SCHEMA}]

    def ask() -> object:
        if not stream:
            return client.messages.create(**asked)
        with client.messages.stream(**asked) as events:
            return events.get_final_message()

    message = ask()
    [block] = message.content  # type: ignore[attr-defined]
    assert (block.name, block.input) == ("add", {"a": 6, "b": 7})
    result = {"type": "tool_result", "tool_use_id": block.id, "content": [{"type": "text", "text": "13"}]}
    messages += [{"role": "assistant", "content": message.content}, {"role": "user", "content": [result]}]  # type: ignore[attr-defined]
    assert ask().content[0].text == "It is 13."  # type: ignore[attr-defined]
    check_log(desk, "messages")
    assert desk.provider.received[0].headers["authorization"] == "Bearer sk-provider-key-of-the-test"
    assert desk.provider.received[0].path == "/v1/messages"


@pytest.mark.parametrize("stream", [False, True])
def test_gemini(desk: ModelDesk, closed_later: CloseLater, stream: bool) -> None:
    options = genai.types.HttpOptions(base_url=desk.gemini.base_url)
    client = closed_later(genai.Client(api_key=desk.gemini.api_key, http_options=options))
    types = genai.types
    declaration = types.FunctionDeclaration(name="add", parameters_json_schema=SCHEMA)
    config = types.GenerateContentConfig(tools=[types.Tool(function_declarations=[declaration])], temperature=0)
    contents = [types.Content(role="user", parts=[types.Part(text="six plus seven?")])]

    def ask() -> list[object]:
        asked = {"model": "gemini-2.5-flash", "contents": contents, "config": config}
        if not stream:
            return list(client.models.generate_content(**asked).candidates[0].content.parts)
        chunks = client.models.generate_content_stream(**asked)
        return [part for chunk in chunks for part in chunk.candidates[0].content.parts]

    [part] = ask()
    assert (part.function_call.name, part.function_call.args) == ("add", {"a": 6, "b": 7})  # type: ignore[attr-defined]
    contents += [
        types.Content(role="model", parts=[part]),
        types.Content(role="user", parts=[types.Part.from_function_response(name="add", response={"result": 13})]),
    ]
    assert "".join(part.text for part in ask()) == "It is 13."  # type: ignore[attr-defined]
    check_log(desk, "generate")
    assert desk.provider.received[0].headers["x-goog-api-key"] == "sk-provider-key-of-the-test"


def test_clients_report_a_refused_token_at_once(desk: ModelDesk, closed_later: CloseLater) -> None:
    client = closed_later(openai.OpenAI(base_url=desk.openai.base_url, api_key="wrong"))
    with pytest.raises(openai.AuthenticationError, match="not the model token of this run"):
        client.chat.completions.create(model="gpt-4o", messages=QUESTION)
    other = closed_later(anthropic.Anthropic(base_url=desk.anthropic.base_url, api_key="wrong"))
    with pytest.raises(anthropic.AuthenticationError, match="not the model token of this run"):
        other.messages.create(model="claude-sonnet-4-6", max_tokens=1, messages=QUESTION)
