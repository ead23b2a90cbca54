"""Prints a trial: its conversation, criteria and log, as text or JSON."""

import orjson
from rich.markup import escape

from clerkship.by_name import load
from clerkship.cli.console import damage_data, out, print_changes, print_json
from clerkship.cli.event_line import print_event
from clerkship.cli.verdicts import (
    print_criterion,
    print_indented,
    print_metrics_and_cost,
    render_ending,
    render_verdict,
)
from clerkship.events.request_line import describe_unauthenticated_requests
from clerkship.model.environment import utc_offset_minutes
from clerkship.model.task import Criterion
from clerkship.report.labels import Attachment, list_attachments
from clerkship.report.outcome import CriteriaCount, split_criteria, why_undecided
from clerkship.report.plain_text import describe_blame, describe_error, has_optional_criteria, to_one_line
from clerkship.report.trial_card import describe_variant
from clerkship.service.redacting import build_run_redactor
from clerkship.service.task_view import EventFilter, TaskView, show_task
from clerkship.store.contract import Store

MAX_ATTACHMENT_LINES = 40
MAX_UNAUTHENTICATED_LINES = 10


def read_task(
    store: Store, run: str, task: str, trial: int | None, event_range: tuple[str | None, int, int | None]
) -> TaskView:
    """Return a trial with redacted values; `wanted` is the kind, the start and the number of its events."""
    view = show_task(store, run, task, trial, EventFilter(*event_range))
    return view.redacted(build_run_redactor(store, store.run(run)))


def print_task(view: TaskView, *, events: bool, criteria: bool, json: bool) -> None:
    """Print a trial as text or JSON."""
    if json:
        data = {"task_run": view.task_run, "intact": view.intact, "events": view.events, "sidecar": view.sidecar}
        more = {"criteria": view.snapshot.task.criteria, "attempts": view.attempts}
        print_json(data | more | {"seals": view.seals.data()} | damage_data(view.damaged))
        return
    console, task_run = out(), view.task_run
    print_changes(console, view.seals)
    if view.indexed:
        message = f"the index says {view.indexed}; the record, shown below, says {task_run.verdict or 'no verdict'}"
        console.print(f"  {escape(message)}", soft_wrap=True)
    score = "" if task_run.score is None else f"  {task_run.score:.2f}"
    trial = f"  [quiet]trial {task_run.trial} of {len(view.trials)}[/]" if len(view.trials) > 1 else ""
    ending = f"[quiet]{render_ending(task_run)}[/]"
    console.print(f"{render_verdict(task_run)}{score}  [bold]{escape(task_run.task)}[/]{trial}  {ending}")
    other_failed = [
        str(t.trial) for t in view.trials if t.verdict not in ("pass", "ungraded") and t.trial != task_run.trial
    ]
    if other_failed:
        console.print(f"  [quiet]also not passed: trial {', '.join(other_failed[:20])}[/]")
    _print_conversation(view)
    for name, text in (
        (describe_blame(task_run), describe_error(task_run)),
        ("the agent failed", _without_stderr(view)),
    ):
        if text:
            print_indented(console, 2, f"[fail]{name}:[/] {escape(text)}")
    for note in task_run.notes:
        print_indented(console, 2, f"[partial]note:[/] {escape(note)}")
    for attachment in list_attachments(view.sidecar):
        _print_attachment(attachment)
    if task_run.answer is not None:
        console.print(f"  [quiet]answer[/] {escape(orjson.dumps(task_run.answer).decode())[:500]}")
    for attempt in view.attempts:
        console.print(
            f"  [quiet]attempt {attempt.attempt} was interrupted: {escape(attempt.error or render_ending(attempt))}[/]"
        )
    _print_criteria(view, whole=criteria)
    print_metrics_and_cost(console, task_run, replayed=view.replayed)
    if events:
        console.print()
        offset = utc_offset_minutes(view.snapshot.environment.now)
        for event in view.events:
            print_event(console, event, offset)
    _print_unauthenticated(view)
    state = "[pass]as it was graded[/]" if view.intact else "[fail]NOT the log that was graded[/]"
    console.print(f"\n[quiet]log[/] {task_run.events} events, {state}, SHA-256 {task_run.head}")


def _print_conversation(view: TaskView) -> None:
    people = view.snapshot.task.people
    for person in people:
        if variant := describe_variant(person, view.task_run.trial):
            out().print(f"  [quiet]{escape(person.name) if len(people) > 1 else 'person'}: {variant}[/]")
    width = max((len(actor) for actor, _ in view.utterances), default=0)
    for actor, text in view.utterances:
        out().print(f"  [place]{escape(actor):>{max(width, 8)}}[/]  {escape(to_one_line(text))}", soft_wrap=True)
    if view.call_events:
        load("clerkship.cli.call_output:print_calls")(out(), view)


def _print_unauthenticated(view: TaskView) -> None:
    head, *lines = describe_unauthenticated_requests(view.sidecar) or [""]
    if head:
        out().print(f"\n  [quiet]{escape(head)}[/]")
    shown = lines if len(lines) <= MAX_UNAUTHENTICATED_LINES else [*lines[:MAX_UNAUTHENTICATED_LINES], "…"]
    for line in shown:
        out().print(f"    [quiet]{escape(line)}[/]", soft_wrap=True)


def _without_stderr(view: TaskView) -> str:
    """Return the agent's error without the end of its standard error, which is shown below it."""
    first, _, rest = view.task_run.agent_error.partition("\n")
    return first if rest.strip() in str(view.sidecar.get("agent_stderr", "")) else view.task_run.agent_error


def _print_criteria(view: TaskView, *, whole: bool) -> None:
    task_run = view.task_run
    if task_run.criteria and why_undecided(task_run):
        out().print(f"  [quiet]criteria {why_undecided(task_run)}[/]")
    elif task_run.criteria:
        out().print(f"  [quiet]{CriteriaCount.of(task_run.criteria).sentence()}[/]")
    definitions = iter(view.snapshot.task.criteria)
    criteria, checks = split_criteria(task_run.criteria)
    for criterion in (*criteria, *checks):
        if task_run.status == "invalid_person":  # what was found says nothing about the agent
            print_indented(out(), 2, f"[quiet]– {escape(criterion.label)}[/]")
        else:
            print_criterion(out(), criterion, whole=whole, gates=has_optional_criteria(task_run), traced=True)
        if whole and not criterion.is_implied:
            _print_as_yaml(next(definitions))


def _print_as_yaml(criterion: Criterion) -> None:
    """Print a criterion as YAML, so that it can be edited and tried with `rescore`."""
    data = criterion.model_dump(mode="json", exclude_defaults=True, exclude={"label"})
    for line in load("yaml:safe_dump")(data, sort_keys=False, allow_unicode=True, width=100).splitlines():
        out().print(f"      [quiet]{escape(line)}[/]", soft_wrap=True)


def _print_attachment(attachment: Attachment) -> None:
    lines = attachment.text.splitlines()
    cut = f", last {MAX_ATTACHMENT_LINES} of {len(lines)} lines" if len(lines) > MAX_ATTACHMENT_LINES else ""
    out().print(f"  [quiet]{attachment.title}{cut}[/]")
    for line in lines[-MAX_ATTACHMENT_LINES:]:
        # What would move the cursor is replaced.
        shown = "".join(char if char.isprintable() or char == "\t" else "�" for char in line)
        out().print(f"    [quiet]{escape(shown)}[/]", soft_wrap=True)
