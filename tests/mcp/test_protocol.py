"""The protocol: what a server answers to messages of each version, valid and not."""

import base64
from typing import Any

import orjson
import pytest

from clerkship.mcp.messages import MAX_MESSAGE_BYTES
from clerkship.mcp.server import PAGE_SIZE
from tests.mcp.tool_servers import META, STATELESS, ask, headers_for, request, stateless


@pytest.mark.parametrize("version", ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"])
def test_initialize_agrees_on_the_version_of_the_client(version: str) -> None:
    _, body = ask(request("initialize", {"protocolVersion": version, "capabilities": {}}), {})
    assert body["result"]["protocolVersion"] == version
    assert body["result"]["serverInfo"] == {"name": "greetings", "version": "1"}
    assert body["result"]["capabilities"] == {"tools": {}, "resources": {}}
    assert body["result"]["instructions"] == "Greet politely."


def test_handshake_with_headers_of_later_versions_is_a_handshake() -> None:
    answer, body = ask(
        request("initialize", {"protocolVersion": "2025-11-25"}), headers_for("initialize", version="2025-11-25")
    )
    assert (answer.status, body["result"]["protocolVersion"]) == (200, "2025-11-25")


def test_initialize_offers_the_newest_version_with_a_handshake_for_an_unknown_one() -> None:
    _, body = ask(request("initialize", {"protocolVersion": "2099-01-01"}), {})
    assert body["result"]["protocolVersion"] == "2025-11-25"


def test_handshake_client_lists_and_calls_tools_with_and_without_the_version_header() -> None:
    for headers in ({}, {"mcp-protocol-version": "2025-06-18"}, None):
        _, listed = ask(request("tools/list"), headers)
        answer, called = ask(request("tools/call", {"name": "greet", "arguments": {"to": "Ada"}}, "a"), headers)
        tool = listed["result"]["tools"][0]
        assert (tool["name"], tool["annotations"], "outputSchema" in tool) == ("greet", {"readOnlyHint": True}, False)
        assert (answer.status, called["id"]) == (200, "a")
        assert called["result"] == {"content": [{"type": "text", "text": "Hello Ada"}], "isError": False}
        assert "resultType" not in listed["result"]


def test_stateless_client_discovers_lists_and_calls() -> None:
    _, found = ask(stateless("server/discover"), headers_for("server/discover"))
    _, listed = ask(stateless("tools/list"), headers_for("tools/list"))
    call = stateless("tools/call", {"name": "greet", "arguments": {"to": "Ada"}})
    _, called = ask(call, headers_for("tools/call", "greet"))
    _, read = ask(stateless("resources/read", {"uri": "greetings://all"}))
    assert found["result"]["supportedVersions"][0] == STATELESS
    for result in (found["result"], listed["result"], read["result"]):
        assert (result["resultType"], result["cacheScope"]) == ("complete", "private")
        assert result["ttlMs"] >= 0
    assert called["result"]["content"][0]["text"] == "Hello Ada"
    assert called["result"]["_meta"]["io.modelcontextprotocol/serverInfo"]["name"] == "greetings"
    assert read["result"]["contents"] == [
        {"uri": "greetings://all", "mimeType": "text/markdown", "text": "Hello, goodbye"}
    ]


def test_list_has_pages_that_cursors_lead_to() -> None:
    _, first = ask(request("tools/list"), further=PAGE_SIZE)
    cursor = first["result"]["nextCursor"]
    _, second = ask(request("tools/list", {"cursor": cursor}), further=PAGE_SIZE)
    assert (len(first["result"]["tools"]), len(second["result"]["tools"])) == (PAGE_SIZE, 1)
    assert "nextCursor" not in second["result"]


@pytest.mark.parametrize("cursor", ["x", "-1", "0", "999999999999", 100, "²", ["1"]])
def test_cursor_that_was_not_given_is_refused(cursor: Any) -> None:
    _, body = ask(request("tools/list", {"cursor": cursor}), further=PAGE_SIZE)
    assert body["error"]["code"] == -32602


def test_notifications_and_responses_have_no_answer() -> None:
    initialized = orjson.dumps({"jsonrpc": "2.0", "method": "notifications/initialized"})
    response = orjson.dumps({"jsonrpc": "2.0", "id": 4, "result": {}})
    assert [ask(data, {})[0].status for data in (initialized, response)] == [202, 202]
    assert [ask(data, {})[0].body for data in (initialized, response)] == [b"", b""]


BROKEN: dict[str, tuple[bytes, int]] = {
    "not JSON": (b"{", -32700),
    "half of a surrogate pair": (b'{"jsonrpc": "2.0", "id": 1, "method": "\\ud800"}', -32700),
    "batch": (b"[" + request("ping") + b"]", -32600),
    "text": (b'"ping"', -32600),
    "another version of JSON-RPC": (b'{"jsonrpc": "1.0", "id": 1, "method": "ping"}', -32600),
    "no method": (b'{"jsonrpc": "2.0", "id": 1}', -32600),
    "method that is a number": (b'{"jsonrpc": "2.0", "id": 1, "method": 7}', -32600),
    "id of null": (request("ping", id=None), -32600),
    "id that is a list": (request("ping", id=[1]), -32600),
    "id that is true": (request("ping", id=True), -32600),
    "id without end": (request("ping", id="x" * 201), -32600),
    "params that are a list": (b'{"jsonrpc": "2.0", "id": 1, "method": "ping", "params": [1]}', -32602),
    "deep params": (request("ping", {"a": orjson.loads("[" * 70 + "]" * 70)}), -32600),
    "too deep to be read": (b'{"jsonrpc": "2.0", "id": 1, "params": ' + b"[" * 5000 + b"]" * 5000 + b"}", -32700),
}


@pytest.mark.parametrize("name", BROKEN)
def test_broken_message_is_refused_with_400(name: str) -> None:
    data, code = BROKEN[name]
    answer, body = ask(data, {})
    assert (answer.status, body["error"]["code"], body["jsonrpc"]) == (400, code, "2.0")
    assert answer.message is None


def test_message_that_is_too_long_is_refused_unread() -> None:
    answer, body = ask(b" " * (MAX_MESSAGE_BYTES + 1))
    assert (answer.status, body["error"]["code"]) == (413, -32600)


HANDSHAKE_ERRORS: dict[str, tuple[bytes, int]] = {
    "unknown method": (request("prompts/list"), -32601),
    "method of later versions": (request("subscriptions/listen"), -32601),
    "unknown tool": (request("tools/call", {"name": "shout"}), -32602),
    "tool without name": (request("tools/call", {"arguments": {}}), -32602),
    "arguments that are a list": (request("tools/call", {"name": "greet", "arguments": ["Ada"]}), -32602),
    "initialize without a version": (request("initialize"), -32602),
    "unknown resource": (request("resources/read", {"uri": "greetings://none"}), -32002),
    "resource without URI": (request("resources/read", {"uri": 3}), -32602),
}


@pytest.mark.parametrize("name", HANDSHAKE_ERRORS)
def test_handshake_client_gets_errors_with_200_and_its_id(name: str) -> None:
    data, code = HANDSHAKE_ERRORS[name]
    answer, body = ask(data, {})
    assert (answer.status, body["id"], body["error"]["code"]) == (200, 1, code)


def test_wrong_arguments_are_a_result_that_the_model_reads() -> None:
    _, body = ask(request("tools/call", {"name": "greet", "arguments": {}}))
    assert body["result"] == {"content": [{"type": "text", "text": "`to` is missing"}], "isError": True}


VERSION, CAPABILITIES = META
STATELESS_ERRORS: dict[str, tuple[bytes, dict[str, str], int, int]] = {
    "no metadata": (request("tools/list"), headers_for("tools/list"), 400, -32602),
    "metadata that are text": (stateless("tools/list", meta="x"), headers_for("tools/list"), 400, -32602),
    "no capabilities": (stateless("tools/list", meta={VERSION: STATELESS}), headers_for("tools/list"), 400, -32602),
    "version that is a number": (stateless("tools/list", meta={**META, VERSION: 7}), {}, 400, -32602),
    "no headers": (stateless("tools/list"), {}, 400, -32020),
    "another method in the header": (stateless("tools/list"), headers_for("ping"), 400, -32020),
    "another version in the header": (
        stateless("tools/list"),
        headers_for("tools/list", version="2025-11-25"),
        400,
        -32020,
    ),
    "no name in the header": (stateless("tools/call", {"name": "greet"}), headers_for("tools/call"), 400, -32020),
    "another name in the header": (
        stateless("tools/call", {"name": "greet"}),
        headers_for("tools/call", "shout"),
        400,
        -32020,
    ),
    "name that is not base64": (
        stateless("tools/call", {"name": "greet"}),
        headers_for("tools/call", "=?base64?%%?="),
        400,
        -32020,
    ),
    "unsupported version": (
        stateless("tools/list", meta={**META, VERSION: "1900-01-01"}),
        headers_for("tools/list", version="1900-01-01"),
        400,
        -32022,
    ),
    "removed method": (stateless("ping"), headers_for("ping"), 404, -32601),
    "handshake": (stateless("initialize"), headers_for("initialize"), 404, -32601),
    "unknown resource": (
        stateless("resources/read", {"uri": "greetings://none"}),
        headers_for("resources/read", "greetings://none"),
        400,
        -32602,
    ),
}


@pytest.mark.parametrize("name", STATELESS_ERRORS)
def test_stateless_client_gets_errors_with_their_status(name: str) -> None:
    data, headers, status, code = STATELESS_ERRORS[name]
    answer, body = ask(data, headers)
    assert (answer.status, body["error"]["code"]) == (status, code)


def test_unsupported_version_names_those_that_are_supported() -> None:
    _, body = ask(request("tools/list"), {"mcp-protocol-version": "1900-01-01"})
    assert body["error"]["code"] == -32022
    assert body["error"]["data"]["requested"] == "1900-01-01"
    assert {"2026-07-28", "2025-11-25"} <= set(body["error"]["data"]["supported"])


def test_name_in_the_header_may_be_in_base64() -> None:
    encoded = f"=?base64?{base64.b64encode(b'greet').decode()}?="
    call = stateless("tools/call", {"name": "greet", "arguments": {"to": "Ada"}})
    assert ask(call, headers_for("tools/call", encoded))[0].status == 200
