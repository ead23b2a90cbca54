"""Phone calls in the HTML report: moments, drawing, what criteria found, limits, and untrusted text."""

import re
import subprocess
import sys
from itertools import pairwise
from pathlib import Path
from typing import Any

import orjson
import pytest

from clerkship.model.duration import describe_duration
from clerkship.model.environment import Environment
from clerkship.model.run import CriterionRun
from clerkship.report import calls
from clerkship.report.call_moments import format_seconds
from clerkship.report.call_strip import MAX_ROW_SECONDS
from clerkship.report.detail import TaskDetail
from clerkship.report.html import render_html
from clerkship.service.exporting import write_reports
from clerkship.service.report_targets import ReportTargets
from tests.report import made_up
from tests.report.made_up_calls import cite, menu_call, queue_call, trial
from tests.simulators.voice.call_log_builder import PATIENT, PAYER, CallLogBuilder
from tests.workbench import Workbench


def render(detail: TaskDetail) -> str:
    """Return the page about one trial."""
    return render_html(made_up.RUN.model_copy(update={"total": 1}), made_up.counts([detail]), [detail])


def read_body(page: str) -> dict[str, Any]:
    """Return the data of the first trial of a page."""
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.DOTALL)
    assert found is not None
    body: dict[str, Any] = orjson.loads(found[1])["trials"][0]["body"]
    return body


def body_of(log: CallLogBuilder, *criteria: CriterionRun, **changes: Any) -> dict[str, Any]:
    """Return what the report shows of a log."""
    return read_body(render(trial(log, criteria, **changes)))


def call_of(log: CallLogBuilder, *criteria: CriterionRun) -> dict[str, Any]:
    """Return the only call of a log."""
    [call] = body_of(log, *criteria)["calls"]
    assert isinstance(call, dict)
    return call


def moments_of(call: dict[str, Any], sort: str) -> list[dict[str, Any]]:
    """Return the moments of a sort."""
    return [moment for moment in call["moments"] if moment["sort"] == sort]


def drawn(call: dict[str, Any], name: str) -> list[dict[str, Any]]:
    """Return what is drawn in the rows of a call, in order."""
    return [item for row in call["rows"] for item in row[name]]


def test_call_has_its_facts_and_measures() -> None:
    log = CallLogBuilder()
    menu_call(log)
    call = call_of(log)
    assert (call["direction"], call["number"], call["ending"]) == ("outbound", PAYER, "completed, ended by the line")
    measures = dict(call["measures"])
    assert list(measures) == ["Length", "Response time", "Dead air", "Overlap", "Interruptions", "Reprompts"]
    assert (measures["Response time"], measures["Interruptions"], measures["Reprompts"]) == ("2 s", "1", "1")


def test_moments_are_in_order_with_speakers_and_times() -> None:
    log = CallLogBuilder()
    menu_call(log)
    call = call_of(log)
    assert [moment["sort"] for moment in call["moments"]] == [
        *("answered", "node", "node", "speech", "keys", "node", "speech", "speech"),
        *("rejected", "verified", "speech", "ended"),
    ]
    assert [(each["speaker"], each["is_by_agent"]) for each in moments_of(call, "speech")] == [
        ("Line", False),
        ("Line", False),
        ("Agent", True),
        ("Line", False),
    ]
    assert [each["text"] for each in moments_of(call, "node")] == ["welcome", "main_menu", "member"]
    assert moments_of(call, "keys")[0]["start"] == "0:06"
    assert moments_of(call, "verified")[0]["text"] == "identity verified: M123"


def test_cut_speech_has_what_was_said_and_what_was_not() -> None:
    log = CallLogBuilder()
    menu_call(log)
    cut, whole, *_ = moments_of(call_of(log), "speech")
    assert (cut["text"], cut["rest"], cut["is_cut"]) == (
        "Welcome. For claims,",
        "press 1. For anything else, press 2.",
        True,
    )
    assert "is_cut" not in whole


def test_digit_that_a_line_misheard_and_words_that_it_lost_are_noted() -> None:
    log = CallLogBuilder()
    call = log.start()
    log.press(call, "12")
    log.say(call, "Hello?", is_heard=False)
    event = log.log.events[-2]
    payload = event.payload.model_copy(update={"understood": "13"})
    log.log.events[-2] = event._replace(payload=payload)
    shown = call_of(log)
    assert moments_of(shown, "keys")[0]["note"] == "the line understood 13"
    assert moments_of(shown, "speech")[0]["note"] == "not heard by the far end"


def test_every_speech_is_drawn_once_within_its_rows() -> None:
    log = CallLogBuilder()
    call = log.start()
    for number in range(30):
        log.hear(call, f"Question {number}. " + "What is the next value that you have for me, please? " * 2)
        log.wait(1)
        log.say(call, "It is this one.")
    log.end(call)
    shown = call_of(log)
    bars = drawn(shown, "bars")
    assert len(shown["rows"]) > 5
    assert {bar["at"] for bar in bars} == {
        place for place, moment in enumerate(shown["moments"]) if moment["sort"] == "speech"
    }
    for row in shown["rows"]:
        for lane in (True, False):
            lane_bars = [bar for bar in row["bars"] if shown["moments"][bar["at"]]["is_by_agent"] is lane]
            ends = [bar["x"] + bar["width"] for bar in lane_bars]
            assert all(end <= 100.1 for end in ends)
            assert all(bar["x"] >= end - 0.1 for bar, end in zip(lane_bars[1:], ends, strict=False))
    assert not any(bar["goes_on"] for bar in bars), "rows break where a speech begins"


def test_speech_longer_than_a_row_goes_on_in_the_next() -> None:
    log = CallLogBuilder()
    call = log.start()
    log.say(call, "and then " * 400)
    log.end(call)
    bars = drawn(call_of(log), "bars")
    assert len(bars) > 1
    assert [bar["goes_on"] for bar in bars] == [True] * (len(bars) - 1) + [False]
    assert [bar["began"] for bar in bars] == [False] + [True] * (len(bars) - 1)


def test_twenty_minutes_on_hold_take_one_row() -> None:
    log = CallLogBuilder()
    queue_call(log, announcements=20)
    call = call_of(log)
    assert len(call["rows"]) == 1
    [hold] = drawn(call, "holds")
    assert 0 < hold["width"] < 80
    assert [label["text"] for label in drawn(call, "labels") if label["text"].startswith("on hold")] == [
        "on hold for 20 min, 19 repeated announcements"
    ]
    assert [gap["text"] for gap in drawn(call, "gaps")] == [describe_duration(1194)]


def test_transcript_has_every_announcement_on_hold() -> None:
    log = CallLogBuilder()
    queue_call(log, announcements=20)
    call = call_of(log)
    assert len([each for each in moments_of(call, "speech") if each["speaker"] == "Line"]) == 20
    assert len(drawn(call, "bars")) == 3


def test_announcement_that_a_criterion_names_is_drawn() -> None:
    log = CallLogBuilder()
    queue_call(log, announcements=5)
    plain = call_of(log)
    third = moments_of(plain, "speech")[2]
    call = call_of(log, cite("Hears it", ("contains", third["seq"], True)))
    assert len(drawn(call, "bars")) == len(drawn(plain, "bars")) + 1


def test_time_on_the_axis_is_not_in_a_compressed_part() -> None:
    log = CallLogBuilder()
    queue_call(log, announcements=20)
    [row] = call_of(log)["rows"]
    places = [tick["x"] for tick in row["ticks"]]
    assert places == sorted(places)
    assert len(places) < 10
    assert row["ticks"][0] == {"x": 0.0, "text": "0:00"}


def test_labels_of_one_level_do_not_cover_each_other() -> None:
    log = CallLogBuilder()
    call = log.start()
    for _ in range(12):
        log.press(call, "12345")
        log.wait(0.4)
        log.visit(call, "a_node_with_a_long_name")
    log.end(call)
    [row] = call_of(log)["rows"]
    for labels in (row["labels"], row["nodes"]):
        by_level: dict[int, list[float]] = {}
        for label in labels:
            by_level.setdefault(label["level"], []).append(label["x"])
        assert len(by_level) > 1
        for places in by_level.values():
            assert all(after - before > 5 for before, after in pairwise(places))


def test_nodes_that_a_call_passes_at_once_have_one_label() -> None:
    log = CallLogBuilder()
    menu_call(log)
    assert [label["text"] for label in drawn(call_of(log), "nodes")] == ["welcome › main_menu", "member"]


def test_row_of_a_long_call_takes_at_most_so_many_seconds() -> None:
    log = CallLogBuilder()
    call = log.start()
    for _ in range(100):
        log.hear(call, "This goes on and on, and nothing of it can be left out of the drawing. " * 3)
    log.end(call)
    shown = call_of(log)
    assert len(shown["rows"]) >= log.now / MAX_ROW_SECONDS - 1


def test_criterion_marks_the_moments_that_it_names() -> None:
    log = CallLogBuilder()
    menu_call(log)
    plain = call_of(log)
    said, keys = moments_of(plain, "speech")[2], moments_of(plain, "keys")[0]
    call = call_of(
        log,
        cite("Another one", ("path", 9_999, False)),
        cite("Says the ID", ("contains", said["seq"], True), ("matches", keys["seq"], False)),
        cite("Is short", ("duration", plain["seq"], False)),
    )
    assert [(each["criterion"], each["label"], each["passed"]) for each in call["findings"]] == [
        (1, "Says the ID", False),
        (2, "Is short", False),
    ]
    assert moments_of(call, "speech")[2]["marks"] == [{"finding": 1, "passed": True}]
    assert moments_of(call, "keys")[0]["marks"] == [{"finding": 1, "passed": False}]
    [place] = call["findings"][1]["places"]
    assert (place["is_call"], place["text"]) == (True, "duration: that, expected this")


def test_trial_without_a_verdict_has_no_findings() -> None:
    log = CallLogBuilder()
    menu_call(log)
    criterion = cite("Says it", ("contains", 5, True))
    body = body_of(log, criterion, status="errored", verdict=None, score=None, ending="errored", error="no disk")
    assert body["calls"][0]["findings"] == []


def test_voicemail_has_what_was_said_before_the_beep() -> None:
    log = CallLogBuilder()
    call = log.start(PATIENT)
    log.say(call, "This is the clinic.", is_heard=False)
    log.beep(call)
    log.say(call, "Please call us back.")
    log.leave(call, "Please call us back.", before_beep="This is the clinic.")
    log.end(call)
    body = body_of(log)
    [voicemail] = body["voicemails"]
    assert (voicemail["before_beep"], voicemail["text"]) == ("This is the clinic.", "Please call us back.")
    assert [each["text"] for each in drawn(body["calls"][0], "labels")] == [
        "answered",
        "beep",
        "voicemail left in patient",
        "completed",
    ]


def test_voicemail_that_was_left_without_a_call_is_listed() -> None:
    log = CallLogBuilder()
    log.leave(None, "It is about my refill.", mailbox="front_office")
    body = body_of(log)
    assert body["calls"] == []
    assert [each["mailbox"] for each in body["voicemails"]] == ["front_office"]


def test_names_of_lines_and_people_are_shown() -> None:
    config = {"lines": [{"number": PAYER, "name": "Cedar Mutual"}]}
    snapshot = made_up.detail(made_up.task_run("A task")).snapshot
    assert snapshot is not None
    environment = Environment.model_validate(
        {"name": "office", "simulators": {"phone": {"kind": "voice", "config": config}}}
    )
    assert calls.find_phone_names(snapshot.model_copy(update={"environment": environment}), 1) == {
        PAYER: "Cedar Mutual"
    }
    assert calls.find_phone_names(None, 1) == {}


def test_hostile_text_stays_data() -> None:
    bad = f"{made_up.SCRIPT}{made_up.IMAGE}{made_up.COMMENT}\u2028'\"&\x1b[2J"
    log = CallLogBuilder()
    call = log.start()
    log.visit(call, bad, tree=bad)
    log.hear(call, bad)
    log.cut(call, bad[:20], 0.5)
    log.say(call, bad)
    log.verify(call, bad)
    log.transfer(call, f"+15550100300/{bad}")
    log.leave(call, bad, before_beep=bad, mailbox=bad)
    log.end(call)
    page = render(trial(log, [cite(bad, (bad, 4, False))]))
    assert made_up.SCRIPT not in page
    assert "<img" not in page
    assert made_up.COMMENT not in page
    body = read_body(page)
    assert body["voicemails"][0]["text"] == bad
    assert moments_of(body["calls"][0], "speech")[1]["text"] == bad


def test_drawing_sets_no_html_and_names_no_address() -> None:
    style = (Path(calls.__file__).parent / "page" / "calls.css").read_text(encoding="utf-8")
    assert "url(" not in style
    assert "//" not in style


def test_calls_above_the_limit_are_counted_and_cited_ones_stay() -> None:
    log = CallLogBuilder()
    for _ in range(calls.MAX_CALLS + 5):
        call = log.ring()
        log.end(call, "system", "busy")
    last = log.log.events[-2].seq
    body = body_of(log)
    assert (len(body["calls"]), body["calls_left_out"]) == (calls.MAX_CALLS, 5)
    assert last not in [call["seq"] for call in body["calls"]]
    body = body_of(log, cite("Calls once", ("calls", last, False)))
    assert (len(body["calls"]), body["calls"][-1]["seq"]) == (calls.MAX_CALLS, last)


def test_moments_and_voicemails_above_the_limit_are_counted() -> None:
    log = CallLogBuilder()
    call = log.start()
    for _ in range(calls.MAX_MOMENTS + 9):
        log.press(call, "1")
        log.wait(1)
    for _ in range(calls.MAX_VOICEMAILS + 3):
        log.leave(None, "Hello.")
    body = body_of(log)
    [shown] = body["calls"]
    assert (len(shown["moments"]), shown["moments_left_out"]) == (calls.MAX_MOMENTS, 10)
    assert shown["ending"] == "still open"
    assert all(max(label["moments"]) < calls.MAX_MOMENTS for label in drawn(shown, "labels"))
    assert (len(body["voicemails"]), body["voicemails_left_out"]) == (calls.MAX_VOICEMAILS, 3)


def test_long_speech_is_cut_in_the_report() -> None:
    log = CallLogBuilder()
    call = log.start()
    log.say(call, "x" * 100_000)
    text = moments_of(call_of(log), "speech")[0]["text"]
    assert len(text) < calls.MAX_TEXT + 100


def test_event_that_cannot_be_read_is_left_out() -> None:
    log = CallLogBuilder()
    menu_call(log)
    detail = trial(log)
    broken = next(event for event in detail.events if event["kind"] == "voice.identity.verified")
    broken["payload"] = {"member": 7}
    [call] = read_body(render(detail))["calls"]
    assert moments_of(call, "verified") == []
    assert len(moments_of(call, "speech")) == 4


def test_trial_without_calls_has_none_and_imports_no_telephone() -> None:
    assert "calls" not in read_body(render(made_up.detail(made_up.task_run("A task"))))
    code = (
        "import sys\n"
        "import clerkship.report.html, clerkship.service.exporting, clerkship.cli.task_output\n"
        "named = [name for name in sys.modules if name.startswith('clerkship.simulators.voice')]\n"
        "assert not named, named\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


VALUE = "Adaeze Okafor 4471902"
SUITE = """\
environment:
  name: office
  simulators:
    phone:
      kind: voice
      config:
        mailboxes: [{name: night, is_own: false, greeting: "GREETING for ${PATIENT_NAME}."}]
        lines: [{number: "+15550100300", name: "Home of Adaeze Okafor 4471902", mailbox: night}]
task:
  name: A
  task_item: {instruction: Leave a message.}
  criteria: [{label: left, assertion: {voicemail_left: {contains: "for ${PATIENT_NAME}"}}}]
"""


def leave_message(task_item: Any, sandboxes: Any) -> None:
    """Leave a message that contains the value."""
    phone = sandboxes["phone"]
    call = phone.dial("+15550100300")
    while phone.wait(call, 2)["status"] == "ringing":
        pass
    phone.say(call, f"Early: {VALUE}.")
    phone.hear(call)
    phone.say(call, f"This is for {VALUE}.")
    phone.hang_up(call)


@pytest.fixture
def redacted_run(bench: Workbench, monkeypatch: pytest.MonkeyPatch) -> str:
    """Run a task with a value in a variable that is said on the phone."""
    monkeypatch.setenv("PATIENT_NAME", VALUE)
    bench.write("a.yml", SUITE.replace("GREETING", "We cannot come to the phone right now. " * 3 + "Leave a message"))
    task_run = bench.run_one(leave_message)
    assert (task_run.status, task_run.agent_error) == ("completed", "")
    return task_run.run


def test_value_of_a_variable_is_redacted_in_calls(bench: Workbench, redacted_run: str) -> None:
    target = bench.folder.parent / "report.html"
    write_reports(bench.store, redacted_run, ReportTargets(html=target))
    page = target.read_text(encoding="utf-8")
    body = read_body(page)
    assert "Okafor" not in page
    assert body["calls"][0]["name"] == "Home of ${PATIENT_NAME}"
    assert body["voicemails"][0]["text"] == "This is for ${PATIENT_NAME}."
    assert body["voicemails"][0]["before_beep"] == "Early: ${PATIENT_NAME}."


def test_times_and_durations_are_in_words() -> None:
    assert [format_seconds(seconds) for seconds in (0, 59.6, 125, 3725)] == ["0:00", "1:00", "2:05", "1:02:05"]
    assert [describe_duration(seconds) for seconds in (0, 2.5, 9, 42.4, 60, 250)] == [
        "0 s",
        "2.5 s",
        "9 s",
        "42 s",
        "1 min",
        "4 min 10 s",
    ]
