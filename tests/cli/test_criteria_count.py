"""One trial gives the same count of criteria in every view; what is checked on every task is listed apart."""

import json
import re
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

from clerkship.cli.app import run
from clerkship.report.outcome import CriteriaCount, split_criteria
from tests.report.made_up import criterion

AGENT = """
class Idle:
    def on_task(self, task_item):
        return None
"""
SUITE = """
tasks:
  - name: Say one
    task_item: {n: 1}
    criteria:
      - {label: Does little, assertion: {max_agent_actions: 5}}
      - {label: Says one, assertion: {answer_matches: 1}}
      - {label: Is polite, assertion: {judged: The agent is polite}}
"""
COUNT = "1 of 2 criteria passed, 1 was skipped"


def test_criteria_are_the_only_criterion_runs_that_are_counted() -> None:
    failed_gate = criterion("The agent acted", assertion="agent_acted", weight=0)
    monitor = criterion("Reads no other chart", monitor=True, weight=0, gate=False)
    errored = criterion("Is polite", status="error")
    runs = (failed_gate, criterion(passed=True), monitor, errored)
    assert [run.label for run in split_criteria(runs)[1]] == ["The agent acted", "Reads no other chart"]
    assert CriteriaCount.of(runs) == (1, 2, 1, 0)
    assert CriteriaCount.of(runs).sentence() == "1 of 2 criteria passed, 1 could not be judged"


def test_trial_has_the_same_count_in_every_view(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    Path("idle_agent.py").write_text(AGENT)
    Path("suite").mkdir()
    Path("suite/a.yml").write_text(SUITE)
    reports = ["--report", "r.html", "--junit", "r.xml", "--markdown", "r.md", "--results", "rasa"]
    assert run(["run", "suite", "--agent", "python:idle_agent:Idle", "--no-judge", *reports]) == 1
    printed = capsys.readouterr().out
    assert re.search(r"✗ fail \(did nothing\) +0.50 +Say one +1/2 1 skipped", printed)
    assert "1 criterion not judged" in printed
    failures = printed[printed.index("✗ Says one") :]
    assert failures.index("✗ Says one") < failures.index("✗ The agent acted (gate, on every task)")

    assert run(["show", "latest", "Say one"]) == 0
    shown = capsys.readouterr().out
    assert COUNT in shown
    assert re.findall(r"(\S) (?:Does little|Says one|Is polite|The agent acted)", shown)[:2] == ["✓", "✗"]
    assert shown.index("Is polite") < shown.index("The agent acted (gate, on every task)")

    page = re.search(r'<script[^>]*id="data"[^>]*>(.*?)</script>', Path("r.html").read_text(), re.DOTALL)
    assert page is not None
    body = json.loads(page[1])["trials"][0]["body"]
    assert body["criteria_count"] == COUNT
    assert [one["label"] for one in body["criteria"] if not one["implied"]] == ["Does little", "Says one", "Is polite"]

    failure = ElementTree.parse("r.xml").getroot().find(".//failure")
    assert failure is not None
    assert failure.text is not None
    assert "✗ The agent acted (gate, on every task)" in failure.text
    markdown = Path("r.md").read_text()
    assert "| <code>Says one</code>; on every task: <code>The agent acted</code> |" in markdown
    assert "(gate, on every task)" in markdown
    [result] = Path().rglob("run_1.json")
    data = json.loads(result.read_text())
    assert data["assertions_summary"] == {"passed": 1, "total": 2, "all_passed": False}
    assert [check["check"] for check in data["checks"]] == ["The agent acted"]
    assert "checked on every task: The agent acted" in result.with_suffix(".txt").read_text()
