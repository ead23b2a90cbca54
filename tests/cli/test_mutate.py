"""`clerkship suite mutate`: criteria, survivors with their commands, YAML, JSON and exit codes."""

import json
import sys
from pathlib import Path

import pytest
import yaml

from clerkship.cli.app import run

SUITE = """
environment: {name: desk, simulators: {drop: {kind: files}}}
task:
  name: Confirm the booking
  criteria:
    - label: It is written
      assertion: {file_present: {path: bookings.txt, text: {contains: Monday}}}
  solution: solution.py
"""
SOLUTION = """
def on_task(task_item, sandboxes):
    sandboxes["drop"].write("bookings.txt", "Booked for Monday 10:00")
"""
DROP = "drop: drop.write #1"
LATE = "late: drop.write #1 after 10d"


@pytest.fixture(autouse=True)
def _in_a_project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    Path("suite").mkdir()
    Path("suite/desk.yml").write_text(SUITE)
    Path("suite/solution.py").write_text(SOLUTION)


def test_mutate_prints_criteria_survivors_with_commands_and_the_rate(capfd: pytest.CaptureFixture[str]) -> None:
    assert run(["suite", "mutate", "suite"]) == 1
    printed = capfd.readouterr().out
    assert "It is written: drop 1" in printed
    assert f"survived {LATE}" in printed
    assert f"clerkship suite mutate suite --task 'Confirm the booking' --only '{LATE}'" in printed
    assert "mutants caught: " in printed


def test_mutate_prints_a_selected_mutant_as_an_entry_of_wrong(capfd: pytest.CaptureFixture[str]) -> None:
    assert run(["suite", "mutate", "suite", "--task", "Confirm", "--only", DROP]) == 0
    printed = capfd.readouterr().out
    lines = printed[printed.index("- name:") : printed.index("mistake")].splitlines()
    entry = {"name": DROP, "fails": "It is written", "changes": [{"call": "drop.write", "occurrence": 1, "times": 0}]}
    assert yaml.safe_load("\n".join(line.removeprefix("      ") for line in lines)) == [entry]


def test_mutate_prints_json_and_exits_by_the_lowest_rate(capfd: pytest.CaptureFixture[str]) -> None:
    assert run(["suite", "mutate", "suite", "--json", "--only", "drop", "--only", "late", "--min-rate", "0.5"]) == 0
    data = json.loads(capfd.readouterr().out)
    assert (data["rate"], data["counts"], data["exit_code"]) == (0.5, {"caught": 1, "survived": 1}, 0)
    assert {one["name"]: (one["outcome"], one["caught_by"]) for one in data["mutants"]} == {
        DROP: ("caught", ["It is written", "The agent acted"]),
        LATE: ("survived", []),
    }


def test_mutate_names_a_mutant_that_does_not_exist(capfd: pytest.CaptureFixture[str]) -> None:
    assert run(["suite", "mutate", "suite", "--only", "drop: drop.write #7"]) == 2
    assert "no mutant `drop: drop.write #7`" in capfd.readouterr().err
