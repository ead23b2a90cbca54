"""What agents and providers should not send: bounded, an event each, and no secret in the log."""

import json
from base64 import b64encode
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import pytest

from clerkship.events.lifecycle import RequestRefused
from clerkship.events.sidecar import MAX_UNAUTHENTICATED
from clerkship.model_proxy.trial_calls import OpenCall, TrialCalls
from tests.model_proxy.desk import CHAT, ModelDesk
from tests.model_proxy.provider import KEY, ModelProvider, Raw
from tests.waiting import wait_until


@pytest.fixture
def desk() -> Iterator[ModelDesk]:
    with ModelProvider("42") as provider, ModelDesk(provider) as opened:
        yield opened


@pytest.mark.parametrize("token", ["", "wrong", "clk_mdl_" + "x" * 43])
def test_wrong_token_is_refused_and_logged(desk: ModelDesk, token: str) -> None:
    headers = {"x-api-key": token} if token else {}
    response = desk.post("/chat/completions", CHAT, "no", **headers)
    assert (response.status_code, response.json()["error"]["code"]) == (401, "invalid_api_key")
    assert response.headers["x-should-retry"] == "false"
    assert desk.provider.received == []
    assert desk.calls == []
    [event] = desk.events
    assert (event.source, event.actor, event.kind) == ("models", "run", "sandbox.refused")
    assert isinstance(event.payload, RequestRefused)
    assert (event.payload.operation, event.payload.status, event.payload.code) == ("chat", 401, "invalid_api_key")
    assert not token or token.encode() not in desk.playground.log.data()
    assert desk.playground.sidecar.unauthenticated.count == 0


def test_token_of_another_trial_is_logged_where_it_was_sent(desk: ModelDesk) -> None:
    playground = desk.open_playground()
    other = desk.proxy.open_trial(playground, desk.listener.url)["openai"]
    assert desk.post("/chat/completions", CHAT, other.api_key).status_code == 401
    address = f"/models/v1/{other.api_key}?key={other.api_key}"
    assert httpx.get(f"{desk.openai.base_url}{address}", trust_env=False).status_code == 401
    assert [event.kind for event in desk.events] == ["sandbox.refused"] * 2
    assert [event.payload.operation for event in desk.events if isinstance(event.payload, RequestRefused)] == [
        "chat",
        "unknown",
    ]
    assert other.api_key.encode() not in desk.playground.log.data()
    assert playground.log.events == []


def test_calls_without_the_token_are_logged_up_to_a_limit_and_then_counted(desk: ModelDesk) -> None:
    with httpx.Client(trust_env=False, headers={"authorization": "Bearer wrong"}) as client:
        for _ in range(MAX_UNAUTHENTICATED + 3):
            assert client.post(f"{desk.openai.base_url}/chat/completions", json=CHAT).status_code == 401
    assert len(desk.events) == MAX_UNAUTHENTICATED
    noted = desk.playground.sidecar.unauthenticated
    assert (noted.count, noted.requests[0]["path"]) == (3, "/openai/v1/chat/completions")
    assert "wrong" not in str(noted.requests)
    assert desk.post("/chat/completions", CHAT).status_code == 200


def test_token_is_not_valid_after_the_run(desk: ModelDesk) -> None:
    desk.proxy.end_trial(desk.playground)
    assert desk.post("/chat/completions", CHAT).status_code == 401
    assert desk.provider.received == []


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (b"", "is not JSON"),
        (b"[1]", "is not a JSON object"),
        (b'{"model": "\xff"}', "is not JSON"),
        (b'{"model": ' + b"[" * 500 + b"]" * 500 + b"}", "is nested too deeply"),
    ],
)
def test_body_that_cannot_be_read_is_refused_and_logged(desk: ModelDesk, body: bytes, reason: str) -> None:
    response = desk.post("/chat/completions", body or b" ")
    assert response.status_code == 400
    assert reason in response.json()["error"]["message"]
    [call] = desk.calls
    assert (call.status, reason in call.error) == (400, True)
    assert desk.provider.received == []


@pytest.mark.parametrize("path", ["/files", "/fine_tuning/jobs", "/../admin", "/chat/completions/x", "/audio/speech"])
def test_other_operations_are_not_passed_on(desk: ModelDesk, path: str) -> None:
    assert desk.post(path, {}).status_code == 404
    assert desk.provider.received == []
    assert desk.calls[0].status == 404


def test_websocket_is_refused(desk: ModelDesk) -> None:
    headers = {"authorization": f"Bearer {desk.openai.api_key}", "connection": "upgrade", "upgrade": "websocket"}
    headers |= {"sec-websocket-version": "13", "sec-websocket-key": "dGhlIHNhbXBsZSBub25jZQ=="}
    with httpx.Client(trust_env=False) as client:
        assert client.get(f"{desk.openai.base_url}/responses", headers=headers).status_code == 426


def test_body_of_50_megabytes_is_refused_and_logged(desk: ModelDesk) -> None:
    message = json.dumps({"model": "gpt-4o", "messages": [{"content": "x" * 50_000_000}]}).encode()
    try:
        status = desk.post("/chat/completions", message).status_code
    except httpx.TransportError:  # the server closes the connection while the client sends
        status = 413
    assert status == 413
    assert desk.provider.received == []
    wait_until(lambda: len(desk.calls) == 1)
    assert (desk.calls[0].status, desk.calls[0].request) == (413, "")


@pytest.mark.parametrize(
    ("name", "answer", "status", "error"),
    [
        ("html", Raw(200, b"<html>busy</html>", "text/html"), 200, "is not JSON"),
        ("html error", Raw(503, b"<html>busy</html>", "text/html"), 503, ""),
        ("rate limit", Raw(429, b'{"error": {"message": "slow down"}}', headers=(("retry-after", "7"),)), 429, ""),
        ("cut", Raw(200, b'{"choices"', promised=100), 502, "broke off"),
        ("odd", Raw(200, b'{"choices": 7, "usage": [], "model": {}, "id": null}'), 200, ""),
    ],
)
def test_odd_responses_are_passed_on_and_logged(
    desk: ModelDesk, name: str, answer: Raw, status: int, error: str
) -> None:
    desk.provider.answers = [answer]
    response = desk.post("/chat/completions", CHAT)
    assert response.status_code == status
    if status != 502:
        assert response.content == answer.body
    assert response.headers.get("retry-after", "7") == "7"
    [call] = desk.calls
    assert call.status == status
    assert error in call.error


def test_stream_that_ends_in_the_middle_ends_there_for_the_agent_too(desk: ModelDesk) -> None:
    part = b'data: {"choices": [{"delta": {"content": "4"}}]}\n\ndata: {"cho'
    desk.provider.answers = [Raw(200, part, "text/event-stream", promised=1000)]
    with desk.stream("/chat/completions", {**CHAT, "stream": True}) as response:
        parts = response.iter_bytes()
        assert next(parts).startswith(b'data: {"choices"')
        with pytest.raises(httpx.RemoteProtocolError):
            b"".join(parts)
    assert "broke off" in desk.calls[0].error
    assert desk.playground.broken is None


def test_call_that_the_provider_leaves_open_ends_with_the_run(desk: ModelDesk) -> None:
    desk.provider.answers = [Raw(200, b"{}", delay=30)]
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(desk.post, "/chat/completions", CHAT)
        wait_until(lambda: len(desk.provider.received) == 1)
        desk.proxy.end_trial(desk.playground)
        assert waiting.result(10).status_code == 502
    assert desk.calls[0].error == "the agent did not wait for the end of the response"


def test_call_that_begins_while_the_trial_ends_is_refused(desk: ModelDesk, monkeypatch: pytest.MonkeyPatch) -> None:
    begin = TrialCalls.begin

    def end_and_begin(*args: Any) -> OpenCall:
        desk.proxy.end_trial(desk.playground)
        return begin(*args)

    monkeypatch.setattr(TrialCalls, "begin", end_and_begin)
    assert desk.post("/chat/completions", CHAT).status_code == 401
    assert desk.provider.received == []


def test_unreachable_provider_is_a_502_that_says_so() -> None:
    with ModelProvider("42") as provider:
        desk = ModelDesk(provider)
    with desk:
        response = desk.post("/chat/completions", CHAT)
        assert response.status_code == 502
        assert "cannot be reached" in response.json()["error"]["message"]
        assert desk.calls[0].error


def test_thousand_tools_are_logged_by_name(desk: ModelDesk) -> None:
    tools = [{"type": "function", "function": {"name": f"tool_{n}", "parameters": {}}} for n in range(1500)]
    assert desk.post("/chat/completions", {**CHAT, "tools": [*tools, None, 3, {}]}).status_code == 200
    assert (len(desk.calls[0].tools), desk.calls[0].tools[999]) == (1000, "tool_999")


def test_key_in_a_body_is_not_logged(desk: ModelDesk) -> None:
    quoted = f"Use {KEY}, or {desk.openai.api_key}, or {b64encode(KEY.encode()).decode()}."
    desk.provider.answers = [quoted]
    assert desk.post("/chat/completions", {**CHAT, "messages": [{"role": "user", "content": quoted}]}).is_success
    assert desk.provider.received[0].data["messages"][0]["content"] == quoted
    log = desk.playground.log.data() + b"".join(desk.playground.log.blobs.values())
    assert b"_API_KEY}" in log
    for secret in (KEY, desk.openai.api_key, b64encode(KEY.encode()).decode()):
        assert secret.encode() not in log


def test_header_with_a_line_break_is_not_smuggled(desk: ModelDesk) -> None:
    desk.post("/chat/completions", CHAT, **{"openai-beta": "a, authorization: b"})
    assert desk.provider.received[0].headers["openai-beta"] == "a, authorization: b"
    assert "b" not in desk.provider.received[0].headers["authorization"].split()


@pytest.mark.parametrize("status", [400, 401, 404, 502])
def test_errors_have_the_form_of_each_provider(status: int) -> None:
    from clerkship.providers.apis import APIS  # noqa: PLC0415

    forms = {name: json.loads(api.render_error(status, "code", "why")) for name, api in APIS.items()}
    assert forms["openai"]["error"]["message"] == "why"
    assert forms["anthropic"]["type"] == "error"
    assert forms["gemini"]["error"]["code"] == status
