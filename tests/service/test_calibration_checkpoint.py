"""Calibrations that are interrupted, continued, recorded and replayed."""

import json
import signal
import subprocess
import threading
from pathlib import Path
from typing import Any

import pytest

from clerkship.cli.app import run
from clerkship.model.errors import InputError
from clerkship.service.calibrating import (
    CalibrationPlan,
    CalibrationRequest,
    CalibrationResult,
    calibrate,
    plan_calibration,
    save_result,
)
from clerkship.settings import Settings
from tests.actors.servers import Answered, Asked, Served
from tests.choices import mark_slow_after
from tests.command_server import get_command
from tests.llm.endpoint import bodies, refused, said
from tests.workbench import CATALOG, Workbench

LABELLED = """
labelled:
""" + "".join(
    f"""
  - name: Call {number}
    turns: [{{user: Why is order {number} late?, agent: It snows at depot {number}.}}]
    labels:
      - {{criterion: It says why, passed: {str(number != 3).lower()}}}
"""
    for number in range(1, 7)
)
VERDICT = '{"reasoning": "[T1] says so.", "citations": [{"where": "T1", "quote": "It snows"}], "passed": true}'
SETTINGS = Settings(timeout=20)
REQUEST_COUNT = 6


def prompt(asked: Asked) -> str:
    """Return the prompt of a request."""
    return str(json.loads(asked.body)["messages"][1]["content"])


def plan(bench: Workbench, served: Served | None, **options: Any) -> CalibrationPlan:
    """Plan a calibration of the judge at a server."""
    path = bench.write("labels/labelled.yml", LABELLED)
    judge = f"openai:small@{served.url}/v1" if served is not None else None
    return plan_calibration(CalibrationRequest(path=path, judge=judge, **options), SETTINGS, CATALOG, bench.store)


def judged(bench: Workbench, served: Served | None, **options: Any) -> CalibrationResult:
    """Calibrate the judge at a server."""
    return calibrate(plan(bench, served, **options))


def test_recorded_calibration_is_replayed_without_a_request(bench: Workbench) -> None:
    with Served(lambda asked: said(VERDICT)) as served:
        recorded = judged(bench, served, tape="record")
    assert recorded.tape is not None
    assert (recorded.tape.written, len(served.asked)) == (REQUEST_COUNT, REQUEST_COUNT)
    assert [Path(file).name for file in recorded.tape.files] == ["labelled.jsonl"]
    replayed = judged(bench, None, tape="replay")
    assert replayed.tape is not None
    assert (replayed.tape.replayed, replayed.tape.missed) == (REQUEST_COUNT, 0)
    assert replayed.calibration.overall == recorded.calibration.overall
    assert replayed.calibration.judge.prompt == recorded.calibration.judge.prompt


def test_refresh_asks_only_for_missing_answers(bench: Workbench) -> None:
    with Served(lambda asked: said(VERDICT)) as served:
        judged(bench, served, tape="record")
        path = bench.write("labels/labelled.yml", LABELLED.replace("depot 2", "depot 22"))
        request = CalibrationRequest(path=path, judge=f"openai:small@{served.url}/v1", tape="refresh")
        found = calibrate(plan_calibration(request, SETTINGS, CATALOG, bench.store))
    assert found.tape is not None
    assert (found.tape.written, found.tape.replayed) == (1, REQUEST_COUNT - 1)
    assert len(served.asked) == REQUEST_COUNT + 1


def test_new_recording_loses_answers_to_conversations_that_are_gone(bench: Workbench) -> None:
    with Served(lambda asked: said(VERDICT)) as served:
        judged(bench, served, tape="record")
        kept = LABELLED[: LABELLED.index("  - name: Call 4")]
        path = bench.write("labels/labelled.yml", kept)
        request = CalibrationRequest(path=path, judge=f"openai:small@{served.url}/v1", tape="record")
        found = calibrate(plan_calibration(request, SETTINGS, CATALOG, bench.store))
    assert found.tape is not None
    assert (found.tape.written, found.tape.dropped) == (3, 3)


def test_replay_names_what_is_not_recorded(bench: Workbench) -> None:
    with Served(lambda asked: said(VERDICT)) as served:
        judged(bench, served, tape="record")
    path = bench.write("labels/labelled.yml", LABELLED.replace("depot 2", "depot 22"))
    found = calibrate(plan_calibration(CalibrationRequest(path=path, tape="replay"), SETTINGS, CATALOG, bench.store))
    [missing] = found.unjudged()
    assert missing.conversation == "Call 2"
    assert "not recorded" in missing.result.detail
    assert found.tape is not None
    assert found.tape.missed == 1


def test_replay_without_a_recording_is_refused(bench: Workbench) -> None:
    with pytest.raises(InputError, match="judge"):
        judged(bench, None, tape="replay")


def test_answers_are_kept_if_some_labels_got_none(bench: Workbench) -> None:
    def answer(asked: Asked) -> Answered:
        is_broken = "depot 5" in prompt(asked) and len(served.asked) <= REQUEST_COUNT
        return refused(403, "not now") if is_broken else said(VERDICT)

    with Served(answer) as served:
        first = judged(bench, served)
        assert [each.conversation for each in first.unjudged()] == ["Call 5"]
        second = plan(bench, served)
        assert second.checkpoint is not None
        assert second.checkpoint.answers == REQUEST_COUNT - 1
        assert calibrate(second).unjudged() == []
        assert not second.checkpoint.path.exists()
    assert len(served.asked) == REQUEST_COUNT + 1
    assert "depot 5" in prompt(served.asked[-1])


def test_invalid_answers_are_asked_for_again(bench: Workbench) -> None:
    is_invalid = True

    def answer(asked: Asked) -> Answered:
        return said("I think so.") if is_invalid and "depot 1" in prompt(asked) else said(VERDICT)

    with Served(answer) as served:
        assert [each.conversation for each in judged(bench, served).unjudged()] == ["Call 1"]
        is_invalid = False
        assert judged(bench, served).unjudged() == []


def test_restart_asks_for_everything_again(bench: Workbench) -> None:
    with Served(lambda asked: refused(403, "no") if "depot 6" in prompt(asked) else said(VERDICT)) as served:
        judged(bench, served)
        again = plan(bench, served, restarts=True)
        assert again.checkpoint is not None
        assert again.checkpoint.answers == 0
        calibrate(again)
    assert len(served.asked) == 2 * REQUEST_COUNT


def test_complete_calibration_leaves_no_answers_behind(bench: Workbench) -> None:
    with Served(lambda asked: said(VERDICT)) as served:
        judged(bench, served)
        judged(bench, served)
    assert len(served.asked) == 2 * REQUEST_COUNT


def test_interrupted_result_is_not_saved(bench: Workbench, tmp_path: Path) -> None:
    with Served(lambda asked: said(VERDICT)) as served:
        whole = judged(bench, served)
    part = CalibrationResult(whole.calibration, whole.judgements[:2], whole.used, whole.total)
    assert (part.is_interrupted, part.exit_code(), whole.exit_code()) == (True, 130, 0)
    save_result(part, bench.store, tmp_path / "calibration.json")
    assert not (tmp_path / "calibration.json").exists()


@pytest.mark.parametrize("number", mark_slow_after(1, [signal.SIGTERM, signal.SIGINT]))
def test_signal_ends_calibration_with_what_it_has_and_the_same_command_continues(
    tmp_path: Path, number: signal.Signals
) -> None:
    (tmp_path / "labelled.yml").write_text(LABELLED)
    stuck, closing, is_first = threading.Event(), threading.Event(), True

    def answer(asked: Asked) -> Answered | None:
        if is_first and len(served.asked) > 3:
            stuck.set()
            closing.wait(60)
            return None
        return said(VERDICT)

    with Served(answer) as served:
        words = ["judge", "calibrate", "labelled.yml", "--judge", f"openai:small@{served.url}/v1", "-c", "1"]
        command = [get_command(), *words, "--save", "calibration.json"]
        process = subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        assert stuck.wait(60)
        process.send_signal(number)
        try:
            out, err = process.communicate(timeout=30)
        finally:
            process.kill()
            closing.set()
        assert process.returncode == 130
        assert "Traceback" not in err
        assert "[3/6] false pass: Call 3: It says why" in out
        assert "agreed with people in 2 of 3 labels" in out
        assert "interrupted after 3 of 6 labels; not saved. Answers are kept: run the same command again" in " ".join(
            err.split()
        )
        assert not (tmp_path / "calibration.json").exists()
        before, is_first = len(served.asked), False
        second = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=60)
    assert second.returncode == 0
    assert "continued: 3 answers of an interrupted calibration used" in second.stdout
    assert "agreed with people in 5 of 6 labels" in second.stdout
    assert len(served.asked) - before == 3
    assert (tmp_path / "calibration.json").exists()
    assert not list(tmp_path.glob(".clerkship/cassettes/*"))


def test_options_limit_each_answer_of_the_judge(bench: Workbench) -> None:
    with Served(lambda asked: said(VERDICT)) as served:
        judged(bench, served, max_tokens=321)
    assert {body["max_tokens"] for body in bodies(served)} == {321}


def test_command_records_and_replays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("labelled.yml").write_text(LABELLED)
    with Served(lambda asked: said(VERDICT)) as served:
        words = ["judge", "calibrate", "labelled.yml", "--judge", f"openai:small@{served.url}/v1"]
        assert run([*words, "--record"]) == 0
    assert "record 6 recorded" in " ".join(capsys.readouterr().out.split())
    assert run(["judge", "calibrate", "labelled.yml", "--replay", "--json"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert (data["interrupted"], data["labels_judged"], data["tape"]["replayed"]) == (False, 6, 6)
