"""`clerkship run --on` plays a published version of a server: the same table, records and exit codes as a local run."""

import json
import os
import re
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path
from textwrap import dedent
from typing import Any, cast

import pytest

from clerkship.actors.contract import AgentError
from clerkship.actors.host_link import Disconnected
from clerkship.cli.app import run as run_cli
from clerkship.client import Client
from clerkship.engine.catalog import build_catalog_without_plugins
from clerkship.events.agent import SlotSet
from clerkship.model.server_objects import SandboxAnswer, SandboxError
from clerkship.sandbox.handle import Refused
from clerkship.service.server_link import ServerLink, open_server_sandboxes
from clerkship.simulators.files.handle import Files
from tests.client.conftest import RunningServer
from tests.waiting import wait_until

Run = Callable[..., tuple[int, str]]
AGENT = """
import time
from clerkship.plugin import Say

async def copy(task_item, sandboxes):
    if "say" in task_item:
        raise ValueError("I only copy")
    drop = sandboxes["drop"]
    drop.write(task_item["to"], drop.read(task_item["from"]))

def hang(task_item, sandboxes):
    time.sleep(60)

class Shop:
    def on_start(self, start):
        self.started = start.conversation

    def on_turn(self, message):
        assert self.started == message.conversation
        return Say("It comes tomorrow." if message.turn == 2 else "Let me see.")
"""


@pytest.fixture
def run_command(
    running: RunningServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Iterator[Run]:
    """Yield a function that calls `clerkship run` in an empty folder: at the server, unless it is to run locally."""
    (tmp_path / "my_agent.py").write_text(dedent(AGENT), encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("CLERKSHIP_SERVER_KEY", running.person)

    def run(benchmark: str, agent: str, *options: str, local: bool = False) -> tuple[int, str]:
        folder = running.server.published.folder
        place = [str(folder / f"{benchmark}.clerkship")] if local else [benchmark, "--on", running.url]
        code = run_cli(["run", *place, "--agent", agent, *options])
        captured = capsys.readouterr()
        return code, captured.out if "--json" in options else captured.out + captured.err

    yield run
    sys.modules.pop("my_agent", None)  # other tests have another file of this name


def read_table(shown: str) -> list[str]:
    """Return what a run printed, without what names the run and its place."""
    return [
        line.rstrip() for line in shown.splitlines() if not re.match(r"report|run|details|not signed|forms@1  ", line)
    ]


@pytest.mark.parametrize("agent", ["oracle", "nop"])
def test_run_on_a_server_shows_what_a_local_run_shows(run_command: Run, agent: str) -> None:
    code, shown = run_command("forms@1", agent, "-c", "1")
    local_code, local = run_command("forms@1", agent, "-c", "1", local=True)
    assert (code, read_table(shown)) == (local_code, read_table(local)), f"{shown}\n{local}"
    assert code == {"oracle": 0, "nop": 1}[agent]


def test_records_are_those_of_a_local_run(run_command: Run) -> None:
    options = ("--json", "-k", "2", "--seed", "7", "--tag", "files", "--junit", "junit.xml", "--markdown", "run.md")
    agent = "python:my_agent:copy"
    hosted, local = (json.loads(run_command("forms@1", agent, *options, local=place)[1]) for place in (False, True))
    assert (hosted["exit_code"], hosted["counts"]) == (local["exit_code"], local["counts"]) == (0, local["counts"])
    own = {"run", "snapshot"}
    for mine, theirs in zip(hosted["tasks"], local["tasks"], strict=True):
        assert {name: mine[name] for name in mine.keys() - own} == {name: theirs[name] for name in mine.keys() - own}
    assert Path("junit.xml").read_text(encoding="utf-8").count("<testcase") == 2
    assert "Copy" in Path("run.md").read_text(encoding="utf-8")
    assert "Copy" in Path(hosted["report"]).read_text(encoding="utf-8")


def test_agent_that_crashes_fails_as_it_does_locally(run_command: Run) -> None:
    code, shown = run_command("forms@1", "python:my_agent:copy", "--task", "Say")
    assert code == 1
    assert "ValueError: I only copy (my_agent.py:7)" in shown


def test_program_gets_the_task_and_the_sandboxes(run_command: Run) -> None:
    script = """
        import json, sys, urllib.request
        message = json.loads(sys.stdin.readline())
        drop = message["sandboxes"]["drop"]
        def call(method, path, body=None):
            headers = {"authorization": "Bearer " + drop["token"]}
            request = urllib.request.Request(drop["url"] + path, body, headers, method=method)
            return urllib.request.urlopen(request).read()
        call("PUT", "/files/out.txt", call("GET", "/files/form.txt"))
        print(json.dumps({"answer": "copied"}), flush=True)
    """
    Path("agent.py").write_text(dedent(script), encoding="utf-8")
    code, shown = run_command("forms@1", "command:python agent.py", "--task", "Copy")
    assert (code, "pass" in shown) == (0, True), shown


def test_agent_process_uses_the_same_handles(run_command: Run) -> None:
    code, shown = run_command("forms@1", "python:my_agent:copy", "--agent-process", "--task", "Copy")
    assert (code, "pass" in shown) == (0, True), shown


def test_conversation_goes_through_the_messages_of_the_server(run_command: Run) -> None:
    code, shown = run_command("talk@1", "python:my_agent:Shop", "-k", "2")
    assert (code, "2/2" in shown) == (0, True), shown


def test_task_for_another_entry_point_is_errored(run_command: Run) -> None:
    code, shown = run_command("talk@1", "python:my_agent:copy")
    assert code == 2
    assert "has no on_turn, and this task starts with the person" in shown


def test_key_of_a_solver_runs_agents_but_no_solutions(
    running: RunningServer, run_command: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("CLERKSHIP_SERVER_KEY")
    Path("solver.key").write_text(f"{running.solver}\n", encoding="utf-8")
    code, shown = run_command(
        "forms@1", "python:my_agent:copy", "--task", "Copy", "--key-file", "solver.key", "--scored"
    )
    assert code == 0, shown
    assert not Path(".clerkship/reports").exists()
    code, shown = run_command("forms@1", "oracle", "--key-file", "solver.key")
    assert (code, "use the key of a person" in shown) == (2, True), shown


@pytest.mark.parametrize(
    ("benchmark", "options", "message"),
    [
        ("forms@1", ["--timeout", "5"], "--timeout 5s has no effect with --on"),
        ("forms@1", ["--no-judge"], "--no-judge has no effect with --on"),
        ("forms@1", ["--watch"], "--on and --watch exclude each other"),
        ("forms@1", ["--jsonl", "x.jsonl"], "--jsonl is written from the store of a local run"),
        ("suites/forms", [], "is not a version"),
        ("none@1", [], "there is no published version"),
        ("forms@1", ["--key-file", "none"], "--key-file none cannot be read: No such file"),
    ],
)
def test_what_makes_no_sense_on_a_server_is_refused(
    run_command: Run, benchmark: str, options: list[str], message: str
) -> None:
    code, shown = run_command(benchmark, "nop", *options)
    assert code == 2
    assert message in " ".join(shown.split()), shown


def test_run_needs_a_key(run_command: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CLERKSHIP_SERVER_KEY")
    code, shown = run_command("forms@1", "nop")
    assert (code, "set CLERKSHIP_SERVER_KEY" in shown) == (2, True), shown


def test_agent_that_takes_too_long_is_graded_by_the_server(run_command: Run, running: RunningServer) -> None:
    code, shown = run_command("quick@1", "python:my_agent:hang")
    assert code == 1
    assert "timed out" in shown


def test_ctrl_c_cancels_the_run_at_the_server(run_command: Run, running: RunningServer) -> None:
    def interrupt() -> None:
        wait_until(lambda: running.server.live.trial_count)
        os.kill(os.getpid(), signal.SIGINT)

    interrupting = threading.Thread(target=interrupt)
    interrupting.start()
    code, shown = run_command("forms@1", "python:my_agent:hang", "-c", "1")
    interrupting.join(30)
    assert code == 130, shown
    found = re.search(r"run (run-\S+) at", shown)
    assert found is not None, shown
    with Client(running.url, running.person) as client:
        run = client.get_benchmark_run(found[1])
    assert (run.status, run.task_runs[0].status) == ("cancelled", "cancelled")


class AnsweringClient:
    """Stands for a client: it gives an answer to each request to a sandbox."""

    def __init__(self, answer: SandboxAnswer) -> None:
        self._answer = answer

    def send_sandbox_request(self, task_run_id: str, request: str, **details: Any) -> SandboxAnswer:
        """Return the answer."""
        return self._answer


@pytest.mark.parametrize(
    ("kind", "raised"),
    [
        ("builtins:ValueError", ValueError),
        ("clerkship.actors.agent_data:AgentError", AgentError),
        ("clerkship.sandbox.handle:Refused", RuntimeError),  # it needs a reply
        ("os:system", RuntimeError),
        ("builtins:exec", RuntimeError),
        ("builtins:SystemExit", RuntimeError),
        ("clerkship.by_name:load", RuntimeError),
        ("antigravity:fly", RuntimeError),
    ],
)
def test_server_names_exceptions_and_nothing_else_to_run(kind: str, raised: type[Exception], tmp_path: Path) -> None:
    message = f"touch {tmp_path / 'executed'}"
    answer = SandboxAnswer(error=SandboxError(type=kind, message=message))
    link = ServerLink(cast(Client, AnsweringClient(answer)), "tr_1")
    with pytest.raises(raised, match="touch"):
        link.request("now")
    assert list(tmp_path.iterdir()) == []


def test_handles_behave_as_they_do_locally(running: RunningServer) -> None:
    with Client(running.url, running.solver) as server:
        run = server.start_benchmark_run("forms@1", tasks=["Copy"])
        agent, task = server.with_key(run.bearer_token), run.task_runs[0].id
        sandboxes = open_server_sandboxes(agent, agent.start_task_run(task), build_catalog_without_plugins())
        drop = sandboxes.get_as(Files)
        content = bytes(range(256)) * 10_000  # larger than other bodies may be
        drop.write("large.bin", content)
        assert drop.read("large.bin") == content
        with pytest.raises(Refused, match="no file"):
            drop.read("missing.txt")
        with pytest.raises(ValueError, match="no operation `fly`"):
            drop.call("fly")
        before = sandboxes.now
        sandboxes.wait("10m")
        assert sandboxes.now - before >= timedelta(minutes=10)
        assert sandboxes.report(SlotSet(name="copied", value=True)).kind == "agent.slot.set"
        assert drop.token
        assert drop.url.startswith("http://127.0.0.1:")
        agent.complete_task_run(task)
        with pytest.raises(Disconnected, match="ended"):
            drop.read("form.txt")
