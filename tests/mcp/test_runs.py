"""Agents of all kinds call tools over MCP in a run, with the log that their calls leave."""

import json
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

import pytest

from clerkship.actors.contract import Message
from clerkship.model.run import TaskRun
from clerkship.sandbox.handle import Sandboxes
from tests.actors.programs import TALK, WORK, program, suite
from tests.actors.servers import Answered, Asked, Served
from tests.workbench import Workbench

CLIENT = """
import json
from urllib.request import Request, urlopen
def call(url, token, tool, **arguments):
    headers = {"Authorization": "Bearer " + token, "Content-Type": "application/json"}
    params = {"name": tool, "arguments": arguments}
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
    reply = json.load(urlopen(Request(url, json.dumps(message).encode(), headers)))
    return reply["result"]["content"][0]["text"]
def work(url, token):
    call(url, token, "drop__write_file", path="notes.txt", data="six times seven")
    call(url, token, "wait", duration="5m")
    return call(url, token, "drop__read_file", path="notes.txt")
"""
ADDRESS = 'os.environ["CLERKSHIP_MCP_URL"], os.environ["CLERKSHIP_MCP_TOKEN"]'
FINISHING = f"""{CLIENT}
work({ADDRESS})
call({ADDRESS}, "finish", answer=42)
print("I have done what was asked.")
"""
KINDS = [
    "run.started",
    "agent.started",
    "agent.action.executed",
    "files.file.written",
    "clock.advanced",
    "agent.action.executed",
    "agent.action.executed",
    "files.file.read",
    "agent.answered",
    "run.ended",
]


def call(url: str, token: str, tool: str, **arguments: Any) -> str:
    """Call a tool over MCP; return the text of its result."""
    headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": tool, "arguments": arguments}}
    with urlopen(Request(url, json.dumps(message).encode(), headers)) as response:
        return str(json.load(response)["result"]["content"][0]["text"])


def work(url: str, token: str) -> str:
    """Do what the programs do."""
    call(url, token, "drop__write_file", path="notes.txt", data="six times seven")
    call(url, token, "wait", duration="5m")
    return call(url, token, "drop__read_file", path="notes.txt")


def check(bench: Workbench, task_run: TaskRun) -> None:
    """Check that the run passed, and has the calls in its log and no token."""
    assert (task_run.verdict, task_run.agent_error) == ("pass", "")
    assert bench.kinds(task_run) == KINDS
    assert b"clk_mcp" not in b"".join(bench.store.log(task_run))


def test_program_gets_variables_and_finishes_over_mcp(bench: Workbench, tmp_path: Path) -> None:
    suite(bench, WORK)
    task_run = bench.run_one(program(tmp_path, FINISHING))
    check(bench, task_run)
    assert task_run.answer == 42  # not what it printed


def test_program_may_answer_itself(bench: Workbench, tmp_path: Path) -> None:
    suite(bench, WORK)
    source = f"{CLIENT}\nassert work({ADDRESS}) == 'six times seven'\nsay({{'answer': 42}})\n"
    check(bench, bench.run_one(program(tmp_path, source)))


def test_agent_behind_an_address_gets_it_with_the_task(bench: Workbench) -> None:
    def answer(asked: Asked) -> Answered:
        work(**json.loads(asked.body)["mcp"])
        return 200, {"Content-Type": "application/json"}, b'{"answer": 42}'

    suite(bench, WORK)
    with Served(answer) as served:
        check(bench, bench.run_one(f"http:{served.url}"))


def test_function_reads_the_address(bench: Workbench) -> None:
    def on_task(task_item: Any, sandboxes: Sandboxes) -> int:
        assert sandboxes.mcp is not None
        work(*sandboxes.mcp)
        return 42

    suite(bench, WORK)
    check(bench, bench.run_one(on_task))


def test_python_agent_in_a_process_reads_the_address(
    bench: Workbench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = f"{CLIENT}\ndef on_task(task_item, sandboxes):\n    work(*sandboxes.mcp)\n    return 42\n"
    (tmp_path / "own_tools.py").write_text(source, encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    suite(bench, WORK)
    check(bench, bench.run_one("python:own_tools:on_task", agent_process=True))


def test_same_calls_give_the_same_bytes(bench: Workbench, tmp_path: Path) -> None:
    suite(bench, WORK)
    heads = {bench.run_one(program(tmp_path, FINISHING)).head for _ in range(2)}
    assert len(heads) == 1


def test_trials_at_the_same_time_have_their_own_tools(bench: Workbench, tmp_path: Path) -> None:
    suite(bench, WORK)
    for task_run in bench.run(program(tmp_path, FINISHING), trials=4, concurrency=4):
        check(bench, task_run)


def test_calls_in_a_conversation_are_recorded_and_replayed(bench: Workbench) -> None:
    seen: list[str] = []

    def on_turn(message: Message, sandboxes: Sandboxes) -> str:
        assert sandboxes.mcp is not None
        call(*sandboxes.mcp, "write_file", path=f"{message.turn}.txt", data="x")
        call(*sandboxes.mcp, "wait", duration="1m")
        seen.append(message.text)
        return "bye"

    suite(bench, TALK)
    recorded = bench.run_one(on_turn, tape="record", tapes_agent=True)
    replayed = bench.run_one("recorded", tape="replay")
    assert len(seen) == 1
    assert (recorded.verdict, replayed.verdict) == ("pass", "pass")
    assert bench.kinds(recorded) == bench.kinds(replayed)
    assert bench.kinds(recorded).count("agent.action.executed") == 2
    assert recorded.head == replayed.head
