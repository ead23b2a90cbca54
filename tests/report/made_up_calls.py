"""Made-up trials with phone calls."""

from collections.abc import Sequence
from typing import Any

from clerkship.events.event import render_event
from clerkship.model.run import CriterionRun, FieldCheck
from clerkship.report.detail import TaskDetail, parse_detail
from tests.report import made_up
from tests.simulators.voice.call_log_builder import CallLogBuilder

ANNOUNCEMENT = "You are number {} in line. Please stay on the line."


def trial(log: CallLogBuilder, criteria: Sequence[CriterionRun] = (), **changes: Any) -> TaskDetail:
    """Return a trial with the calls of a log, loaded as from a store."""
    blobs: dict[str, bytes] = {}
    lines = [render_event(event, blobs) for event in log.log.events]
    run = made_up.task_run("A task", criteria=tuple(criteria), events=len(lines), **changes)
    snapshot = made_up.detail(run).snapshot
    assert snapshot is not None
    blobs[run.snapshot] = snapshot.data
    return parse_detail(run, lines, b"", blobs.__getitem__)


def cite(label: str, *checks: tuple[str, int, bool]) -> CriterionRun:
    """Return a criterion whose evidence names events: path, event, and whether it is as expected."""
    evidence = tuple(
        FieldCheck(path=path, expected="this", actual="this" if passed else "that", passed=passed, seq=seq)
        for path, seq, passed in checks
    )
    return made_up.criterion(label, passed=all(passed for _, _, passed in checks), evidence=evidence)


def menu_call(log: CallLogBuilder) -> str:
    """Add a call through a menu: a prompt that is cut by keys, an entry that is rejected, and a goodbye."""
    call = log.start()
    log.visit(call, "welcome", "main_menu")
    log.hear(call, "Welcome. For claims, press 1. For anything else, press 2.", node="provider_line/main_menu")
    log.cut(call, "Welcome. For claims,", 1.5)
    log.press(call, "1")
    log.visit(call, "member")
    log.hear(call, "Please say the member ID.")
    log.wait(2)
    log.say(call, "one two three")
    log.reject(call)
    log.verify(call, "M123")
    log.hear(call, "Thank you. Goodbye.")
    log.end(call, "line")
    return call


def queue_call(log: CallLogBuilder, announcements: int = 20) -> str:
    """Add a call with a minute on hold for each announcement, and a transfer."""
    call = log.start()
    log.visit(call, "queue")
    start = log.now
    log.hold(call, announcements * 60.0)
    end, log.now = log.now, start
    for number in range(announcements):
        log.now = start + 60.0 * number + 1
        log.hear(call, ANNOUNCEMENT.format(announcements - number))
    log.now = end
    log.transfer(call, "+15550100300/representative")
    log.hear(call, "This is Dana.", speaker="representative")
    log.say(call, "Hello, Dana.")
    log.end(call)
    return call
