"""`clerkship fork`."""

import html
import json
import sys
from pathlib import Path
from typing import Any

import pytest

from clerkship.cli.app import run

AGENTS = """
class Curt:
    def on_turn(self, message):
        return "no" if message.turn == 2 else "yes"


class Kind:
    def on_history(self, history):
        self.past = [turn.text for turn in history.turns]

    def on_turn(self, message):
        return f"gladly, after {self.past}" if message.turn == 2 else "bye"


class Blank:
    def on_turn(self, message):
        raise SystemError("gone")
"""
SUITE = """
environment: {name: desk, simulators: {chat: {kind: chat}}}
tasks:
  - name: Ask for a refund
    scenario: {starts: person, person: {lines: [hello, a refund please, thanks]}}
    criteria:
      - {label: agrees, gate: true, assertion: {bot_uttered: {text_matches: gladly}}}
  - {name: Work, task_item: {n: 1}, criteria: [{label: any, assertion: {answer_matches: 1}}]}
"""


@pytest.fixture(autouse=True)
def _in_a_project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    sys.modules.pop("talkers", None)
    Path("talkers.py").write_text(AGENTS)
    Path("suite").mkdir()
    Path("suite/a.yml").write_text(SUITE)
    assert run(["run", "suite", "--task", "refund", "--agent", "python:talkers:Curt"]) == 1


def test_fork_with_another_agent_continues_and_passes(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["fork", "latest", "refund", "--at-turn", "2", "-a", "python:talkers:Kind", "--markdown", "a.md"]) == 0
    told = capsys.readouterr().out
    assert "Ask for a refund from turn 2 on" in told
    assert "warmed up" not in told
    assert run(["show", "latest", "refund"]) == 0
    assert "gladly, after ['hello']" in capsys.readouterr().out
    assert run(["list"]) == 0
    assert "fork of run-" in "".join(capsys.readouterr().out.split("\n")).replace("  ", " ")
    assert run(["compare", "latest~1", "latest"]) == 0
    assert "at turn 2" in capsys.readouterr().out
    report = next(Path(".clerkship/reports").glob("*.html"))
    assert report.exists()
    assert "--at-turn 2 --trial 1 --agent python:talkers:Kind" in html.unescape(Path("a.md").read_text())


def test_agent_without_on_history_is_warmed_up_with_a_warning(capsys: pytest.CaptureFixture[str]) -> None:
    capsys.readouterr()
    assert run(["fork", "latest", "refund", "--at-turn", "3", "-k", "2"]) == 1
    told = " ".join(capsys.readouterr().out.split())
    assert "python:talkers:Curt has no on_history: it is warmed up: it answers lines 1 to 2 again" in told
    assert "from turn 3 on × 2" in told
    assert run(["rerun"]) == 1
    assert run(["resume"]) == 1


def test_fork_as_json(capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    capsysbinary.readouterr()
    code = run(["fork", "latest", "refund", "--at-turn", "2", "--agent", "python:talkers:Blank", "--json"])
    found: dict[str, Any] = json.loads(capsysbinary.readouterr().out)
    assert (code, found["exit_code"]) == (1, 1)
    assert found["run"]["fork"]["turn"] == 2
    assert found["tasks"][0]["ending"] == "agent_failed"
    assert "warmed up" in found["warnings"][0]


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["latest", "refund", "--at-turn", "4"], "has no turn 4; it has 3 turns"),
        (["latest", "refund", "--at-turn", "0"], "has no turn 0; it has 3 turns"),
        (["latest", "Work", "--at-turn", "1"], "unknown task 'Work'"),
        (["latest", "refund", "--at-turn", "1", "--trial", "7"], "has no trial 7"),
        (["run-1999", "refund", "--at-turn", "1"], "no run"),
        (["latest", "refund", "--at-turn", "1", "--agent", "rhubarb:x"], "unknown agent `rhubarb:x`"),
        (["latest", "refund"], "--at-turn"),
    ],
)
def test_invalid_fork_is_an_error(words: list[str], told: str, capsys: pytest.CaptureFixture[str]) -> None:
    capsys.readouterr()
    assert run(["fork", *words]) == 2
    said = capsys.readouterr()
    assert told in " ".join((said.err + said.out).split())


def test_task_without_conversation_cannot_be_forked(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["run", "suite", "--task", "Work", "--agent", "nop"]) == 1
    capsys.readouterr()
    assert run(["fork", "latest", "Work", "--at-turn", "1"]) == 2
    assert "is not a conversation: its agent worked on a task item" in " ".join(capsys.readouterr().err.split())
