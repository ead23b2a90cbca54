"""Agents and models get the time in the environment's time zone; the log is in UTC."""

import shlex
import sys
from pathlib import Path
from typing import Any

from tests.actors.servers import Served
from tests.actors.test_model_agent import model, says, solver
from tests.workbench import Workbench

SUITE = """\
environment:
  name: clinic
  now: 2026-03-02T22:30:00-05:00
  simulators:
    drop: {kind: files}
task:
  name: What day is it
  task_item: {instruction: Say what day it is.}
  criteria:
    - {label: The day, assertion: {answer_matches: "2026-03-02"}}
"""
PROGRAM = """
import json, sys, urllib.request
work = json.loads(sys.stdin.readline())
clock = work["clock"]
request = urllib.request.Request(clock["url"] + "/", headers={"Authorization": "Bearer " + clock["token"]})
told = json.load(urllib.request.urlopen(request))["now"]
assert told.endswith("-05:00"), told
print(json.dumps({"answer": work["now"][:10]}))
"""


def by_date(task_item: Any, sandboxes: Any) -> str:
    return str(sandboxes.now.date())


def test_python_agent_gets_local_time_and_the_log_is_in_utc(bench: Workbench) -> None:
    bench.write("suite.yml", SUITE)
    task_run = bench.run_one(by_date)
    assert task_run.verdict == "pass"
    assert {event["at"][:14] + event["at"][-1] for event in bench.events(task_run)} == {"2026-03-03T03:Z"}


def test_program_gets_local_time_in_its_message_and_from_the_clock(bench: Workbench, tmp_path: Path) -> None:
    bench.write("suite.yml", SUITE)
    (tmp_path / "agent.py").write_text(PROGRAM, encoding="utf-8")
    assert (
        bench.run_one(f"command:{shlex.quote(sys.executable)} {shlex.quote(str(tmp_path / 'agent.py'))}").verdict
        == "pass"
    )


def test_model_gets_local_time(bench: Workbench) -> None:
    seen: list[str] = []

    def script(messages: list[dict[str, Any]]) -> dict[str, Any]:
        seen.append(messages[0]["content"])
        return says("2026-03-02")

    bench.write("suite.yml", SUITE)
    with Served(model(script)) as served:
        assert bench.run_one(solver(served.url)).verdict == "pass"
    assert seen == ["It is Monday 2026-03-02 22:30 UTC-05:00."]
