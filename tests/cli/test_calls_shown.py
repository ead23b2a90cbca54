"""`clerkship show RUN TASK` prints phone calls: side by side on a terminal, else a line for each moment."""

import io
from typing import Any

import orjson
import pytest
from rich.console import Console
from rich.theme import Theme

from clerkship.cli import call_output
from clerkship.cli.console import out
from clerkship.cli.task_output import print_task, read_task
from clerkship.events.event import render_event
from clerkship.service.task_view import TaskView
from tests.report import made_up
from tests.report.made_up_calls import menu_call, queue_call
from tests.simulators.voice.call_log_builder import PAYER, CallLogBuilder
from tests.workbench import Workbench

SUITE = """\
environment: {name: office, simulators: {phone: {kind: voice}}}
task:
  name: A
  task_item: {instruction: Call the pharmacy.}
  criteria: [{label: called, assertion: {voice_call: {outcome: completed}}}]
"""


def view_of(log: CallLogBuilder, **fields: Any) -> TaskView:
    """Return a view of a trial with the calls of a log."""
    run = made_up.task_run("A task")
    snapshot = made_up.detail(run).snapshot
    assert snapshot is not None
    events = [orjson.loads(render_event(event, {})) for event in log.log.events]
    return TaskView(run, snapshot, [], {}, True, call_events=events, **fields)


def printed(view: TaskView, capsys: pytest.CaptureFixture[str]) -> str:
    """Return what is printed of the calls, without a terminal."""
    call_output.print_calls(out(), view)
    return capsys.readouterr().out


def test_call_is_printed_with_times_keys_and_menu(capsys: pytest.CaptureFixture[str]) -> None:
    log = CallLogBuilder()
    menu_call(log)
    text = printed(view_of(log, phone_names={PAYER: "Cedar Mutual"}), capsys)
    assert f"call to Cedar Mutual ({PAYER})  #1  completed, ended by the line, length" in text
    assert "0:04  far end  menu welcome › main_menu" in text
    assert "0:04  far end  Welcome. For claims, — cut short" in text
    assert "0:06    agent  keys 1" in text
    assert "far end  · entry rejected (attempt 1)" in text
    assert "far end  · identity verified: M123" in text


def test_repeated_announcements_on_hold_are_counted(capsys: pytest.CaptureFixture[str]) -> None:
    log = CallLogBuilder()
    queue_call(log, announcements=20)
    text = printed(view_of(log), capsys)
    assert "── on hold for 20 min; 19 repeated announcements ──" in text
    assert text.count("Please stay on the line") == 1
    assert "far end  representative This is Dana." in text


def test_calls_are_in_two_columns_on_a_terminal() -> None:
    log = CallLogBuilder()
    menu_call(log)
    file = io.StringIO()
    styles = {name: out().get_style(name) for name in ("quiet", "place")}
    console = Console(file=file, force_terminal=True, width=100, no_color=True)
    console.push_theme(Theme(styles))
    call_output.print_calls(console, view_of(log))
    lines = file.getvalue().splitlines()
    [far_end] = [line for line in lines if "Please say the member ID." in line]
    [agent] = [line for line in lines if "one two three" in line]
    assert agent.index("one two three") > far_end.index("Please say") + 20


def test_voicemails_and_what_was_lost_before_the_beep_are_printed(capsys: pytest.CaptureFixture[str]) -> None:
    log = CallLogBuilder()
    log.leave(None, "Call us back.", before_beep="This is the clinic.")
    text = printed(view_of(log), capsys)
    assert "voicemail in patient from +15550100100" in text
    assert "Call us back." in text
    assert "before the beep, not recorded: This is the clinic." in text


def test_calls_and_rows_above_the_limit_are_counted(capsys: pytest.CaptureFixture[str]) -> None:
    log = CallLogBuilder()
    call = log.start()
    for _ in range(call_output.MAX_ROWS + 4):
        log.press(call, "1")
        log.wait(2)
    for _ in range(call_output.MAX_CALLS + 2):
        log.end(log.ring(), "system", "busy")
    text = printed(view_of(log), capsys)
    assert "5 more rows not shown" in text
    assert "3 more calls not shown" in text


def test_control_characters_and_markup_in_speech_are_harmless(capsys: pytest.CaptureFixture[str]) -> None:
    log = CallLogBuilder()
    call = log.start()
    log.say(call, "[bold]loud[/bold] \x1b[2J\nnext line")
    text = printed(view_of(log), capsys)
    assert "agent  [bold]loud[/bold]" in text
    assert "\x1b" not in text
    assert "next line" in text.split("[bold]loud", 1)[1].splitlines()[0]


def call_pharmacy(task_item: Any, sandboxes: Any) -> None:
    """Call the line of the default configuration, and say a long text."""
    phone = sandboxes["phone"]
    call = phone.dial("+15550100150")
    phone.hear(call)
    phone.say(call, "My number is 4471902. " + "Please help me. " * 300)
    phone.hang_up(call)


def test_calls_of_a_stored_run_are_shown_instead_of_plain_messages(
    bench: Workbench, capsys: pytest.CaptureFixture[str]
) -> None:
    bench.write("a.yml", SUITE)
    task_run = bench.run_one(call_pharmacy)
    view = read_task(bench.store, task_run.run, "A", None, (None, 0, 0))
    assert view.utterances == []
    print_task(view, events=False, criteria=False, json=False)
    text = capsys.readouterr().out
    assert "call to +15550100150  #" in text
    assert "agent  My number is 4471902." in text
    assert "completed" in text
