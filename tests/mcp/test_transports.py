"""The two transports of MCP: HTTP and standard input and output."""

import io
from collections.abc import Mapping

import orjson
import pytest

from clerkship.mcp import stdio
from clerkship.mcp.http import answer_request, check_sender, refuse
from clerkship.mcp.server import McpAnswer, answer_message
from clerkship.sandbox.request import Refusal, Request
from tests.mcp.tool_servers import GreetingServer, headers_for, request, stateless

POST = {"content-type": "application/json; charset=utf-8"}


def answer(data: bytes, headers: Mapping[str, str]) -> McpAnswer:
    """Answer as the small server does."""
    return answer_message(GreetingServer(), data, headers)


def test_post_is_answered_with_json() -> None:
    reply = answer_request(Request("POST", "/", headers=POST, body=request("ping")), answer)
    assert (reply.status, reply.media, orjson.loads(reply.body)["result"]) == (200, "application/json", {})


def test_post_of_a_stateless_client_is_checked_against_its_headers() -> None:
    headers = POST | headers_for("tools/list")
    replies = [
        answer_request(Request("POST", "/", headers=headers, body=stateless(method)), answer)
        for method in ("tools/list", "resources/list")
    ]
    assert [reply.status for reply in replies] == [200, 400]


@pytest.mark.parametrize("method", ["GET", "DELETE", "PUT", "HEAD"])
def test_other_methods_are_refused_with_the_one_that_is_allowed(method: str) -> None:
    reply = answer_request(Request(method, "/", headers=POST), answer)
    assert (reply.status, reply.headers["Allow"]) == (405, "POST")
    assert orjson.loads(reply.body)["error"]["code"] == -32600


def test_other_content_is_refused() -> None:
    assert answer_request(Request("POST", "/", headers={"content-type": "text/xml"}), answer).status == 415


@pytest.mark.parametrize(
    "headers",
    [
        {"host": "localhost:8080"},
        {"host": "127.0.0.1"},
        {"host": "[::1]:8080"},
        {"host": "LOCALHOST:1", "origin": "http://localhost:3000"},
    ],
)
def test_requests_to_this_machine_pass(headers: dict[str, str]) -> None:
    check_sender(headers)


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"host": "evil.example"},
        {"host": "localhost.evil.example"},
        {"host": "[::1"},
        {"host": "localhost", "origin": "http://evil.example"},
        {"host": "localhost", "origin": "null"},
    ],
)
def test_foreign_hosts_and_pages_are_refused(headers: dict[str, str]) -> None:
    with pytest.raises(Refusal) as refused:
        check_sender(headers)
    assert refuse(refused.value).status == 403


def test_with_any_host_only_pages_of_the_same_host_pass() -> None:
    check_sender({"host": "lab.example:8080", "origin": "https://lab.example"}, None)
    with pytest.raises(Refusal):
        check_sender({"host": "lab.example:8080", "origin": "https://evil.example"}, None)


def test_lines_are_answered_in_order_and_notifications_not_at_all() -> None:
    notification = orjson.dumps({"jsonrpc": "2.0", "method": "notifications/initialized"})
    lines = [request("ping", id=1), b"", notification, b"{", stateless("tools/list")]
    target = io.BytesIO()
    stdio.serve_lines(io.BytesIO(b"\n".join(lines)), target, lambda line: answer_message(GreetingServer(), line).body)
    answers = [orjson.loads(line) for line in target.getvalue().splitlines()]
    assert [answer.get("id") for answer in answers] == [1, None, 1]
    assert [("error" in answer) for answer in answers] == [False, True, False]


def test_line_that_is_too_long_is_refused_and_the_next_one_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stdio, "MAX_MESSAGE_BYTES", 100)
    target = io.BytesIO()
    source = io.BytesIO(b"x" * 450 + b"\n" + request("ping", id=2) + b"\n")
    stdio.serve_lines(source, target, lambda line: answer_message(GreetingServer(), line).body)
    first, second = [orjson.loads(line) for line in target.getvalue().splitlines()]
    assert first["error"]["code"] == -32600
    assert second == {"jsonrpc": "2.0", "id": 2, "result": {}}
