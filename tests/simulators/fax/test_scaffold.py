"""The task that `clerkship new task` writes for an environment with a fax line."""

import json
from pathlib import Path

import pytest

from clerkship.cli.app import run

ENVIRONMENT = """
environment:
  name: desk
  simulators: {line: {kind: fax}}
"""


def test_new_task_is_passed_by_its_solution_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("practice").mkdir()
    Path("practice/desk.yml").write_text(ENVIRONMENT, encoding="utf-8")
    assert run(["new", "task", "Answer a fax"]) == 0
    assert run(["validate", "practice"]) == 0
    for agent, verdict in (("oracle", "pass"), ("nop", "fail")):
        capsysbinary.readouterr()
        run(["run", "practice", "--agent", agent, "--json"])
        [task] = json.loads(capsysbinary.readouterr().out)["tasks"]
        assert task["verdict"] == verdict
