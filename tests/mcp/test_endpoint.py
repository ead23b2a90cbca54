"""The MCP endpoint of a trial: whose requests it answers, what a call leaves in the log, what it refuses."""

import socket
import threading
from collections.abc import Iterator
from urllib.parse import urlsplit

import orjson
import pytest

from clerkship.mcp.task import McpTask
from clerkship.mcp.trial_server import MAX_RESULT_LENGTH
from clerkship.model.environment import Environment
from clerkship.payer import SPEC as PAYER
from clerkship.payer.exercise import DATASET, POLICY_DATASET
from clerkship.playground.component import PreparedComponent
from clerkship.transports.network import SandboxNetwork
from tests.mcp.desk import ToolDesk
from tests.mcp.tool_servers import headers_for, request, stateless
from tests.waiting import wait_until


@pytest.fixture
def desk() -> Iterator[ToolDesk]:
    with ToolDesk() as opened:
        yield opened


def test_call_is_logged_as_that_of_any_model(desk: ToolDesk) -> None:
    text, is_error = desk.call("drop__write_file", path="a.txt", data="hello")
    assert (text, is_error) == ("done (201)", False)
    kinds = [(event.kind, event.actor) for event in desk.events()]
    assert kinds == [("agent.action.executed", "agent"), ("files.file.written", "agent")]
    written = desk.events()[1]
    assert written.request is not None
    assert (written.request.method, written.request.path, written.request.status) == ("PUT", "/files/a.txt", 201)
    assert desk.actions()[0].arguments == {"path": "a.txt", "data": "hello"}


def test_same_calls_in_process_leave_the_same_log(desk: ToolDesk) -> None:
    desk.call("drop__write_file", path="a.txt", data="hello")
    other = desk.open_playground()
    sandboxes = desk.open_sandboxes(other)
    sandboxes.report(desk.actions()[0])
    sandboxes["drop"].request("PUT", "/files/a.txt", body=b"hello", media="application/octet-stream")
    assert [event.payload for event in other.log.events] == [event.payload for event in desk.events()]


def test_both_kinds_of_clients_list_the_same_tools(desk: ToolDesk) -> None:
    stateless_reply = desk.post(stateless("tools/list"), **headers_for("tools/list"))
    names = [tool["name"] for tool in stateless_reply.data["result"]["tools"]]
    assert names == desk.list_tools()
    assert {"drop__read_file", "texts__send_message", "finish", "wait", "read_more"} <= set(names)
    assert all(len(name) <= 50 for name in names)  # clients put `mcp__clerkship__` in front of it
    tools = stateless_reply.data["result"]["tools"]
    assert not any("outputSchema" in tool for tool in tools)
    reads = {tool["name"] for tool in tools if tool.get("annotations", {}).get("readOnlyHint")}
    assert "drop__read_file" in reads
    assert "drop__write_file" not in reads


def test_essential_toolset_has_fewer_tools(desk: ToolDesk) -> None:
    with ToolDesk(toolset="essential") as small:
        assert set(small.list_tools()) < set(desk.list_tools())


@pytest.mark.parametrize("token", ["", "clk_mcp_wrong", "\u00e9"])
def test_wrong_token_is_refused_and_not_logged(desk: ToolDesk, token: str) -> None:
    reply = desk.post(request("tools/list"), token)
    assert (reply.status, reply.data["error"]["code"]) == (401, -32600)
    assert reply.headers["www-authenticate"].startswith("Bearer")
    assert desk.events() == []
    listed = desk.playground.sidecar.unauthenticated.data()
    assert (listed["count"], listed["requests"][0]["sandbox"]) == (1, "mcp")
    assert token not in str(listed) or not token


def test_token_of_another_trial_and_of_a_sandbox_are_refused(desk: ToolDesk) -> None:
    other = desk.open_playground()
    address = desk.open_endpoint(other, desk.open_sandboxes(other), McpTask())
    sandbox_token = desk.sandboxes["drop"].token
    assert [desk.post(request("ping"), token).status for token in (address.token, sandbox_token)] == [401, 401]
    assert desk.post(request("ping"), address.token, url=address.url).status == 200
    assert desk.post(request("ping"), address.token, url=desk.address.url).status == 401


def test_trial_that_is_over_is_refused(desk: ToolDesk) -> None:
    desk.gateway.remove_playground(desk.playground)
    assert desk.post(request("ping")).status == 401
    assert "is over" in desk.post(request("ping")).data["error"]["message"]


def test_foreign_host_and_origin_are_refused(desk: ToolDesk) -> None:
    assert desk.post(request("ping"), host="evil.example").status == 403
    assert desk.post(request("ping"), origin="http://evil.example").status == 403
    assert desk.post(request("ping"), origin="http://localhost:3000").status == 200


def test_path_below_the_endpoint_is_refused(desk: ToolDesk) -> None:
    assert desk.post(request("ping"), url=f"{desk.address.url}/tools").status == 404
    assert desk.post(request("ping"), url=f"{desk.address.url}/").status == 200


def test_two_clients_that_say_they_share_a_session_get_their_own_answers(desk: ToolDesk) -> None:
    def write(name: str) -> None:
        message = request("tools/call", {"name": "drop__write_file", "arguments": {"path": name, "data": name}}, name)
        replies.append((name, desk.post(message, mcp_session_id="one").data["id"]))

    replies: list[tuple[str, str]] = []
    clients = [threading.Thread(target=write, args=(f"{number}.txt",)) for number in range(8)]
    for client in clients:
        client.start()
    for client in clients:
        client.join(20)
    assert len(replies) == len(clients)
    assert all(name == id for name, id in replies)
    kinds = [event.kind for event in desk.events()]
    assert kinds == ["agent.action.executed", "files.file.written"] * len(clients)


def test_client_that_vanishes_leaves_a_whole_call(desk: ToolDesk) -> None:
    parts = urlsplit(desk.address.url)
    body = request("tools/call", {"name": "drop__write_file", "arguments": {"path": "a.txt", "data": "x"}})
    head = f"POST {parts.path} HTTP/1.1\r\nHost: {parts.netloc}\r\nAuthorization: Bearer {desk.address.token}\r\n"
    head += f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    with socket.create_connection((parts.hostname or "", parts.port or 0), timeout=20) as connection:
        connection.sendall(head.encode() + body)
        wait_until(lambda: len(desk.events()) == 2, "the call is executed")
    assert desk.call("drop__read_file", path="a.txt") == ("x", False)
    with socket.create_connection((parts.hostname or "", parts.port or 0), timeout=20) as connection:
        connection.sendall(head.encode() + body[:20])
    assert desk.call("drop__list_files")[1] is False
    assert desk.playground.broken is None


def test_get_has_no_stream(desk: ToolDesk) -> None:
    reply = desk.post(b"", method="GET")
    assert (reply.status, reply.headers["allow"]) == (405, "POST")


def test_unknown_tool_is_a_protocol_error_and_logged(desk: ToolDesk) -> None:
    reply = desk.post(request("tools/call", {"name": "drop__red_file", "arguments": {"path": "a"}}))
    assert (reply.status, reply.data["error"]["code"]) == (200, -32602)
    assert "drop__read_file" in reply.data["error"]["message"]
    rejected = desk.rejected()
    assert [(each.tool_name, each.arguments) for each in rejected] == [("drop__red_file", {"path": "a"})]


def test_wrong_arguments_are_a_result_and_logged(desk: ToolDesk) -> None:
    text, is_error = desk.call("drop__read_file", pth="a.txt")
    assert is_error
    assert text.startswith("error: unknown argument `pth`; known: path")
    assert [(each.tool_name, each.argument) for each in desk.rejected()] == [("drop__read_file", "pth")]


def test_refusal_of_a_sandbox_is_the_text_of_the_result(desk: ToolDesk) -> None:
    text, is_error = desk.call("drop__read_file", path="missing.txt")
    assert text.startswith("refused with status 404")
    assert not is_error
    assert [event.kind for event in desk.events()] == ["agent.action.executed", "sandbox.refused"]


def test_malformed_calls_are_logged_within_limits(desk: ToolDesk) -> None:
    deep = orjson.loads("[" * 100 + "]" * 100)
    bodies = [
        b"{",
        b"[" + request("ping") + b"]",
        request("tools/call", {"name": "drop__read_file", "arguments": [1]}),
        request("tools/call", {"name": "x" * 100_000}),
        request("tools/call", {"name": "drop__write_file", "arguments": {"path": "a", "data": deep}}),
        request("tools/call", {"name": "drop__read_file", "arguments": {"y" * 90_000: 1}}),
    ]
    statuses = [desk.post(body).status for body in bodies]
    assert statuses == [400, 400, 200, 200, 400, 200]
    assert len(desk.rejected()) == len(bodies)
    assert len(desk.logged()) < 20_000
    assert desk.playground.broken is None


def test_other_errors_are_not_events_of_the_agent(desk: ToolDesk) -> None:
    for body, headers in (
        (request("prompts/list"), {}),
        (stateless("tools/list"), {}),
        (request("tools/list"), {"mcp_protocol_version": "1900-01-01"}),
    ):
        assert "error" in desk.post(body, **headers).data
    assert desk.events() == []


def test_finish_takes_one_answer_and_ends_the_work(desk: ToolDesk) -> None:
    assert desk.call("finish", answer={"sorted": 3}) == ("The task is finished.", False)
    assert desk.gateway.choose_answer(desk.playground, None) == {"sorted": 3}
    assert desk.call("drop__list_files") == ("error: the task is finished; no further calls are executed", True)
    assert desk.call("finish", answer=None)[1]
    assert desk.gateway.choose_answer(desk.playground, "said") == {"sorted": 3}


def test_answer_that_is_too_large_is_refused(desk: ToolDesk) -> None:
    text, is_error = desk.call("finish", answer="x" * 1_100_000)
    assert is_error
    assert "answer" in text
    assert desk.gateway.choose_answer(desk.playground, "said") == "said"


def test_conversation_has_no_answer_and_no_tools_of_its_own_sandbox() -> None:
    with ToolDesk(McpTask(besides=("texts",))) as desk:
        names = desk.list_tools()
    assert "finish" not in names
    assert "wait" in names
    assert not any("send_message" in name for name in names)


def test_wait_lets_simulated_time_pass(desk: ToolDesk) -> None:
    before = desk.playground.now
    text, is_error = desk.call("wait", duration="10m")
    assert (desk.playground.now - before).total_seconds() >= 600
    assert (text.startswith("It is "), is_error) == (True, False)
    assert desk.call("wait", duration="soon")[1]


def test_call_is_answered_while_another_client_waits(desk: ToolDesk) -> None:
    """A `wait` that lasts, as for a call to the agent, does not hold up the calls that answer it."""
    answered = threading.Event()
    original, released = desk.sandboxes.wait, threading.Event()

    class SlowClock:
        """Holds until a call of the agent was answered."""

        now = desk.sandboxes.now

        def advance(self, by: object) -> None:
            assert released.wait(20)

        def skip(self) -> bool:
            return original()

    desk.sandboxes._clock = SlowClock()

    def wait() -> None:
        desk.call("wait", duration="1m")
        answered.set()

    waiting = threading.Thread(target=wait)
    waiting.start()
    desk.call("drop__list_files")
    assert not answered.is_set()
    released.set()
    waiting.join(20)
    assert answered.is_set()


def test_long_result_is_cut_and_read_on(desk: ToolDesk) -> None:
    data = "".join(f"{number:07}\n" for number in range(10_000))
    desk.call("drop__write_file", path="long.txt", data=data)
    text, _ = desk.call("drop__read_file", path="long.txt")
    assert len(text) < MAX_RESULT_LENGTH + 400
    assert "read_more, result 1, offset 40000" in text
    rest, _ = desk.call("read_more", result=1, offset=40_000)
    assert rest == f"{data[40_000:]}\n[the end]"


def test_task_and_policies_are_resources() -> None:
    environment = Environment(name="payers")
    config = PAYER.configure(PAYER.config(), environment)
    base = PAYER.prepare((DATASET, POLICY_DATASET))
    with ToolDesk() as desk:
        playground = desk.open_playground({"payers": PreparedComponent(PAYER, config, base)})
        sandboxes = desk.open_sandboxes(playground)
        desk.address = desk.open_endpoint(playground, sandboxes, McpTask({"instruction": "Sort."}))
        desk.playground = playground
        listed = desk.post(request("resources/list")).data["result"]["resources"]
        task = desk.post(request("resources/read", {"uri": "clerkship://task"})).data["result"]["contents"][0]
        assert desk.events() == []
        policy = desk.post(request("resources/read", {"uri": listed[1]["uri"]})).data["result"]["contents"][0]
    assert (task["mimeType"], orjson.loads(task["text"])) == ("application/json", {"instruction": "Sort."})
    assert listed[0]["uri"] == "clerkship://task"
    assert listed[1]["uri"].startswith("clerkship://payers/policies/")
    assert policy["text"].splitlines()[1].startswith("# ")
    assert [(each.name, each.arguments) for each in desk.actions()] == [("read_resource", {"uri": listed[1]["uri"]})]


def test_unknown_resource_is_refused(desk: ToolDesk) -> None:
    for uri in ("clerkship://none", "file:///etc/passwd", "task", ""):
        assert desk.post(request("resources/read", {"uri": uri})).data["error"]["code"] == -32002


def test_token_and_address_do_not_get_into_the_log(desk: ToolDesk) -> None:
    url, token = desk.address
    desk.call("drop__read_file", path=f"{url}/{token}")
    desk.post(request("tools/call", {"name": "drop__raed", "arguments": {"token": token, "url": url}}))
    logged = desk.logged() + repr(desk.playground.log.blobs).encode()
    assert token.encode() not in logged
    assert desk.playground.id.encode() not in logged
    assert b"[mcp token]" in logged


def test_full_log_is_a_result(desk: ToolDesk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("clerkship.events.log.MAX_EVENTS", 1)
    desk.call("drop__write_file", path="a.txt", data="1")
    text, is_error = desk.call("drop__write_file", path="b.txt", data="2")
    assert is_error
    assert text.startswith("error: the log of the trial is full")
    assert desk.playground.broken is None


def test_exposed_server_takes_any_host_and_pages_of_that_host() -> None:
    with ToolDesk() as desk:
        desk.listener.close()
        network = SandboxNetwork("127.0.0.1", public_url="https://lab.example")
        from_outside = desk.serve_at(network)
        assert desk.post(request("ping"), url=from_outside, host="lab.example").status == 200
        assert desk.post(request("ping"), url=from_outside, host="lab.example", origin="http://x.example").status == 403
