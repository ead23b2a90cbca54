"""An agent with a key works on a published version: runs, tasks, conversations, hidden criteria, restarts."""

import threading
from base64 import b64decode
from collections.abc import Iterator
from pathlib import Path
from textwrap import dedent
from typing import Any, NamedTuple

import httpx
import pytest
from starlette.testclient import TestClient

from clerkship.api.app import build_app
from clerkship.engine.catalog import build_catalog_without_plugins
from clerkship.service.publishing import PublishRequest, publish
from clerkship.service.serving.server import Server, open_server
from clerkship.settings import Settings
from tests.simulators.tables.library import FUNCTIONS, write_files, write_task
from tests.waiting import wait_until

SUITE = """
environment: {name: desk, datasets: [forms], simulators: {drop: {kind: files}}}
dataset: {name: forms, type: files, files: {form.txt: "NAME: Ada"}}
benchmark: {name: Forms, slug: forms, version: 1, environment: desk, tasks: ["*"]}
tasks:
  - name: Copy
    timeout: 60
    task_item: {from: form.txt, to: out.txt}
    criteria:
      - {label: there, gate: true, assertion: {file_present: {path: out.txt, text: {contains: Ada}}}}
  - name: Say done
    task_item: {say: done}
    criteria: [{label: answered, gate: true, assertion: {answer_matches: done}}]
"""
CONVERSATION = """
benchmark: {name: Talk, slug: talk, version: 1, tasks: ["*"]}
scenario:
  name: Two questions
  simulation_context: You ask twice.
  setup: {person: {lines: ["Where is my order?", "And when?"]}}
  goals: {assertions: [bot_uttered: {text_matches: tomorrow}]}
"""


class Agent(NamedTuple):
    """A client with the token of a run, and the run."""

    client: TestClient
    run: dict[str, Any]

    def task(self, name: str) -> str:
        """Return the id of a task run."""
        return next(str(each["id"]) for each in self.run["task_runs"] if each["name"] == name)

    def post(self, name: str, what: str, **body: Any) -> Any:
        """Send a request about a task run, by the name of its task."""
        return self.client.post(f"/v1/task-runs/{self.task(name)}/{what}", json=body)


class Hosted:
    """A server with two published versions, which can be restarted."""

    def __init__(self, folder: Path, settings: Settings | None = None) -> None:
        self.folder, self.settings = folder, settings or Settings()
        self.server = self._open()
        for name, text in (("forms", SUITE), ("talk", CONVERSATION)):
            suite = folder / name
            suite.mkdir()
            (suite / "suite.yml").write_text(dedent(text), encoding="utf-8")
            request = PublishRequest(path=suite, name=f"{name}@1", to=self.server.published.folder)
            publish(request, Settings(), build_catalog_without_plugins())
        self.person = self.server.keys.create_person("Ada").key
        solver = self.server.solvers.create("robin", "", "", "")
        self.solver = self.server.keys.create_solver_key(solver.id).key

    def _open(self) -> Server:
        server = open_server(self.folder / "data", self.settings, build_catalog_without_plugins())
        self.app = build_app(server)
        return server

    def client(self, key: str) -> TestClient:
        """Return a client with a key."""
        return TestClient(self.app, headers={"authorization": f"Bearer {key}"})

    def start(self, benchmark: str = "forms@1", **options: Any) -> Agent:
        """Start a run with the key of the solver."""
        started = self.client(self.solver).post("/v1/benchmark-runs", json={"benchmark": benchmark, **options})
        assert started.status_code == 201, started.text
        return Agent(self.client(started.json()["bearer_token"]), started.json())

    def again(self, agent: Agent) -> Agent:
        """Return a client of the same agent for the server as it is now."""
        run = self.client(self.person).get(f"/v1/benchmark-runs/{agent.run['id']}").json()
        token = agent.run["bearer_token"]
        return Agent(self.client(token), run | {"bearer_token": token})

    def restart(self) -> None:
        """Stop the server and start it again."""
        self.server.close()
        self.server = self._open()


@pytest.fixture
def hosted(tmp_path: Path) -> Iterator[Hosted]:
    hosted = Hosted(tmp_path)
    yield hosted
    hosted.server.close()


def copy_form(started: dict[str, Any]) -> None:
    """Do the first task through the file drop, as an agent elsewhere would."""
    drop = started["sandboxes"]["drop"]
    headers = {"authorization": f"Bearer {drop['token']}"}
    form = httpx.get(f"{drop['url']}/files/form.txt", headers=headers)
    assert form.status_code == 200, form.text
    assert httpx.put(f"{drop['url']}/files/out.txt", content=form.content, headers=headers).status_code in (200, 201)


def test_agent_works_on_the_tasks_of_a_run_and_gets_verdicts(hosted: Hosted) -> None:
    agent = hosted.start()
    assert agent.run["phase"] == "created"
    started = agent.post("Copy", "start").json()
    assert (started["type"], started["task_item"]["to"]) == ("task", "out.txt")
    copy_form(started)
    result = agent.post("Copy", "complete").json()
    assert (result["phase"], result["status"]) == ("completed", "completed")
    assert (result["verdict"], result["score"]) == ("pass", 1)
    assert "there" in {check["label"] for check in result["checks"]}
    agent.post("Say done", "start")
    assert agent.post("Say done", "complete", answer="no").json()["verdict"] == "fail"
    run = agent.client.get(f"/v1/benchmark-runs/{agent.run['id']}").json()
    assert (run["phase"], run["status"], run["verdict"], run["score"]) == ("completed", "completed", "partial", 0.5)


def test_run_is_a_run_of_the_store(hosted: Hosted) -> None:
    agent = hosted.start()
    copy_form(agent.post("Copy", "start").json())
    agent.post("Copy", "complete")
    agent.client.post(f"/v1/benchmark-runs/{agent.run['id']}/cancel")
    store = hosted.server.store
    run = store.run(agent.run["id"])
    assert (run.status, run.solver, run.published and run.published.name) == ("cancelled", "robin", "forms@1")
    [copied] = [each for each in store.task_runs(run.id) if each.verdict == "pass"]
    assert copied.task == "Copy"
    assert not store.check_seals(run.id).is_changed


def test_token_of_one_run_does_not_reach_another(hosted: Hosted) -> None:
    one, other = hosted.start(), hosted.start()
    response = one.client.post(f"/v1/task-runs/{other.task('Copy')}/start")
    assert (response.status_code, response.json()["code"]) == (404, "NOT_FOUND")


def test_scored_run_hides_criteria_and_log_for_good(hosted: Hosted) -> None:
    agent = hosted.start(scored=True)
    agent.post("Say done", "start")
    completed = agent.post("Say done", "complete", answer="done").json()
    assert (completed["verdict"], completed["checks"]) == ("pass", None)
    agent.client.post(f"/v1/benchmark-runs/{agent.run['id']}/cancel")
    task = agent.task("Say done")
    with hosted.client(hosted.person) as person, hosted.client(hosted.solver) as solver:
        [check] = [each for each in person.get(f"/v1/task-runs/{task}").json()["checks"] if each["label"] == "answered"]
        hidden = ["events", "transcript", f"artifacts/{'0' * 64}"]
        paths = [f"/v1/task-runs/{task}/{what}" for what in hidden]
        paths += [f"/v1/criterion-runs?task_run_id={task}", f"/v1/criterion-runs/{check['id']}"]
        for client in (agent.client, solver):
            assert [client.get(path).status_code for path in paths] == [403] * len(paths)
            assert client.get(f"/v1/task-runs/{task}").json()["checks"] is None
        assert person.get(paths[-1]).json()["label"] == "answered"


def test_conversation_goes_on_with_each_reply(hosted: Hosted) -> None:
    agent = hosted.start("talk@1")
    started = agent.post("Two questions", "start").json()
    assert (started["type"], started["text"]) == ("turn", "Where is my order?")
    following = agent.post("Two questions", "messages", say="Let me see.").json()
    assert following["text"] == "And when?"
    refused = agent.post("Two questions", "messages", say=7)
    assert (refused.status_code, refused.json()["code"]) == (400, "BAD_REQUEST")
    last = agent.post("Two questions", "messages", say={"text": "tomorrow"}).json()
    assert (last["type"], last["result"]["verdict"]) == (None, "pass")
    transcript = agent.client.get(f"/v1/task-runs/{agent.task('Two questions')}/transcript").json()["messages"]
    assert [each["text"] for each in transcript] == ["Where is my order?", "Let me see.", "And when?", "tomorrow"]


def test_start_is_answered_again_and_completion_is_not(hosted: Hosted) -> None:
    agent = hosted.start()
    first, second = agent.post("Say done", "start").json(), agent.post("Say done", "start").json()
    assert first["sandboxes"] == second["sandboxes"]
    assert agent.post("Copy", "complete").status_code == 409
    assert agent.post("Say done", "complete", answer="done").status_code == 200
    assert agent.post("Say done", "complete", answer="done").status_code == 409
    assert agent.post("Say done", "start").status_code == 409


def test_idempotency_key_completes_once(hosted: Hosted) -> None:
    agent = hosted.start()
    agent.post("Say done", "start")
    path, headers = f"/v1/task-runs/{agent.task('Say done')}/complete", {"idempotency-key": "one"}
    first = agent.client.post(path, json={"answer": "done"}, headers=headers)
    again = agent.client.post(path, json={"answer": "done"}, headers=headers)
    assert (again.status_code, again.json()) == (first.status_code, first.json())


def test_many_agents_work_at_once_each_in_its_own_playground(hosted: Hosted) -> None:
    agents = [hosted.start() for _ in range(6)]
    verdicts: list[str] = []

    def work(agent: Agent) -> None:
        copy_form(agent.post("Copy", "start").json())
        verdicts.append(agent.post("Copy", "complete").json()["verdict"])

    threads = [threading.Thread(target=work, args=(agent,)) for agent in agents]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert verdicts == ["pass"] * 6


def test_silent_agent_is_graded_when_its_heartbeat_stops(hosted: Hosted) -> None:
    agent = hosted.start()
    copy_form(agent.post("Copy", "start").json())
    agent.post("Copy", "start", heartbeat_within=0.2)
    task = agent.task("Copy")
    result = wait_until(lambda: _ended(agent.client.get(f"/v1/task-runs/{task}").json()))
    assert (result["status"], result["verdict"]) == ("timed_out", "fail")
    assert [check["passed"] for check in result["checks"] if check["label"] == "there"] == [True]
    assert agent.post("Copy", "heartbeat").status_code == 409


def _ended(task: dict[str, Any]) -> dict[str, Any]:
    return task if task["phase"] == "completed" else {}


def test_restart_keeps_what_was_acknowledged_and_the_task_run_can_be_started_again(hosted: Hosted) -> None:
    agent = hosted.start()
    agent.post("Say done", "start")
    agent.post("Say done", "complete", answer="done")
    copy_form(agent.post("Copy", "start").json())
    log = hosted.client(hosted.person).get(f"/v1/task-runs/{agent.task('Copy')}/events?limit=1000").json()["data"]
    hosted.restart()
    agent = hosted.again(agent)
    tasks = {each["name"]: each for each in agent.run["task_runs"]}
    assert tasks["Say done"]["verdict"] == "pass"
    assert (tasks["Copy"]["phase"], tasks["Copy"]["attempt"]) == ("created", 2)
    assert "the server stopped during attempt 1" in tasks["Copy"]["reason"]
    [cut_off] = hosted.server.store.task_runs(agent.run["id"], task="Copy")
    assert (cut_off.status, cut_off.attempt, cut_off.events) == ("cancelled", 1, len(log))
    copy_form(agent.post("Copy", "start").json())
    assert agent.post("Copy", "complete").json()["verdict"] == "pass"
    assert hosted.again(agent).run["status"] == "completed"


def test_run_can_be_graded_again_compared_and_reported(hosted: Hosted) -> None:
    agent = hosted.start(tasks=["Say done"])
    agent.post("Say done", "start")
    agent.post("Say done", "complete", answer="done")
    run = agent.run["id"]
    with hosted.client(hosted.person) as person:
        again = person.post(f"/v1/benchmark-runs/{run}/rescore").json()
        assert (again["id"] != run, again["verdict"], again["task_runs"][0]["verdict"]) == (True, "pass", "pass")
        assert person.get(f"/v1/benchmark-runs/{run}/compare/{again['id']}").json()["tasks"]
        report = person.get(f"/v1/benchmark-runs/{run}/report")
        assert report.headers["content-type"].startswith("text/html")
        assert "Say done" in report.text
        listed = person.get("/v1/benchmark-runs?benchmark=forms@1").json()["data"]
        assert [each["id"] for each in listed] == [again["id"], run]


def test_events_are_filtered_paged_and_streamed(hosted: Hosted) -> None:
    agent = hosted.start()
    copy_form(agent.post("Copy", "start").json())
    path = f"/v1/task-runs/{agent.task('Copy')}/events"
    first = agent.client.get(f"{path}?limit=2").json()
    rest = agent.client.get(f"{path}?after={first['_meta']['next']}").json()
    assert [event["seq"] for event in first["data"] + rest["data"]] == list(range(1, 3 + len(rest["data"])))
    assert {event["source"] for event in agent.client.get(f"{path}?source=drop").json()["data"]} == {"drop"}
    agent.post("Copy", "complete")
    streamed = agent.client.get(path, headers={"accept": "text/event-stream"})
    assert streamed.text.count('data: {"seq"') == len(agent.client.get(f"{path}?limit=1000").json()["data"])
    assert streamed.text.endswith("event: end\ndata: {}\n\n")


def test_benchmark_with_variables_of_the_environment_is_refused(
    hosted: Hosted, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SECRET_OF_THE_SERVER", "swordfish")
    suite = tmp_path / "leak"
    suite.mkdir()
    text = SUITE.replace("say: done", 'say: "${SECRET_OF_THE_SERVER}"').replace("slug: forms", "slug: leak")
    (suite / "suite.yml").write_text(text, encoding="utf-8")
    request = PublishRequest(path=suite, name="leak@1", to=hosted.server.published.folder)
    publish(request, Settings(), build_catalog_without_plugins())
    refused = hosted.client(hosted.solver).post("/v1/benchmark-runs", json={"benchmark": "leak@1"})
    assert refused.status_code == 400
    assert "SECRET_OF_THE_SERVER" in refused.text
    assert "swordfish" not in refused.text


def test_benchmark_with_functions_is_refused_before_they_run(hosted: Hosted, tmp_path: Path) -> None:
    marker, suite = tmp_path / "ran", tmp_path / "lend"
    write_files(suite, functions=f"open({str(marker)!r}, 'w').close()\n{FUNCTIONS}")
    (suite / "task.yml").write_text(write_task("{table_state: {table: loans}}"), encoding="utf-8")
    (suite / "benchmark.yml").write_text("benchmark: {name: Lend, slug: lend, version: 1}", encoding="utf-8")
    request = PublishRequest(path=suite, name="lend@1", to=hosted.server.published.folder)
    publish(request, Settings(), build_catalog_without_plugins())
    refused = hosted.client(hosted.solver).post("/v1/benchmark-runs", json={"benchmark": "lend@1"})
    assert (refused.status_code, "a server runs no program" in refused.text) == (400, True)
    assert not marker.exists()


def test_handles_reach_sandboxes_and_the_clock_through_the_server(hosted: Hosted) -> None:
    agent = hosted.start()
    assert agent.post("Copy", "sandbox-requests", request="now").status_code == 409
    agent.post("Copy", "start")
    send = {"request": "send", "sandbox": "drop", "headers": {}}
    read = agent.post("Copy", "sandbox-requests", **send, method="GET", path="/files/form.txt").json()
    assert (read["value"]["status"], b64decode(read["value"]["body"])) == (200, b"NAME: Ada")
    written = agent.post("Copy", "sandbox-requests", **send, method="PUT", path="/files/out.txt", body="QWRh").json()
    assert written["value"]["status"] in (200, 201)
    assert agent.post("Copy", "sandbox-requests", request="advance", seconds=90).json()["error"] is None
    unknown = agent.post("Copy", "sandbox-requests", request="call", sandbox="drop", operation="fly").json()
    assert unknown["error"]["type"] == "builtins:ValueError"
    missing = agent.post("Copy", "sandbox-requests", request="url", sandbox="none").json()
    assert missing["error"]["type"].endswith(":AgentError")
    assert agent.post("Copy", "complete").json()["verdict"] == "pass"


def test_agent_can_say_why_it_failed(hosted: Hosted) -> None:
    agent = hosted.start()
    agent.post("Say done", "start")
    result = agent.post("Say done", "complete", error="no idea").json()
    assert (result["verdict"], result["status"], result["agent_error"]) == ("fail", "completed", "no idea")
    assert (result["ending"], result["reason"]) == ("agent_failed", "no idea")


def test_seconds_left_are_those_of_the_reply_that_a_person_waits_for(hosted: Hosted) -> None:
    assert hosted.start("talk@1").post("Two questions", "start").json()["seconds_left"] <= 60
