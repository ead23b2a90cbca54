"""Agents that reach for what is not theirs, or ask for too much: refused clearly, in bounded memory."""

import asyncio
import hashlib
from collections.abc import AsyncIterator, Iterator, MutableMapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import orjson
import pytest

from clerkship.api import event_stream
from clerkship.events import log
from clerkship.service.serving import live_runs
from clerkship.service.serving.results import EventChoice, RunResults
from tests.api.test_benchmark_runs import CONVERSATION, Agent, Hosted
from tests.api.test_recovery import put_file
from tests.waiting import processor_limit

TEN_MEGABYTES = "x" * 10_000_000


@pytest.fixture
def hosted(tmp_path: Path) -> Iterator[Hosted]:
    hosted = Hosted(tmp_path)
    yield hosted
    hosted.server.close()


def test_token_of_another_run_learns_nothing_of_a_run(hosted: Hosted) -> None:
    one, other = hosted.start(), hosted.start()
    other.post("Say done", "start")
    other.post("Say done", "complete", answer="done")
    own, foreign, guessed = one.task("Copy"), other.task("Say done"), "tr_0123456789abcdef"
    posts = [f"task-runs/{{}}/{what}" for what in ("start", "complete", "cancel", "heartbeat", "messages")]
    gets = [f"task-runs/{{}}{what}" for what in ("", "/events", "/transcript", f"/artifacts/{'0' * 64}")]
    gets += ["criterion-runs?task_run_id={}", "criterion-runs/crun_{}_1"]
    for method, paths in (("POST", posts), ("GET", gets)):
        for path in paths:
            answers = []
            for task in (foreign, guessed):
                id = task.removeprefix("tr_") if "crun_" in path else task
                answer = one.client.request(
                    method, f"/v1/{path.format(id)}", json={"say": ""} if "messages" in path else None
                )
                assert answer.status_code == 404, path
                answers.append(answer.json()["detail"].replace(task, "ID"))
            assert answers[0] == answers[1], "a guess does not tell whether there is such a task run"
    for what in ("", "/cancel", "/report", f"/compare/{one.run['id']}"):
        method = "POST" if what == "/cancel" else "GET"
        assert one.client.request(method, f"/v1/benchmark-runs/{other.run['id']}{what}").status_code in (403, 404)
    assert one.client.get(f"/v1/task-runs/{own}").status_code == 200


def test_revoked_token_does_nothing_more(hosted: Hosted) -> None:
    agent = hosted.start()
    [key] = hosted.server.keys.list(kind="run").items
    hosted.server.keys.revoke(key.id)
    assert agent.post("Copy", "start").status_code == 401


@pytest.mark.parametrize(
    "name", ["seq", "a", "..%2f..%2fserver.db", "%2e%2e", "0" * 63, "A" * 64, "g" * 64, "0" * 64 + "%00", "%27--"]
)
def test_artifact_is_named_by_a_hash_of_its_log_alone(hosted: Hosted, name: str) -> None:
    agent = hosted.start()
    agent.post("Copy", "start")
    answer = agent.client.get(f"/v1/task-runs/{agent.task('Copy')}/artifacts/{name}")
    assert (answer.status_code, answer.json()["code"]) == (404, "NOT_FOUND")


def test_hash_that_the_agent_writes_gives_it_no_body_of_the_store(hosted: Hosted) -> None:
    agent = hosted.start()
    drop = agent.post("Copy", "start").json()["sandboxes"]["drop"]
    plan = hosted.server.store.run(agent.run["id"]).plan
    large = "NAME: Ada " * 2000
    assert hosted.server.store.blob(plan)
    assert put_file(drop, "hash.txt", f'{{"sha256":"{plan}"}}') == 201
    assert put_file(drop, "out.txt", large) == 201
    path = f"/v1/task-runs/{agent.task('Copy')}"
    own = hashlib.sha256(large.encode()).hexdigest()
    for _ in range(2):  # while it is under way, and from the store
        events = agent.client.get(f"{path}/events").text
        assert plan in events
        assert agent.client.get(f"{path}/artifacts/{plan}").status_code == 404
        assert agent.client.get(f"{path}/artifacts/{own}").text == large
        agent.post("Copy", "complete")


def test_answers_and_messages_of_ten_megabytes_are_refused(hosted: Hosted) -> None:
    agent, talk = hosted.start(), hosted.start("talk@1")
    agent.post("Say done", "start")
    talk.post("Two questions", "start")
    assert "Two questions" in CONVERSATION
    refused = agent.post("Say done", "complete", answer=TEN_MEGABYTES)
    assert (refused.status_code, refused.json()["code"]) == (413, "PAYLOAD_TOO_LARGE")
    assert talk.post("Two questions", "messages", say=TEN_MEGABYTES).status_code == 413
    assert agent.post("Say done", "complete", answer="done").json()["verdict"] == "pass"


def test_report_of_100000_events_is_refused_before_any_is_parsed(hosted: Hosted) -> None:
    agent = hosted.start()
    agent.post("Say done", "start")
    with processor_limit(5):
        refused = agent.post("Say done", "complete", answer="done", report=[{"kind": "a"}] * 100_000)
    assert (refused.status_code, refused.json()["code"]) == (400, "BAD_REQUEST")
    assert "10,000" in refused.json()["detail"]
    assert agent.post("Say done", "complete", answer="done").json()["verdict"] == "pass"


def test_agent_that_floods_its_log_is_refused_and_graded(hosted: Hosted, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(log, "MAX_EVENTS", 20)
    agent = hosted.start()
    drop = agent.post("Copy", "start").json()["sandboxes"]["drop"]
    statuses = [put_file(drop, f"{number}.txt", "x") for number in range(40)]
    assert statuses[0] == 201
    assert statuses[-1] in (429, 503, 507)
    result = agent.post("Copy", "complete")
    assert (result.status_code, result.json()["phase"]) == (200, "completed")
    assert len(agent.client.get(f"/v1/task-runs/{agent.task('Copy')}/events?limit=1000").json()["data"]) < 40


def test_more_trials_and_runs_than_may_be_are_refused_with_what_to_do(
    hosted: Hosted, monkeypatch: pytest.MonkeyPatch
) -> None:
    agent = hosted.start()
    agent.post("Copy", "start")
    monkeypatch.setattr(live_runs, "MAX_LIVE_TRIALS", 1)
    refused = agent.post("Say done", "start")
    assert (refused.status_code, refused.json()["code"]) == (429, "RATE_LIMITED")
    assert "when some have ended" in refused.json()["detail"]
    monkeypatch.setattr(live_runs, "MAX_OPEN_RUNS_OF_SOLVER", 1)
    refused = hosted.client(hosted.solver).post("/v1/benchmark-runs", json={"benchmark": "forms@1"})
    assert (refused.status_code, "of this solver" in refused.json()["detail"]) == (429, True)
    assert hosted.client(hosted.person).post("/v1/benchmark-runs", json={"benchmark": "forms@1"}).status_code == 201
    monkeypatch.setattr(live_runs, "MAX_OPEN_RUNS", 1)
    refused = hosted.client(hosted.solver).post("/v1/benchmark-runs", json={"benchmark": "forms@1"})
    assert refused.status_code == 429
    assert "complete or cancel some" in refused.json()["detail"]


class StreamReader:
    """A client of an event stream, below HTTP."""

    def __init__(self, hosted: Hosted, agent: Agent, last: int = 0) -> None:
        self._app, self._gone = hosted.app, asyncio.Event()
        self.may_read, self.answered = asyncio.Event(), asyncio.Event()
        self.may_read.set()
        self.status, self.body = 0, b""
        headers = {"authorization": f"Bearer {agent.run['bearer_token']}", "accept": "text/event-stream"}
        headers |= {"last-event-id": str(last)} if last else {}
        self._scope = {
            "type": "http",
            "asgi": {"version": "3.0", "spec_version": "2.3"},
            "method": "GET",
            "path": f"/v1/task-runs/{agent.task('Copy')}/events",
            "query_string": b"limit=1",
            "headers": [(name.encode(), value.encode()) for name, value in headers.items()],
        }

    async def run(self) -> None:
        """Read until the stream ends, or the client is gone."""
        await self._app(self._scope, self._receive, self._send)

    def leave(self) -> None:
        """Close the connection."""
        self._gone.set()

    async def _receive(self) -> dict[str, Any]:
        await self._gone.wait()
        return {"type": "http.disconnect"}

    async def _send(self, message: MutableMapping[str, Any]) -> None:
        self.status = message.get("status", self.status)
        self.body += message.get("body", b"")
        if self.body:
            self.answered.set()
        await self.may_read.wait()


@asynccontextmanager
async def open_stream(reader: StreamReader) -> AsyncIterator[StreamReader]:
    """Open a stream, wait until it is answered, and leave it at the end."""
    running = asyncio.create_task(reader.run())
    await asyncio.wait_for(reader.answered.wait(), 30)
    try:
        yield reader
    finally:
        reader.leave()
        reader.may_read.set()
        await asyncio.wait_for(running, 30)


async def open_many(hosted: Hosted, agents: list[Agent]) -> list[int]:
    """Open streams one after the other, each while the others are open; return the status of each."""
    if not agents:
        return []
    async with open_stream(StreamReader(hosted, agents[0])) as reader:
        return [reader.status, *await open_many(hosted, agents[1:])]


def test_event_streams_are_limited_by_key_and_in_all(hosted: Hosted, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(event_stream, "MAX_STREAMS_OF_KEY", 2)
    monkeypatch.setattr(event_stream, "MAX_STREAMS", 3)
    one, other = hosted.start(), hosted.start()
    for agent in (one, other):
        agent.post("Copy", "start")
    for _ in range(2):  # streams that have ended do not count
        assert asyncio.run(open_many(hosted, [one, one, one, other, other])) == [200, 200, 429, 200, 429]


def test_stream_goes_on_after_the_last_event_that_the_client_has(hosted: Hosted) -> None:
    agent = hosted.start()
    agent.post("Copy", "start")

    async def read(last: int) -> bytes:
        async with open_stream(StreamReader(hosted, agent, last)) as reader:
            return reader.body.partition(b"\n")[0]

    assert [asyncio.run(read(last)) for last in (0, 1)] == [b"id: 1", b"id: 2"]


def test_slow_reader_keeps_no_more_than_one_part_in_memory(hosted: Hosted, monkeypatch: pytest.MonkeyPatch) -> None:
    agent = hosted.start()
    agent.post("Copy", "start")
    parts: list[EventChoice] = []
    read_on = RunResults.read_on

    def note(results: RunResults, task: Any, choice: EventChoice) -> Any:
        parts.append(choice)
        return read_on(results, task, choice)

    monkeypatch.setattr(RunResults, "read_on", note)

    async def read_slowly() -> None:
        async with open_stream(StreamReader(hosted, agent)) as reader:
            reader.may_read.clear()  # it reads nothing more
            count = len(parts)
            await asyncio.sleep(3 * event_stream.POLL_SECONDS)
            assert len(parts) <= count + 1

    asyncio.run(read_slowly())


def test_streams_end_when_the_server_stops(hosted: Hosted) -> None:
    agent = hosted.start()
    agent.post("Copy", "start")

    async def read() -> bytes:
        reader = StreamReader(hosted, agent)
        running = asyncio.create_task(reader.run())
        await asyncio.wait_for(reader.answered.wait(), 30)
        hosted.server.is_stopping = True
        await asyncio.wait_for(running, 30)
        return reader.body

    assert orjson.loads(asyncio.run(read()).split(b"data: ")[1].partition(b"\n")[0])["seq"] == 1
