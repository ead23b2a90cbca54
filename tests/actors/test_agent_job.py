"""Agents that answer a message later: after 202 they are polled, or call the callback address."""

import asyncio
import json
import threading
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import httpx
import pytest

from clerkship.actors.agent_job import AgentJob
from clerkship.actors.webhook import load_http
from clerkship.kit.wall import now
from clerkship.model.run import TaskRun
from clerkship.playground.handlers import RequestContext
from clerkship.playground.later_replies import REPLIES, ExpectedReply, ReplyTable
from clerkship.sandbox.request import Request as HttpRequest
from clerkship.sandbox.route import HttpCall
from clerkship.settings import Settings
from tests.actors.programs import TALK, WORK, suite
from tests.actors.servers import Answered, Asked, Served
from tests.workbench import Workbench

SOON = {"Retry-After": "0"}
ANSWER = b'{"answer": 42}'


def call_back(message: Mapping[str, Any], body: bytes, token: str = "") -> int:
    """Post to the callback address of a message; return the status."""
    headers = {"Authorization": f"Bearer {token or message['callback']['token']}"}
    try:
        with urlopen(Request(message["callback"]["url"], body, headers), timeout=10) as response:
            return int(response.status)
    except HTTPError as error:
        return error.code


def poll_until(count: int, last: Answered, between: int = 202) -> Callable[[Asked], Answered]:
    """Answer 202 with a location, then `between` to all polls but the last."""
    polls: list[str] = []

    def answer(asked: Asked) -> Answered:
        if asked.method == "POST":
            return 202, {"Location": "/jobs/1", **SOON}, b""
        polls.append(asked.path)
        return (between, SOON, b'{"state": "running"}') if len(polls) < count else last

    return answer


@pytest.mark.parametrize("between", [202, 503])
def test_location_is_polled_until_the_reply_is_there(bench: Workbench, between: int) -> None:
    suite(bench, WORK)
    with Served(poll_until(3, (200, {}, ANSWER), between)) as served:
        task_run = bench.run_one(f"http:{served.url}/agent?key=k")
    assert (task_run.verdict, task_run.agent_error) == ("pass", "")
    assert [(asked.method, asked.path) for asked in served.asked] == [
        ("POST", "/agent?key=k"),
        *[("GET", "/jobs/1")] * 3,
    ]


def test_polls_are_signed_and_a_303_leads_to_the_reply(bench: Workbench) -> None:
    suite(bench, WORK)

    def answer(asked: Asked) -> Answered:
        if asked.path == "/results/1":
            return 200, {}, ANSWER
        return poll_until(1, (303, {"Location": "/results/1", **SOON}, b""))(asked)

    with Served(answer) as served:
        assert bench.run_one(load_http(served.url, Settings(webhook_secret="of the agent"))).verdict == "pass"
    assert [asked.path for asked in served.asked] == ["/", "/jobs/1", "/results/1"]
    assert all("webhook-signature" in asked.headers for asked in served.asked)


@pytest.mark.parametrize(
    ("header", "seconds"),
    [("", 1), ("7", 7), ("0", 0.1), ("3600", 60), ("Fri, 02 Jan 1970 00:00:00 GMT", 0.1), ("soon", 1)],
)
def test_polls_are_as_far_apart_as_the_agent_asks_within_limits(header: str, seconds: float) -> None:
    waited: list[float] = []

    async def pause(time: float) -> bool:
        waited.append(time)
        return True

    async def fetch(address: str) -> Any:
        raise AssertionError(address)

    job = AgentJob("http://agent/", httpx.Response(202, headers={"Location": "/jobs/1", "Retry-After": header}))
    assert asyncio.run(job.poll(fetch, pause)) is None
    assert waited == [seconds]


def test_message_has_what_a_queue_needs(bench: Workbench) -> None:
    suite(bench, TALK)
    with Served(lambda asked: (200, {}, b'{"say": "bye"}')) as served:
        bench.run_one(served.url)
    sent = [json.loads(asked.body) for asked in served.asked]
    assert len({message["message_id"] for message in sent}) == len(sent)
    first, message = served.asked[0], sent[0]
    assert first.headers["idempotency-key"] == message["message_id"]
    assert 0 < (datetime.fromisoformat(message["deadline"]) - now()).total_seconds() < 60
    assert message["callback"]["url"].endswith(f"/replies/{message['message_id']}")
    assert message["callback"]["token"].startswith("clk_rep_")


def run_with_callback(bench: Workbench, work: Callable[[Mapping[str, Any]], object]) -> TaskRun:
    """Run the task with an agent that answers 202 without a location, and then works."""
    threads: list[threading.Thread] = []

    def answer(asked: Asked) -> Answered:
        thread = threading.Thread(target=work, args=[json.loads(asked.body)])
        thread.start()
        threads.append(thread)
        return 202, {}, b""

    with Served(answer) as served:
        task_run = bench.run_one(served.url)
        for thread in threads:
            thread.join(timeout=60)
    return task_run


def test_reply_can_be_posted_to_the_callback_address(bench: Workbench) -> None:
    suite(bench, WORK)
    seen: list[int] = []

    def work(message: Mapping[str, Any]) -> None:
        for body, token in ((ANSWER, "clk_rep_of_another"), (b"<html>", ""), (ANSWER, "")):
            seen.append(call_back(message, body, token))

    task_run = run_with_callback(bench, work)
    assert (task_run.verdict, task_run.agent_error) == ("pass", "")
    assert seen == [401, 400, 204]
    assert b"clk_rep" not in b"".join(bench.store.log(task_run))


def test_same_reply_may_come_again_and_another_is_refused() -> None:
    table = ReplyTable()

    def send(message: ExpectedReply, body: bytes, method: str = "POST") -> int:
        request = HttpRequest(method, "/", headers={"authorization": f"Bearer {message.token}"}, body=body)
        return table.answer(RequestContext(REPLIES, message.id, HttpCall(request))).status

    async def exchange() -> None:
        with table.expect(lambda: "http://127.0.0.1:1", lambda: 60.0) as message:
            assert send(message, ANSWER, "GET") == 405
            assert [send(message, body) for body in (ANSWER, ANSWER, b"{}")] == [204, 204, 409]
            assert await message.wait() == {"answer": 42}
        assert [send(message, body) for body in (ANSWER, b"{}")] == [204, 410]
        with table.expect(lambda: "http://127.0.0.1:1", lambda: 60.0) as late:
            assert await late.wait(0.01) is None
        assert send(late, ANSWER) == 410

    asyncio.run(exchange())


def test_reply_that_is_no_answer_is_the_agents_error(bench: Workbench) -> None:
    suite(bench, WORK)
    task_run = run_with_callback(bench, lambda message: call_back(message, b'{"state": "done"}'))
    assert task_run.ending == "agent_failed"
    assert "its reply has no `answer`; found: 'state'" in task_run.agent_error


def test_job_that_never_ends_is_a_timeout_with_what_was_seen(bench: Workbench) -> None:
    suite(bench, WORK, timeout=1)
    with Served(poll_until(1000, (200, {}, ANSWER))) as served:
        task_run = bench.run_one(served.url)
    assert (task_run.ending, task_run.verdict) == ("timed_out", "fail")
    seen = json.loads(bench.store.sidecar(task_run))["agent_job"]
    assert f"{served.url}/jobs/1 was polled " in seen
    assert """the last answer was 202 '{"state": "running"}'; no callback arrived.""" in seen


def test_location_at_another_host_is_not_called(bench: Workbench) -> None:
    suite(bench, WORK)
    with Served(lambda asked: (200, {}, ANSWER)) as other:
        with Served(lambda asked: (202, {"Location": f"{other.url}/jobs/1"}, b"")) as served:
            task_run = bench.run_one(served.url)
        assert other.asked == []
    assert "which is not at its own address; give a path" in task_run.agent_error
