"""Requests and responses pass through the proxy unchanged, and each call is logged with its tokens and cost."""

import json
from collections.abc import Iterator

import pytest

from clerkship.events.agent import ToolExecuted
from clerkship.sandbox.request import Request
from tests.model_proxy.desk import CHAT, ModelDesk
from tests.model_proxy.provider import KEY, Call, ModelProvider, Raw
from tests.waiting import wait_until, wait_until_stable

SUM = Call("add", {"a": 6, "b": 7})


@pytest.fixture
def provider() -> Iterator[ModelProvider]:
    with ModelProvider("42") as started:
        yield started


@pytest.fixture
def desk(provider: ModelProvider) -> Iterator[ModelDesk]:
    with ModelDesk(provider) as opened:
        yield opened


def test_bytes_of_request_and_response_are_unchanged(desk: ModelDesk) -> None:
    body = b'{ "model":"gpt-4o",  "messages": [], "temperature": 0.50, "seed":1 }'
    response = desk.post("/chat/completions", body, **{"content-type": "application/json"})
    [received] = desk.provider.received
    assert (received.path, received.body) == ("/v1/chat/completions", body)
    assert json.loads(response.content)["choices"][0]["message"]["content"] == "42"
    assert response.headers["x-request-id"] == "req_0"
    [call] = desk.calls
    assert (call.provider, call.operation, call.model, call.status) == ("openai", "chat", "gpt-4o-2024-08-06", 200)
    assert call.parameters == {"temperature": 0.5, "seed": 1}
    assert (call.finish_reason, call.request, json.loads(call.response)["id"]) == ("stop", body.decode(), "chatcmpl-0")


def test_provider_gets_the_key_and_the_agent_does_not(desk: ModelDesk) -> None:
    desk.provider.answers = [Raw(401, json.dumps({"error": {"message": f"wrong key {KEY}"}}).encode())]
    headers = {"x-api-key": "mine", "cookie": "a=b", "x-forwarded-for": "1.2.3.4", "openai-beta": "x"}
    response = desk.post("/chat/completions", CHAT, **headers)
    received = desk.provider.received[0].headers
    assert received["authorization"] == f"Bearer {KEY}"
    assert received["openai-beta"] == "x"
    assert received.keys().isdisjoint({"x-api-key", "cookie", "x-forwarded-for"})
    assert KEY not in response.text
    assert response.status_code == 401
    log = desk.playground.log.data() + b"".join(desk.playground.log.blobs.values())
    assert KEY.encode() not in log
    assert desk.openai.api_key.encode() not in log


def test_tokens_and_cost_are_in_the_sidecar(desk: ModelDesk) -> None:
    desk.post("/chat/completions", CHAT)
    [usage] = desk.usage
    seq = next(event.seq for event in desk.events if event.kind == "agent.model.called")
    cost = (60 * 2.5 + 40 * 1.25 + 10 * 10) / 1_000_000
    expected = {"seq": seq, "prompt_tokens": 100, "completion_tokens": 10, "cached_tokens": 40, "cost": cost}
    assert {name: usage[name] for name in expected} == pytest.approx(expected)
    assert usage["wall_ms"] >= usage["first_part_ms"] > 0
    desk.proxy.end_trial(desk.playground)
    total = {"calls": 1, "prompt_tokens": 100, "completion_tokens": 10, "cost": cost}
    assert desk.playground.sidecar.facts["model_usage"] == pytest.approx(total)


def test_unknown_model_has_tokens_and_no_cost(desk: ModelDesk) -> None:
    answer = {"model": "house-model", "choices": [], "usage": {"prompt_tokens": 5, "completion_tokens": 2}}
    desk.provider.answers = [Raw(200, json.dumps(answer).encode())]
    desk.post("/chat/completions", {**CHAT, "model": "house-model"})
    assert (desk.usage[0]["prompt_tokens"], desk.usage[0]["cost"]) == (5, None)
    desk.proxy.end_trial(desk.playground)
    assert desk.playground.sidecar.facts["model_usage"]["cost"] is None


def test_stream_is_passed_on_and_counts_tokens_that_the_client_did_not_ask_for(desk: ModelDesk) -> None:
    with desk.stream("/chat/completions", {**CHAT, "stream": True}) as response:
        text = response.read().decode()
    assert response.headers["content-type"] == "text/event-stream"
    assert "usage" not in text
    assert text.endswith("data: [DONE]\n\n")
    assert desk.provider.received[0].data["stream_options"] == {"include_usage": True}
    [call] = desk.calls
    assert (call.finish_reason, desk.usage[0]["prompt_tokens"]) == ("stop", 100)


def test_stream_with_token_counts_keeps_them_if_the_client_asks(desk: ModelDesk) -> None:
    asked = {**CHAT, "stream": True, "stream_options": {"include_usage": True}}
    with desk.stream("/chat/completions", asked) as response:
        assert '"usage"' in response.read().decode()
    assert desk.provider.received[0].data == asked


def test_provider_without_stream_options_is_asked_again_without_them() -> None:
    with ModelProvider("42", knows_stream_options=False) as provider, ModelDesk(provider) as desk:
        with desk.stream("/chat/completions", {**CHAT, "stream": True}) as response:
            assert response.read().decode().count("data:") > 2
        assert desk.provider.received[0].data == {**CHAT, "stream": True}
        assert len(desk.calls) == 1


def test_call_is_logged_before_the_client_gets_the_last_event(desk: ModelDesk) -> None:
    with desk.stream("/chat/completions", {**CHAT, "stream": True}) as response:
        for line in response.iter_lines():
            if line == "data: [DONE]":
                assert len(desk.calls) == 1


def test_tool_is_logged_when_its_result_comes_with_the_next_request(desk: ModelDesk) -> None:
    desk.provider.answers = [SUM, "13"]
    first = desk.post("/chat/completions", CHAT).json()["choices"][0]["message"]
    result = {"role": "tool", "tool_call_id": "call_0", "content": [{"type": "text", "text": "13"}]}
    messages = [*CHAT["messages"], first, result]
    desk.post("/chat/completions", {**CHAT, "messages": messages})
    desk.post("/chat/completions", {**CHAT, "messages": messages})  # as each later request repeats it
    executed = [event for event in desk.events if isinstance(event.payload, ToolExecuted)]
    [event] = executed
    assert event.payload == ToolExecuted(tool_name="add", arguments={"a": 6, "b": 7}, result="13")
    assert (event.source, event.actor, event.cause) == ("agent", "agent", 1)
    assert desk.calls[0].tool_calls[0].model_dump() == {"id": "call_0", "name": "add", "arguments": {"a": 6, "b": 7}}


def test_tools_are_not_logged_twice_if_the_agent_reports_them(desk: ModelDesk) -> None:
    desk.provider.answers = [SUM, "13"]
    with desk.playground.lock:
        desk.playground.emit("agent", ToolExecuted(tool_name="other"), "agent")
    desk.post("/chat/completions", CHAT)
    result = {"role": "tool", "tool_call_id": "call_0", "content": "13"}
    desk.post("/chat/completions", {**CHAT, "messages": [result]})
    assert [e.payload.tool_name for e in desk.events if isinstance(e.payload, ToolExecuted)] == ["other"]


@pytest.mark.parametrize(
    "path",
    ["/openai/chat/completions", "/openai/v1/chat/completions", "/openai/v1/v1/chat/completions"],
)
def test_path_may_lack_the_version_or_have_it_twice(desk: ModelDesk, path: str) -> None:
    base = desk.openai.base_url.removesuffix("/openai/v1")
    assert desk.post(f"{base}{path}", CHAT).status_code == 200
    assert desk.provider.received[0].path == "/v1/chat/completions"


@pytest.mark.parametrize("header", ["x-api-key", "x-goog-api-key"])
def test_token_is_taken_from_the_header_of_each_provider(desk: ModelDesk, header: str) -> None:
    assert desk.post("/chat/completions", CHAT, "", **{header: desk.openai.api_key}).status_code == 200


def test_key_in_the_query_is_not_passed_on(desk: ModelDesk) -> None:
    path = f"{desk.gemini.base_url}/v1beta/models/gemini-2.5-flash:generateContent?key={desk.gemini.api_key}&alt=json"
    assert desk.post(path, {"contents": []}, "").status_code == 200
    assert desk.provider.received[0].path == "/v1beta/models/gemini-2.5-flash:generateContent?alt=json"


def test_agent_that_stops_reading_is_logged(desk: ModelDesk) -> None:
    events = b"".join(b'data: {"choices": [{"delta": {"content": "x"}}]}\n\n' for _ in range(3))
    desk.provider.answers = [Raw(200, events, "text/event-stream", promised=10_000_000, stall=30)]
    with desk.stream("/chat/completions", {**CHAT, "stream": True}) as response:
        next(response.iter_lines())
    desk.proxy.end_trial(desk.playground)
    wait_until(lambda: bool(desk.calls))
    assert desk.calls[0].error
    assert '"content": "x"' in desk.calls[0].response


def test_stream_is_read_no_faster_than_the_agent_reads_and_ends_with_its_connection(desk: ModelDesk) -> None:
    event = b'data: {"choices": [{"delta": {"content": "%b"}}]}\n\n' % (b"x" * 4000)
    desk.provider.answers = [Raw(200, event * 5000, "text/event-stream")]
    with desk.stream("/chat/completions", {**CHAT, "stream": True}) as response:
        lines = response.iter_lines()  # httpx closes the response with it
        next(lines)
        [trial] = desk.proxy._trials.values()
        [call] = trial._open
        assert len(event) <= wait_until_stable(lambda: len(call.response)) < 4500 * len(event)
    wait_until(lambda: bool(desk.calls))
    assert desk.calls[0].error == "the agent did not read the response to its end"


def test_connections_to_the_provider_are_used_again(desk: ModelDesk) -> None:
    for _ in range(3):
        assert desk.post("/chat/completions", CHAT).status_code == 200
    assert len(desk.provider.received) == 3
    [host] = [host for host in desk.proxy._hosts.values() if host.account.name == "openai"]
    assert len(host._idle) == 1


def test_agent_that_leaves_before_the_first_part_of_a_stream_is_logged(desk: ModelDesk) -> None:
    name = desk.openai.base_url.split("/")[-3]
    body = json.dumps({**CHAT, "stream": True}).encode()
    headers = {"x-api-key": desk.openai.api_key}
    reply = desk.proxy.answer(name, Request("POST", "/openai/v1/chat/completions", {}, headers, body))
    assert reply.status == 200
    del reply  # as the server does
    assert desk.calls[0].error == "the agent did not read the response to its end"
