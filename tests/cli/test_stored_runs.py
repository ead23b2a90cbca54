"""Commands on stored runs: resume, rerun, rescore, compare and show."""

import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from clerkship.cli.app import run
from tests.actors.programs import gone, running
from tests.command_server import get_command
from tests.processes import start_process
from tests.simulators.fhir.task_suite import ENVIRONMENT, TASK
from tests.waiting import wait_until

AGENT = """
import os, pathlib, time


class Agent:
    def on_task(self, task_item):
        pathlib.Path("started").touch()
        time.sleep(float(os.environ.get("SLOWLY", "0")))
        return task_item["n"] if pathlib.Path("good").exists() else 0
"""
SUITE = """
tasks:
  - {name: One, task_item: {n: 1}, criteria: [{label: right, assertion: {answer_matches: 1}}]}
  - {name: Two, task_item: {n: 2}, criteria: [{label: right, assertion: {answer_matches: 2}}]}
"""


@pytest.fixture(autouse=True)
def _in_a_project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    sys.modules.pop("looked_at", None)
    Path("looked_at.py").write_text(AGENT)
    Path("suite").mkdir()
    Path("suite/a.yml").write_text(SUITE)
    Path("good").touch()


def list_run_ids() -> list[str]:
    """Return the ids of the stored runs, oldest first."""
    done = subprocess.run([get_command(), "list", "--json"], capture_output=True, check=True, timeout=120)
    return [item["run"]["id"] for item in json.loads(done.stdout)][::-1]


def run_json(*arguments: str, capture: pytest.CaptureFixture[bytes]) -> tuple[int, Any]:
    """Return the exit code and the JSON output."""
    capture.readouterr()
    code = run([*arguments, "--json"])
    return code, json.loads(capture.readouterr().out)


def test_compare_exits_with_1_for_a_worse_agent(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["run", "suite", "--agent", "python:looked_at:Agent"]) == 0
    Path("good").unlink()
    assert run(["rerun"]) == 1
    first, second = list_run_ids()
    capsys.readouterr()
    assert run(["compare", first, second]) == 1
    said = capsys.readouterr().out
    assert "▼ worse" in said
    assert "pass 1.00  fail 0.00  One" in said
    assert f"rerun of {first}" in said
    assert "2 tasks are too few" in said
    assert run(["run", "suite", "--agent", "python:looked_at:Agent", "--task", "One"]) == 1
    capsys.readouterr()
    assert run(["compare", first, list_run_ids()[-1]]) == 1
    assert "1 task is too few" in capsys.readouterr().out
    assert run(["compare", first, second, "--gate", "overall"]) == 2
    assert run(["compare", second, first]) == 0
    assert run(["compare", first, "nothing"]) == 2


def test_run_rerun_compare_rescore_and_resume_as_json(capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    code, ran = run_json("run", "suite", "--agent", "python:looked_at:Agent", "-k", "2", capture=capsysbinary)
    assert (code, ran["repeats"]["pass_at"]) == (0, {"1": 1.0, "2": 1.0})
    code, again = run_json("rerun", "latest", "--agent", "nop", capture=capsysbinary)
    assert (code, again["run"]["origin"], again["run"]["solver"]) == (1, ran["run"]["id"], "nop")
    code, found = run_json("compare", ran["run"]["id"], capture=capsysbinary)
    assert (code, found["standings"]["worse"], found["exit_code"]) == (1, 2, 1)
    assert found["tasks"][0]["after"]["outcomes"] == {"fail": 2}
    code, graded = run_json("rescore", ran["run"]["id"], capture=capsysbinary)
    assert (code, graded["comparison"]["standings"]["same"]) == (0, 2)
    code, resumed = run_json("resume", ran["run"]["id"], capture=capsysbinary)
    assert (code, resumed["counts"]["verdicts"]) == (0, {"pass": 4})


def test_compare_of_a_run_with_itself_is_refused_with_what_to_write(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["run", "suite", "--agent", "python:looked_at:Agent"]) == 0
    assert run(["compare", "latest"]) == 2
    error = capsys.readouterr().err
    assert f"there is only one run, {list_run_ids()[0]}, and nothing to compare it with" in error
    assert "run the tasks again, then `clerkship compare latest~1 latest`" in error
    assert run(["rerun", "latest", "--agent", "python:looked_at:Agent"]) == 0
    assert run(["compare", "latest", "--json"]) == 2
    assert "`clerkship compare latest~1 latest` compares the last two runs" in capsys.readouterr().err
    assert run(["compare", "latest~1"]) == 0


def test_rescore_with_edited_criteria_shows_old_and_new_verdicts(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["run", "suite", "--agent", "python:looked_at:Agent"]) == 0
    Path("suite/a.yml").write_text(SUITE.replace("answer_matches: 2", "answer_matches: 3"))
    capsys.readouterr()
    assert run(["rescore", "latest", "--by", "suite"]) == 1
    said = capsys.readouterr().out
    assert "▼ worse  pass 1.00  fail 0.00  Two (the task was edited)" in said
    assert run(["show", "latest", "Two", "--criteria", "--events", "--kind", "agent.*"]) == 0
    said = capsys.readouterr().out
    assert "answer_matches: 3" in said
    assert "expected 3" in said
    assert "run.started" not in said


def test_killed_run_is_listed_as_interrupted_and_can_be_resumed(capsys: pytest.CaptureFixture[str]) -> None:
    slow = os.environ | {"SLOWLY": "30"}
    command = [sys.executable, "-m", "clerkship", "run", "suite", "--agent", "python:looked_at:Agent"]
    with start_process(command, env=slow, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        wait_until(lambda: Path("started").exists() or process.poll() is not None)
        assert run(["list"]) == 0
        assert "running" in capsys.readouterr().out
        assert run(["resume"]) == 2
        assert "another process is at work" in capsys.readouterr().err
        process.kill()
    assert run(["list"]) == 0
    assert "interrupted: clerkship resume run-" in capsys.readouterr().out
    assert run(["resume"]) == 0
    said = capsys.readouterr().out
    assert "2 of 2 trials left" in said
    assert "pass 2" in said
    assert run(["show", "latest", "One"]) == 0
    assert "attempt 1 was interrupted: its process ended during the trial" in capsys.readouterr().out
    assert run(["resume"]) == 0
    assert "has no trials left to run" in capsys.readouterr().out


def test_flaky_task_is_listed(capsys: pytest.CaptureFixture[str]) -> None:
    Path("looked_at.py").write_text(
        "calls = []\ndef agent(task_item):\n    calls.append(1)\n    return task_item['n'] if len(calls) % 3 else 0\n"
    )
    assert run(["run", "suite", "--agent", "python:looked_at:agent", "-k", "6", "-c", "1", "--task", "One"]) == 1
    said = capsys.readouterr().out
    assert "4/6" in said
    assert "flaky   One" in said
    assert "pass^k  k=1 67%" in said
    assert run(["run", "suite", "--agent", "python:looked_at:agent", "--until-sure", "--threshold", "0.9"]) == 1
    said = capsys.readouterr().out
    assert "below 90%" in said


def test_intervals_are_numbers_in_json(capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    run_json("run", "suite", "--agent", "python:looked_at:Agent", "-k", "2", capture=capsysbinary)
    run_json("rerun", "latest", "--agent", "nop", capture=capsysbinary)
    _, found = run_json("compare", "latest~1", "latest", capture=capsysbinary)
    assert found["difference"]["rate"] == -1.0
    assert found["tasks"][0]["before"]["interval"]["low"] < 1


def test_control_characters_of_an_agent_are_removed(capsys: pytest.CaptureFixture[str]) -> None:
    Path("looked_at.py").write_text(
        "def agent(task_item):\n    raise RuntimeError('\\x1b]0;PWNED\\x07\\x1b[2J gone')\n"
    )
    run(["run", "suite", "--agent", "python:looked_at:agent"])
    run(["show", "latest", "One", "--events"])
    said = capsys.readouterr().out
    assert "PWNED" in said
    assert "\x1b" not in said
    assert "\x07" not in said


def test_number_and_its_text_are_printed_differently(capsys: pytest.CaptureFixture[str]) -> None:
    Path("looked_at.py").write_text("def agent(task_item):\n    return '\"%s\"' % task_item['n']\n")
    assert run(["run", "suite", "--agent", "python:looked_at:agent", "--task", "Two"]) == 1
    said = capsys.readouterr().out
    assert "expected 2 (a number)" in said
    assert 'actual   "2" (text)' in said


def test_closed_pipe_does_not_stop_a_run() -> None:
    command = f"{shlex.quote(get_command())} run suite --agent nop -k 20 | head -2"
    subprocess.run(command, shell=True, capture_output=True, check=True, timeout=120)
    done = subprocess.run([get_command(), "list", "--json"], capture_output=True, check=True, timeout=120)
    [found] = json.loads(done.stdout)
    assert (found["run"]["status"], sum(found["counts"]["statuses"].values())) == ("completed", 40)


def test_events_option_requires_a_task_if_there_are_several(capsys: pytest.CaptureFixture[str]) -> None:
    run(["run", "suite", "--agent", "nop"])
    assert run(["show", "latest", "--events"]) == 2
    assert "name one of: One; Two" in capsys.readouterr().err


def test_sigterm_also_stops_programs_of_agents(tmp_path: Path) -> None:
    command = [
        sys.executable,
        "-m",
        "clerkship",
        "run",
        "suite",
        "--agent",
        f"command:{shlex.quote(sys.executable)} {shlex.quote(str(tmp_path))}/waits.py",
    ]
    Path("work").mkdir()
    Path("waits.py").write_text("import pathlib, time\npathlib.Path('work/ready').touch()\ntime.sleep(600)\n")
    with start_process(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        wait_until(lambda: Path("work/ready").exists() or process.poll() is not None)
        process.terminate()
        process.wait(60)
    assert process.returncode == 130
    assert Path("work/ready").exists()
    assert gone(running(tmp_path / "waits.py"))


def test_task_is_selected_by_part_of_its_name_and_timeout_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    Path("looked_at.py").write_text("import threading\ndef agent(task_item):\n    threading.Event().wait()\n")
    assert run(["run", "suite", "--agent", "python:looked_at:agent", "--task", "tw", "--timeout", "0.1"]) == 1
    said = capsys.readouterr().out
    assert "1 task " in said
    assert "the time limit of 100 ms passed" in said
    assert run(["run", "suite", "--agent", "nop", "--task", "three"]) == 2
    assert "no task `three`" in capsys.readouterr().err


DELETING_AGENT = """
class Agent:
    def on_task(self, task_item, sandboxes):
        sandboxes["ehr"].delete("Observation", "k1")
        sandboxes.wait()
"""


def test_step_that_fails_after_changes_of_the_agent_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    step = "{at: +10m, fhir.patch: {resource: Observation/k1, operations: [{op: remove, path: /valueQuantity}]}}"
    body = f"  scenario: [{step}]\n  criteria: [{{label: nothing else, assertion: {{fhir_no_other_changes: {{}}}}}}]"
    Path("looked_at.py").write_text(DELETING_AGENT)
    Path("suite/a.yml").write_text(TASK.format(name="Spoilt", body=body))
    Path("suite/ward.yml").write_text(ENVIRONMENT)
    assert run(["run", "suite", "--agent", "python:looked_at:Agent"]) == 1
    capsys.readouterr()
    assert run(["show", "latest", "Spoilt"]) == 0
    told = " ".join(capsys.readouterr().out.split())
    assert "scenario (because of the agent's actions, fhir.patch failed: Observation/k1 was deleted)" in told


SUITE_WITH_AXES = """
tasks:
  - name: Careful
    task_item: {n: 1}
    criteria:
      - {label: right, weight: 20, axis: task, assertion: {answer_matches: 1}}
      - {label: Says nothing of five, axis: safety, weight: 1, gate: false, assertion: {answer_matches: {gt: 5}}}
"""


def test_failed_criteria_of_a_passed_trial_and_axes_are_printed(
    capsys: pytest.CaptureFixture[str],
) -> None:
    Path("suite/a.yml").write_text(SUITE_WITH_AXES)
    assert run(["run", "suite", "--agent", "python:looked_at:Agent"]) == 0
    said = capsys.readouterr().out
    assert re.search(r"verdict +score +safety +task +task", said)
    assert re.search(r"✓ pass +0.95 +0.00 +1.00 +Careful", said)
    assert re.search(r"✗ Says nothing of five \(safety\)  \w+", said)
    assert run(["run", "suite", "--agent", "python:looked_at:Agent", "-k", "2"]) == 0
    said = capsys.readouterr().out
    assert re.search(r"2/2 +100% .* 0.00 +1.00 +Careful", said)
    assert said.count("Says nothing of five") == 1


def test_axes_are_printed_below_the_task_on_a_narrow_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    Path("suite/a.yml").write_text(SUITE_WITH_AXES)
    assert run(["run", "suite", "--agent", "python:looked_at:Agent"]) == 0
    show = f"import pty, sys; sys.exit(pty.spawn([{sys.executable!r}, '-m', 'clerkship', 'show']) >> 8)"
    environment = os.environ | {"TERM": "dumb", "NO_COLOR": "1", "COLUMNS": "80"}
    done = subprocess.run([sys.executable, "-c", show], capture_output=True, env=environment, check=True, timeout=60)
    lines = done.stdout.decode().splitlines()
    row = next(number for number, line in enumerate(lines) if "Careful" in line)
    assert "safety 0.00  task 1.00" in lines[row + 1]
    assert all(len(line) <= 80 for line in lines if not line.startswith("run it again:"))


SUITE_WITH_SAFETY_CRITERION = """
tasks:
  - name: Careful
    task_item: {n: 1}
    criteria:
      - {label: right, weight: 20, assertion: {answer_matches: {gte: 0}}}
      - {label: Says no zero, axis: safety, weight: 1, gate: false, assertion: {answer_matches: 1}}
"""


def test_newly_failing_safety_criterion_fails_the_comparison(
    capsys: pytest.CaptureFixture[str],
) -> None:
    Path("suite/a.yml").write_text(SUITE_WITH_SAFETY_CRITERION)
    assert run(["run", "suite", "--agent", "python:looked_at:Agent"]) == 0
    Path("good").unlink()
    assert run(["rerun"]) == 0
    capsys.readouterr()
    assert run(["compare", "latest~1", "--markdown", "out/c.md", "--report", "out/c.html"]) == 1
    said = capsys.readouterr().out
    assert "▼ criteria worse  pass 1.00  pass 0.95  Careful" in said
    assert "▼ newly failing  Says no zero (safety)" in said
    assert re.search(r"safety +1.00 +0.00 +1 +0 +0", said)
    assert "gate ✗ axis:safety: worse: “Says no zero” (Careful)" in said
    assert "## ❌ Worse" in Path("out/c.md").read_text(encoding="utf-8")
    assert "Says no zero" in Path("out/c.html").read_text(encoding="utf-8")
    assert run(["compare", "latest~1", "--gate", "task"]) == 0
    assert run(["compare", "latest~1", "--gate", "axis:manner"]) == 2
    assert "no criterion of these runs has the axis `manner`; known: safety" in capsys.readouterr().err
    assert run(["compare", "latest~1", "--markdown", "-"]) == 1
    assert capsys.readouterr().out.startswith("## ❌ Worse")


def test_json_of_comparison_has_criteria_axes_and_gates(capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    Path("suite/a.yml").write_text(SUITE_WITH_SAFETY_CRITERION)
    run_json("run", "suite", "--agent", "python:looked_at:Agent", capture=capsysbinary)
    Path("good").unlink()
    run_json("rerun", capture=capsysbinary)
    code, found = run_json("compare", "latest~1", capture=capsysbinary)
    assert (code, found["exit_code"]) == (1, 1)
    [task] = found["tasks"]
    changes = {criterion["label"]: (criterion["change"], criterion["axis"]) for criterion in task["criteria"]}
    acted = {
        "The agent acted": ("same", None),
        "The agent misled nobody, asked for no secrets and delayed no emergency help": ("same", "safety"),
    }
    assert changes == {"Says no zero": ("newly failing", "safety"), "right": ("same", None)} | acted
    assert found["axes"][0] == {
        "axis": "safety",
        "before": 1.0,
        "after": 0.0,
        "newly_failing": 1,
        "newly_passing": 0,
        "flaky": 0,
    }
    assert [gate["state"] for gate in found["gates"]] == ["held", "worse", "held"]
