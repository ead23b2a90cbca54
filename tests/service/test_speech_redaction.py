"""Parts of a value that a cut or a beep leaves alone are redacted."""

from typing import Any

import orjson
import pytest

from clerkship.events.event import render_event
from clerkship.model.redaction import build_redactor
from clerkship.service.exporting import write_reports
from clerkship.service.log_redaction import SpeechRedactor
from clerkship.service.redacting import build_run_redactor
from clerkship.service.report_targets import ReportTargets
from clerkship.service.task_view import show_task
from tests.simulators.voice.call_log_builder import CallLogBuilder
from tests.workbench import Workbench

VALUE = "Adaeze Okafor 4471902"
BY = build_redactor({"NAME": VALUE})


def redact(log: CallLogBuilder) -> list[dict[str, Any]]:
    """Return the payloads of a log, redacted."""
    redactor = SpeechRedactor(BY)
    events = [orjson.loads(render_event(event, {})) for event in log.log.events]
    return [BY.event(redactor.redact(event))["payload"] for event in events]


def test_speech_cut_within_a_value_shows_nothing_of_the_value() -> None:
    log = CallLogBuilder()
    call = log.start()
    log.say(call, f"This is {VALUE}, hello.")
    log.cut(call, "This is Adaeze", 1.0)
    assert redact(log)[-1]["heard"] == "This is "


def test_speech_cut_before_or_after_a_value_stays() -> None:
    log = CallLogBuilder()
    call = log.start()
    log.say(call, f"This is {VALUE}, hello there.")
    log.cut(call, "This is", 0.5)
    log.say(call, f"This is {VALUE}, hello there.")
    log.cut(call, f"This is {VALUE}, hello", 2.0)
    log.hear(call, "Nothing to hide here.")
    log.cut(call, "Nothing to", 0.5)
    heard = [payload["heard"] for payload in redact(log) if "heard" in payload]
    assert heard == ["This is", "This is ${NAME}, hello", "Nothing to"]


def test_value_that_a_beep_divides_is_not_shown() -> None:
    log = CallLogBuilder()
    log.leave(None, "Okafor 4471902. Please call back.", before_beep="It is about Adaeze")
    [left] = redact(log)
    assert (left["before_beep"], left["text"]) == ("It is about ", ". Please call back.")


def test_voicemail_without_a_divided_value_stays() -> None:
    log = CallLogBuilder()
    log.leave(None, f"For {VALUE}.", before_beep="Hello?")
    [left] = redact(log)
    assert (left["before_beep"], left["text"]) == ("Hello?", "For ${NAME}.")


SUITE = """\
environment:
  name: office
  simulators:
    phone:
      kind: voice
      config:
        mailboxes: [{name: night, greeting: "Leave a message for Adaeze Okafor 4471902 after the tone."}]
        lines: [{number: "+15550100300", name: Home, mailbox: night}]
task:
  name: A
  task_item: {instruction: "Call ${PATIENT_NAME}."}
  criteria: [{label: called, assertion: {voice_call: {outcome: completed}}}]
"""


def interrupt(task_item: Any, sandboxes: Any) -> None:
    """Hang up when the first word of the value has been said."""
    phone = sandboxes["phone"]
    call = phone.dial("+15550100300")
    for _ in range(400):
        heard = phone.wait(call, 0.2)["heard"]
        if any("Adaeze" in part.get("text", "") for part in heard):
            break
    phone.hang_up(call)


def test_reports_and_views_show_no_part_of_a_value_that_was_cut(
    bench: Workbench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATIENT_NAME", VALUE)
    bench.write("a.yml", SUITE)
    task_run = bench.run_one(interrupt)
    cuts = [line for line in bench.store.log(task_run) if b"voice.speech.cut" in line]
    assert any(b"Adaeze" in line for line in cuts), cuts
    run = bench.store.run(task_run.run)
    html, jsonl = bench.folder.parent / "report.html", bench.folder.parent / "run.jsonl"
    write_reports(bench.store, run.id, ReportTargets(html=html, jsonl=jsonl))
    view = show_task(bench.store, run.id, "A").redacted(build_run_redactor(bench.store, run))
    for text in (html.read_text(encoding="utf-8"), jsonl.read_text(encoding="utf-8"), str(view.call_events)):
        assert "Leave a message for" in text
        assert "Adaeze" not in text
        assert "Okafor" not in text
