"""`clerkship judge calibrate`."""

import json
import shutil
import signal
import subprocess
import threading
from pathlib import Path
from typing import Any

import pytest

from clerkship.cli.app import run
from tests.actors.servers import Asked, Served
from tests.command_server import get_command

EXAMPLE = Path(__file__).parents[2] / "examples" / "order_support"
COMMAND = ["judge", "calibrate", "labelled.yml", "--judge", "scripted:labelled_judge.json"]


@pytest.fixture(autouse=True)
def _beside_the_set(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    for name in ("labelled.yml", "labelled_judge.json"):
        shutil.copy(EXAMPLE / name, name)


def test_calibrate_prints_agreement_and_each_disagreement(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(COMMAND) == 0
    told = capsys.readouterr().out
    lines = [" ".join(line.split()) for line in told.splitlines()]
    assert lines[0] == "labelled.yml 12 conversations, 29 labels judge scripted:labelled_judge.json"
    assert "2/3 67% 21% – 94% 0.40 1 0 0 Agent changes the delivery address and tells the user so" in lines
    assert "27/29 93% 78% – 98% 0.86 1 1 0 all" in lines
    place = lines.index("✗ false pass Moved to Oak Lane, it says")
    assert lines[place + 1 : place + 5] == [
        "Agent changes the delivery address and tells the user so",
        "person fail: nothing in the ledger changes an address; the flow was called off",
        "judge pass: In [T1] the agent says that it has changed the address.",
        "T1 #4 “I have changed the address”",
    ]
    assert "✗ false fail A refund refused" in lines
    assert lines[-1].startswith("agreed with people in 27 of 29 labels κ 0.86 1 false pass, 1 false fail prompt")


def run_json(capture: pytest.CaptureFixture[str], *more: str) -> tuple[int, dict[str, Any]]:
    """Return the exit code and the JSON output."""
    capture.readouterr()
    code = run([*COMMAND, *more, "--json"])
    return code, json.loads(capture.readouterr().out)


def test_calibrate_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    code, found = run_json(capsys)
    assert (code, found["exit_code"]) == (0, 0)
    assert found["overall"]["kappa"] == pytest.approx(0.8606, abs=1e-4)
    assert found["overall"]["agreement"]["low"] == pytest.approx(0.7804, abs=1e-4)
    assert {name: one["false_passes"] for name, one in found["criteria"].items() if one["false_passes"]} == {
        "Agent changes the delivery address and tells the user so": 1
    }
    first, second = found["disagreements"]
    assert first["label"]["passed"] is False
    assert first["verdict"]["passed"] is True
    assert second["verdict"]["rationale"].startswith("In [T1] the agent speaks of a refund")
    assert found["errors"] == []


@pytest.mark.parametrize(
    ("more", "code", "told"),
    [
        (["--at-least", "0.8", "--max-false-passes", "1"], 0, ""),
        (["--at-least", "0.9"], 1, "κ is 0.86 (expected: at least 0.9)"),
        (["--max-false-passes", "0"], 1, "1 false pass (expected: at most 0)"),
        (["--at-least", "2"], 2, "at-least"),
        (["--votes", "2"], 2, "odd number"),
        (["--judge", "nobody:x"], 2, "nobody:x"),
    ],
)
def test_exit_code_follows_from_agreement_and_false_passes(
    capsys: pytest.CaptureFixture[str], more: list[str], code: int, told: str
) -> None:
    assert run([*COMMAND, *more]) == code
    assert told in capsys.readouterr().err


def test_label_without_verdict_is_an_error_and_fails_every_gate(capsys: pytest.CaptureFixture[str]) -> None:
    answers = json.loads(Path("labelled_judge.json").read_text())["answers"]
    Path("labelled_judge.json").write_text(json.dumps(answers[1:]))
    assert run(COMMAND) == 0
    told = capsys.readouterr().out
    assert "! not judged  The reason, plainly" in told
    assert "has no answer to a question about criterion" in told
    assert "agreed with people in 26 of 28 labels" in told.splitlines()[-1]
    assert "1 not judged" in told.splitlines()[-1]
    assert run([*COMMAND, "--max-false-passes", "9"]) == 2
    assert "1 of 29 labels got no verdict" in capsys.readouterr().err


def test_summary_says_why_there_is_no_kappa(capsys: pytest.CaptureFixture[str]) -> None:
    answers = json.loads(Path("labelled_judge.json").read_text())["answers"]
    Path("labelled_judge.json").write_text(json.dumps([answers[0] | {"matches": "no such words"}]))
    assert run(COMMAND) == 2
    assert "agreed with people in 0 of 0 labels   no label was judged, so no κ" in capsys.readouterr().out
    Path("labelled_judge.json").write_text(json.dumps(answers[:1]))
    assert run(COMMAND) == 0
    assert "agreed with people in 1 of 1 labels   all judged labels are the same, so no κ" in capsys.readouterr().out


def test_mistakes_in_the_labelled_set_have_file_and_line(capsys: pytest.CaptureFixture[str]) -> None:
    text = Path("labelled.yml").read_text().replace("flow_started: check", "flow_stared: check", 1)
    Path("labelled.yml").write_text(text)
    assert run(COMMAND) == 2
    told = capsys.readouterr().err
    assert "labelled.yml:13:13:" in told
    assert "unknown event `flow_stared`" in told
    assert "flow_started" in told


def test_saved_calibration_is_shown_by_runs_without_the_store(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    assert run([*COMMAND, "--save", "eval/calibration.json"]) == 0
    assert "saved eval/calibration.json" in capsys.readouterr().out
    Path("eval/scenarios").mkdir()
    Path("eval/scenarios/a.yml").write_text(
        "scenario: {name: A, simulation_context: B, setup: {person: {opening: Send it to 9 Oak Lane}}, "
        "goals: {criteria: [Agent changes the delivery address and tells the user so]}}"
    )
    shutil.rmtree(".clerkship")
    capsys.readouterr()
    run(["run", "eval", "--agent", "nop", "--judge", "scripted:labelled_judge.json"])
    assert "agreed with people" not in capsys.readouterr().out  # nobody was asked: the agent did nothing
    Path("desk.py").write_text("def on_turn(message): return 'Yes, 9 Oak Lane. I have changed the address.'")
    assert run(["run", "eval", "--agent", "python:desk:on_turn", "--judge", "scripted:labelled_judge.json"]) == 0
    told = capsys.readouterr().out
    assert "scripted:labelled_judge.json agreed with people in 27 of 29 labels (κ 0.86; 1 false pass" in told
    assert run(["show", "latest"]) == 0
    assert "agreed with people in 27 of 29 labels" in capsys.readouterr().out


def test_invalid_calibration_file_is_reported_before_judging(capsys: pytest.CaptureFixture[str]) -> None:
    Path("calibration.json").write_text("{")
    assert run([*COMMAND, "--save", "calibration.json"]) == 2
    said = capsys.readouterr()
    assert "calibration.json:2:1: not YAML" in said.err
    assert "conversations" not in said.out


def test_help_of_judge_calibrate(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["judge"]) in (0, 2)
    assert "calibrate" in capsys.readouterr().out
    assert run(["judge", "calibrate", "--help"]) == 0
    assert "--max-false-passes" in capsys.readouterr().out


def test_ctrl_c_stops_calibration_while_the_judge_does_not_answer() -> None:
    asked = threading.Event()
    closing = threading.Event()

    def answer(request: Asked) -> None:
        asked.set()
        closing.wait(60)

    with Served(answer) as served:
        words = ["judge", "calibrate", "labelled.yml", "--judge", f"openai:m@{served.url}/v1"]
        process = subprocess.Popen([get_command(), *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        assert asked.wait(60)
        process.send_signal(signal.SIGINT)
        try:
            _, complaint = process.communicate(timeout=30)
        finally:
            process.kill()
            closing.set()
    assert process.returncode == 130
    assert "Traceback" not in complaint
