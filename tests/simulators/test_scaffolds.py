"""The tasks that `clerkship new task` writes for environments with a sandbox of each kind."""

import json
from pathlib import Path

import pytest

from clerkship.cli.app import run
from clerkship.simulators.registry import KINDS
from tests.choices import mark_slow_after

ENVIRONMENTS = {kind.kind: f"simulators: {{sandbox: {{kind: {kind.kind}}}}}" for kind in KINDS if kind.spec.scaffold}
for needs_payer in ("portal", "x12"):
    ENVIRONMENTS[needs_payer] += "\n  domains: {payer: {kind: payer}}"


@pytest.mark.parametrize("kind", mark_slow_after(3, ENVIRONMENTS))
def test_new_task_is_passed_by_its_solution_only(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("practice").mkdir()
    Path("practice/desk.yml").write_text(
        f"environment:\n  name: desk\n  monitors: gate\n  {ENVIRONMENTS[kind]}\n", encoding="utf-8"
    )
    assert run(["new", "task", "Do the work"]) == 0
    assert run(["validate", "practice"]) == 0
    for agent, verdict in (("oracle", "pass"), ("nop", "fail")):
        capsysbinary.readouterr()
        run(["run", "practice", "--agent", agent, "--json"])
        [task] = json.loads(capsysbinary.readouterr().out)["tasks"]
        assert task["verdict"] == verdict
    assert run(["suite", "attack", "practice"]) == 0
