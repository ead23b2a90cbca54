"""`clerkship show`: a run, or one task of it, with its evidence."""

import shlex
from pathlib import Path
from typing import Annotated

import orjson
import typer
import yaml
from rich.markup import escape

from clerkship.cli.console import (
    damage_data,
    err,
    out,
    print_changes,
    print_json,
    print_notes,
    report_changes,
    report_damage,
    warn_unset,
)
from clerkship.cli.event_line import print_event
from clerkship.cli.groups import grouped
from clerkship.cli.options import Json, ReportOptions, Results, RunReference, StorePath
from clerkship.cli.shown import print_missing, say_written
from clerkship.cli.verdicts import ending, print_criterion, print_indented, print_rated, print_run, unfinished, verdict
from clerkship.events.request_line import describe_unauthenticated_requests
from clerkship.model.criterion import Criterion
from clerkship.model.errors import InputError
from clerkship.report.attachments import Attachment, list_attachments
from clerkship.report.outcome import is_not_recorded, why_undecided
from clerkship.report.plain_text import describe_blame, describe_error, has_optional_criteria, to_one_line
from clerkship.report.repeats import group_rates
from clerkship.report.trial_card import describe_variant
from clerkship.service.exporting import write_reports
from clerkship.service.reading import RunView, TaskView, Wanted, open_store, show_run, show_task
from clerkship.service.redacting import redactor_for, unset_variables
from clerkship.settings import load_settings
from clerkship.store.contract import Store

MAX_LINES = 40
MAX_UNAUTHENTICATED_LINES = 10


@grouped
def show(
    *,
    run: RunReference = "latest",
    task: Annotated[str | None, typer.Argument(help="A task of it, by name or by a part of its name.")] = None,
    failed: Annotated[bool, typer.Option("--failed", help="Only what did not pass.")] = False,
    events: Annotated[bool, typer.Option("--events", help="With a task: its whole log.")] = False,
    kind: Annotated[str | None, typer.Option(metavar="KIND", help="With --events: of this kind; `*` allowed.")] = None,
    after: Annotated[int, typer.Option(metavar="N", help="With --events: after number N.", min=0)] = 0,
    limit: Annotated[int | None, typer.Option(metavar="N", help="With --events: at most N.", min=0)] = None,
    criteria: Annotated[
        bool, typer.Option("--criteria", help="With a task: each criterion as it is written, with all its evidence.")
    ] = False,
    trial: Annotated[
        int | None,
        typer.Option(metavar="N", help="With a task: which repetition. [default: the first that failed]", min=1),
    ] = None,
    reports: ReportOptions,
    results: Results = None,
    store: StorePath = None,
    json: Json = False,
) -> None:
    """Show a run that is kept, or one task of it: each criterion, the conversation, the log.

    A report named `-` goes to standard output, and nothing else does.

    Exit code: 0 · 2 a record cannot be read, or was changed after it was saved.

    Examples:

        clerkship show latest --failed

        clerkship show run-20260302-0900 "Move an appointment" --events --criteria

        clerkship show latest --markdown -
    """
    targets = reports.reports(results)
    with open_store(load_settings(), store) as kept:
        if task is None and (events or criteria or trial is not None):
            task = _only_task(kept, run)
        warn_unset(unset_variables(kept, kept.run(run)))
        seals = kept.check_seals(kept.run(run).id) if targets.is_any() or task is None else None
        written = write_reports(kept, run, targets, seals) if seals is not None else {}
        if targets.to_stdout() and seals is not None:
            report_changes(seals)
            return
        say_written(err(), written)
        if task is not None:
            wanted = Wanted(kind, after, limit if events or json else 0)
            shown = show_task(kept, run, task, trial, wanted)
            shown = shown.redacted(redactor_for(kept, kept.run(run)))
            _show_task(shown, events=events, criteria=criteria, json=json)
            damaged, seals = shown.damaged, seals or shown.seals
        else:
            view = show_run(kept, run, failed=failed, seals=seals)
            view = view.redacted(redactor_for(kept, view.run))
            _show_run(view, json=json, held=kept.held(view.run.id), store=store)
            damaged, seals = view.damaged, view.seals
    print_notes(seals.notes())
    if json:
        print_changes(err(), seals)
    report_damage(damaged)
    if seals.is_changed:
        raise typer.Exit(2)


def _only_task(store: Store, run: str) -> str:
    """The task that is meant where none is named."""
    names = list(group_rates(store.task_runs(store.run(run).id, damaged=[])))
    if len(names) != 1:
        raise InputError.of(
            "--events, --criteria and --trial go with a task", hint=f"name one of: {'; '.join(names[:10])}"
        )
    return names[0]


def _show_run(view: RunView, *, json: bool, held: bool, store: Path | None) -> None:
    if json:
        found = {"run": view.run, "counts": view.counts, "repeats": view.repeats(), "judged": view.judged_data()}
        tasks = {"templates": view.templates_data(), "tasks": view.task_runs}
        print_json(found | tasks | {"seals": view.seals.data()} | damage_data(view.damaged))
        return
    made = f"  [quiet]{view.run.lineage}[/]" if view.run.lineage else ""
    out().print(f"[bold]{escape(view.run.name)}[/]  {view.run.id}  [quiet]agent[/] {escape(view.run.solver)}{made}")
    elsewhere = f" --store {shlex.quote(str(store))}" if store else ""
    told = unfinished(view.run, held=held, elsewhere=elsewhere)
    if told:
        out().print(told, soft_wrap=True)
    print_run(out(), view, elsewhere)
    print_missing(out(), sum(map(is_not_recorded, view.task_runs)))


def _show_task(view: TaskView, *, events: bool, criteria: bool, json: bool) -> None:
    if json:
        found = {"task_run": view.task_run, "intact": view.intact, "events": view.events, "sidecar": view.sidecar}
        written = {"criteria": view.snapshot.task.criteria, "attempts": view.attempts}
        print_json(found | written | {"seals": view.seals.data()} | damage_data(view.damaged))
        return
    console, task_run = out(), view.task_run
    print_changes(console, view.seals)
    if view.indexed:
        said = f"the index says {view.indexed}; the record, shown below, says {task_run.verdict or 'no verdict'}"
        console.print(f"  {escape(said)}", soft_wrap=True)
    score = "" if task_run.score is None else f"  {task_run.score:.2f}"
    trial = f"  [quiet]trial {task_run.trial} of {len(view.trials)}[/]" if len(view.trials) > 1 else ""
    console.print(f"{verdict(task_run)}{score}  [bold]{escape(task_run.task)}[/]{trial}  [quiet]{ending(task_run)}[/]")
    other = [str(t.trial) for t in view.trials if t.verdict not in ("pass", "ungraded") and t.trial != task_run.trial]
    if other:
        console.print(f"  [quiet]did not pass either: trial {', '.join(other[:20])}[/]")
    _print_conversation(view)
    for name, text in (
        (describe_blame(task_run), describe_error(task_run)),
        ("the agent failed", _without_stderr(view)),
    ):
        if text:
            print_indented(console, 2, f"[fail]{name}:[/] {escape(text)}")
    for attachment in list_attachments(view.sidecar):
        _print_attachment(attachment)
    if task_run.answer is not None:
        console.print(f"  [quiet]answer[/] {escape(orjson.dumps(task_run.answer).decode())[:500]}")
    for attempt in view.attempts:
        console.print(
            f"  [quiet]attempt {attempt.attempt} was cut short: {escape(attempt.error or ending(attempt))}[/]"
        )
    _print_criteria(view, whole=criteria)
    print_rated(console, task_run, replayed=view.replayed)
    if events:
        console.print()
        for event in view.events:
            print_event(console, event)
    _print_unauthenticated(view)
    state = "[pass]intact[/]" if view.intact else "[fail]NOT the log that was graded[/]"
    console.print(f"\n[quiet]log[/] {task_run.events} events, {state}, head {task_run.head}")


def _print_conversation(view: TaskView) -> None:
    people = view.snapshot.task.people
    for person in people:
        if variant := describe_variant(person, view.task_run.trial):
            out().print(f"  [quiet]{escape(person.name) if len(people) > 1 else 'person'}: {variant}[/]")
    width = max((len(actor) for actor, _ in view.said), default=0)
    for actor, text in view.said:
        out().print(f"  [place]{escape(actor):>{max(width, 8)}}[/]  {escape(to_one_line(text))}", soft_wrap=True)


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
    written = iter(view.snapshot.task.criteria)
    for criterion in task_run.criteria:
        print_criterion(out(), criterion, whole=whole, gates=has_optional_criteria(task_run), traced=True)
        if whole and not criterion.is_implied:
            _print_written(next(written))


def _print_written(criterion: Criterion) -> None:
    """As an author writes it, so that it can be edited and tried with `rescore`."""
    written = criterion.model_dump(mode="json", exclude_defaults=True, exclude={"label"})
    for line in yaml.safe_dump(written, sort_keys=False, allow_unicode=True, width=100).splitlines():
        out().print(f"      [quiet]{escape(line)}[/]", soft_wrap=True)


def _print_attachment(attachment: Attachment) -> None:
    lines = attachment.text.splitlines()
    cut = f", last {MAX_LINES} of {len(lines)} lines" if len(lines) > MAX_LINES else ""
    out().print(f"  [quiet]{attachment.title}{cut}[/]")
    for line in lines[-MAX_LINES:]:
        # What would move the cursor is replaced.
        shown = "".join(sign if sign.isprintable() or sign == "\t" else "�" for sign in line)
        out().print(f"    [quiet]{escape(shown)}[/]", soft_wrap=True)
