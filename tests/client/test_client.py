"""The client works with a real server: the agent's flow, results, keys, versions, and errors by their code."""

import asyncio
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import httpx
import pytest

from clerkship.api.problems import PROBLEMS, VALIDATION
from clerkship.client import AsyncClient, Client, ServerUnreachable
from clerkship.client.errors import (
    PROBLEM_CLASSES,
    ConflictError,
    ForbiddenError,
    InvalidContentError,
    NotFoundError,
    UnauthorizedError,
    UnavailableError,
)
from clerkship.client.exchange import PAUSES
from clerkship.model.errors import InputError
from clerkship.model.server_objects import StartedBenchmarkRun
from clerkship.service.serving.drafts.packing import pack, unpack
from tests.client.conftest import RunningServer
from tests.service.serving.drafts.small_suite import FILES

Connect = Callable[[str], Client]


def find_task(run: StartedBenchmarkRun, name: str) -> str:
    """Return the id of a task run by the name of its task."""
    return next(each.id for each in run.task_runs if each.name == name)


def test_agent_works_on_a_run_and_reads_its_results(running: RunningServer, connect: Connect) -> None:
    server = connect(running.solver)
    run = server.start_benchmark_run("forms@1", trials=1)
    assert (run.name, run.trials, run.criteria, len(run.task_runs)) == ("forms@1", 1, 2, 2)
    agent = server.with_key(run.bearer_token)
    task = find_task(run, "Say done")
    started = agent.start_task_run(task, heartbeat_within=30)
    assert (started.type, started.task_item) == ("task", {"say": "done"})
    assert 0 < agent.send_heartbeat(task).seconds_left <= started.seconds_left
    result = agent.complete_task_run(task, "done")
    assert (result.verdict, result.score, result.status) == ("pass", 1.0, "completed")
    assert result.head
    checks = agent.list_criterion_runs(task).data
    assert agent.get_criterion_run(checks[0].id) == checks[0]
    logged = list(agent.list_events(task))
    assert [event.seq for event in logged] == list(range(1, result.events + 1))
    assert [event.seq for event in agent.follow_events(task, after=1)] == [event.seq for event in logged[1:]]
    assert agent.cancel_task_run(find_task(run, "Copy")).status == "cancelled"
    assert server.get_benchmark_run(run.id).status == "completed"
    assert run.id in [each.id for each in server.list_benchmark_runs(benchmark="forms@1")]


def test_conversation_goes_on_with_each_message(running: RunningServer, connect: Connect) -> None:
    run = connect(running.solver).start_benchmark_run("talk@1")
    agent = connect(run.bearer_token)
    task = run.task_runs[0].id
    started = agent.start_task_run(task)
    assert (started.type, started.text) == ("turn", "Where is my order?")
    assert agent.send_message(task, "Let me see.").text == "And when?"
    ended = agent.send_message(task, {"text": "tomorrow"})
    assert (ended.type, ended.result and ended.result.verdict) == (None, "pass")
    transcript = agent.get_transcript(task).messages
    assert [message.text for message in transcript] == ["Where is my order?", "Let me see.", "And when?", "tomorrow"]


def test_person_writes_a_benchmark_and_publishes_it(running: RunningServer, connect: Connect) -> None:
    server = connect(running.person)
    pushed = server.upload_files("office", pack(FILES))
    assert (pushed.is_new, pushed.warnings) == (True, [])
    assert unpack(server.download_files("office")) == FILES
    before = [each.id for each in server.list_objects("task", benchmark_id="office")]
    task = server.create_object("task", {"benchmark_id": "office", "name": "Wait", "environment": "office"})
    changed = server.update_object("task", task.id, {"tags": ["new"], "timeout": None})
    assert server.get_object("task", task.id) == changed
    assert (changed.model_extra or {})["tags"] == ["new"]
    assert [each.id for each in server.list_objects("task", tag="new")] == [task.id]
    assert server.publish_benchmark("office", version=7).version == 7
    server.delete_object("task", task.id)
    assert [each.id for each in server.list_objects("task", benchmark_id="office")] == before
    assert not server.upload_files("office", pack(FILES)).is_new


def test_async_client_has_the_same_flow(running: RunningServer) -> None:
    async def work() -> tuple[str | None, list[int], list[str]]:
        async with AsyncClient(running.url, running.solver, timeout=30) as server:
            run = await server.start_benchmark_run("forms@1", tasks=["Say"])
            agent, task = server.with_key(run.bearer_token), run.task_runs[0].id
            await agent.start_task_run(task)
            following = asyncio.create_task(_list_followed(agent, task))
            result = await agent.complete_task_run(task, "done")
            followed = await following
            assert followed == [event.seq async for event in agent.list_events(task)]
            with pytest.raises(ConflictError):
                await agent.start_task_run(task)
            return result.verdict, followed, [each.slug async for each in server.list_published(slug="forms")]

    verdict, followed, slugs = asyncio.run(work())
    assert (verdict, slugs) == ("pass", ["forms"])
    assert followed == list(range(1, len(followed) + 1))
    assert followed


async def _list_followed(agent: AsyncClient, task: str) -> list[int]:
    return [event.seq async for event in agent.follow_events(task)]


def test_people_manage_solvers_keys_and_versions(running: RunningServer, connect: Connect) -> None:
    person = connect(running.person)
    solver = person.create_solver("wren", agent_description="a bird")
    key = person.create_solver_key(solver.id, name="ci")
    assert [each.id for each in person.list_solver_keys(solver.id)] == [key.id]
    assert connect(key.key).get_solver(solver.id) == solver
    person.revoke_key(key.id)
    with pytest.raises(UnauthorizedError):
        connect(key.key).get_solver(solver.id)
    made = [person.create_key(f"key {number}").id for number in range(3)]
    assert [each.id for each in person.list_keys(kind="person")][:3] == made[::-1]
    archive = person.download_archive("forms@1")
    assert person.upload_archive("forms@1", archive).digest == person.get_published("forms@1").digest
    assert len(connect(running.solver).download_archive("forms@1")) < len(archive)
    assert person.withdraw_version("talk@1", "typo").withdrawn
    assert person.restore_version("talk@1").withdrawn is None


def test_results_of_two_runs_are_compared_reported_and_graded_again(running: RunningServer, connect: Connect) -> None:
    person, runs = connect(running.person), []
    for answer in ("no", "done"):
        run = person.start_benchmark_run("forms@1", tasks=["Say"], agent="me")
        agent = person.with_key(run.bearer_token)
        agent.start_task_run(run.task_runs[0].id)
        agent.complete_task_run(run.task_runs[0].id, answer)
        runs.append(run.id)
    assert person.compare_benchmark_runs(*runs)["tasks"]
    assert b"Say done" in person.get_report(runs[0])
    assert person.rescore_benchmark_run(runs[0]).verdict == "fail"


def test_refusals_are_exceptions_by_their_code(running: RunningServer, connect: Connect) -> None:
    assert PROBLEM_CLASSES.keys() == {kind.code for kind in (*PROBLEMS.values(), VALIDATION)}
    solver, person = connect(running.solver), connect(running.person)
    with pytest.raises(NotFoundError, match="no benchmark run") as missing:
        solver.get_benchmark_run("run-none")
    assert (missing.value.status, missing.value.code) == (404, "NOT_FOUND")
    assert missing.value.request_id
    with pytest.raises(ForbiddenError):
        solver.create_key("me")
    with pytest.raises(InvalidContentError) as invalid:
        person.create_solver("Not An Alias")
    assert [error.field for error in invalid.value.errors] == ["alias"]
    with pytest.raises(UnauthorizedError):
        connect("").get_published("forms@1")


def test_agent_that_failed_gets_its_verdict_and_its_error(running: RunningServer, connect: Connect) -> None:
    run = connect(running.solver).start_benchmark_run("forms@1", tasks=["Say"])
    agent, task = connect(run.bearer_token), run.task_runs[0].id
    agent.start_task_run(task)
    result = agent.complete_task_run(task, error="it burst")
    assert (result.verdict, result.status, result.ending) == ("fail", "completed", "agent_failed")
    assert result.agent_error == "it burst"


class LossyTransport(httpx.BaseTransport):
    """Passes requests on, and loses the answers to some of them."""

    def __init__(self, losses: int) -> None:
        self.losses, self.sent = losses, list[httpx.Request]()
        self._inner = httpx.HTTPTransport()

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        """Send a request; raise ReadError instead of its answer while there are losses left."""
        self.sent.append(request)
        response = self._inner.handle_request(request)
        if self.losses > 0:
            self.losses -= 1
            response.read()
            raise httpx.ReadError("the connection broke")
        return response

    def close(self) -> None:
        self._inner.close()


@pytest.fixture
def no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("clerkship.client.exchange.PAUSES", (0.0,) * len(PAUSES))


@pytest.mark.usefixtures("no_pauses")
def test_lost_answer_is_asked_for_again_and_completes_once(running: RunningServer, connect: Connect) -> None:
    run = connect(running.solver).start_benchmark_run("forms@1", tasks=["Say"])
    task = run.task_runs[0].id
    connect(run.bearer_token).start_task_run(task)
    lossy = LossyTransport(2)
    with Client(running.url, run.bearer_token, http=httpx.Client(transport=lossy)) as agent:
        result = agent.complete_task_run(task, "done")
        assert result.verdict == "pass"
        assert len({request.headers["idempotency-key"] for request in lossy.sent}) == 1
        assert len(lossy.sent) == 3
        assert [event.kind for event in agent.list_events(task)].count("agent.answered") == 1
        lossy.losses = 1
        with pytest.raises(ServerUnreachable, match="broke"):
            agent.send_sandbox_request(task, "now")
        assert len(lossy.sent) == 5


@pytest.mark.usefixtures("no_pauses")
def test_server_that_does_not_answer_is_named_with_what_to_do() -> None:
    with Client("http://127.0.0.1:9", "key") as client, pytest.raises(ServerUnreachable) as unreachable:
        client.get_published("forms@1")
    assert "http://127.0.0.1:9" in str(unreachable.value)
    assert "is the server running" in str(unreachable.value)


def test_request_is_sent_again_when_the_server_asks_for_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("clerkship.client.exchange.MAX_RETRY_AFTER", 0.0)
    answers = [httpx.Response(429, headers={"retry-after": "1"}), httpx.Response(502, text="<html>proxy</html>")]
    transport = httpx.MockTransport(lambda request: answers.pop(0))
    client = Client("http://server", "key", http=httpx.Client(transport=transport))
    with client, pytest.raises(UnavailableError, match="status 502: <html>proxy"):
        client.send_heartbeat("tr_1")
    assert answers == []


def test_events_go_on_after_a_broken_connection(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("clerkship.client.exchange.PAUSES", (0.0,))
    line = (
        '{{"seq":{0},"at":"2026-01-01T00:00:00Z","source":"run","kind":"a","actor":"run","cause":null,"payload":{{}}}}'
    )
    parts = [[1, 2], [3]]
    asked: list[str] = []

    class Broken(httpx.SyncByteStream):
        def __iter__(self) -> Any:
            for number in parts.pop(0):
                yield f"id: {number}\ndata: {line.format(number)}\n\n".encode()
            if parts:
                raise httpx.ReadError("the connection broke")
            yield b": still here\n\nevent: end\ndata: {}\n\n"

    def answer(request: httpx.Request) -> httpx.Response:
        asked.append(request.url.params["after"])
        return httpx.Response(200, stream=Broken())

    with Client("http://server", "key", http=httpx.Client(transport=httpx.MockTransport(answer))) as client:
        assert [event.seq for event in client.follow_events("tr_1")] == [1, 2, 3]
    assert asked == ["0", "2"]


def test_address_with_a_password_is_refused() -> None:
    with pytest.raises(InputError, match="password"):
        Client("https://me:secret@server", "key")


def test_client_needs_neither_the_engine_nor_the_server() -> None:
    heavy = ("clerkship.engine", "clerkship.playground", "clerkship.simulators", "clerkship.service", "fastapi")
    script = f"import clerkship.client, sys; print([name for name in sys.modules if name.startswith({heavy!r})])"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout == "[]\n"
