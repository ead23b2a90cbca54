"""`clerkship show`: a stored run, or one task of it."""

import shlex
from functools import partial
from typing import Annotated

import typer
from rich.markup import escape

from clerkship.by_name import load
from clerkship.cli.console import (
    damage_data,
    err,
    out,
    print_changes,
    print_json,
    print_notes,
    print_report_paths,
    print_unrecorded_trials,
    report_changes,
    report_damage,
    warn_unset,
)
from clerkship.cli.groups import grouped
from clerkship.cli.options import Json, RunReference, StoreOption
from clerkship.cli.outcome_style import describe_unfinished_run
from clerkship.cli.report_options import ReportOptions, Results
from clerkship.cli.verdicts import print_published, print_run
from clerkship.model.errors import InputError
from clerkship.model.store_place import parse_store_place
from clerkship.report.labels import rerun_command
from clerkship.report.outcome import is_not_recorded
from clerkship.report.published_version import describe_notes
from clerkship.report.repeats import group_rates
from clerkship.service.reading import RunView, show_run
from clerkship.service.redacting import build_run_redactor, find_unset_variables
from clerkship.settings import load_settings
from clerkship.store.contract import Store
from clerkship.store.opening import open_store


@grouped
def show(
    *,
    run: RunReference = "latest",
    task: Annotated[str | None, typer.Argument(help="Name of a task, or part of it.")] = None,
    failed: Annotated[bool, typer.Option("--failed", help="Only tasks that did not pass.")] = False,
    search: Annotated[
        str | None,
        typer.Option(
            metavar="WORDS", help="Only trials with all words, in conversations, evidence, requests or pages."
        ),
    ] = None,
    events: Annotated[bool, typer.Option("--events", help="Print the log of the task.")] = False,
    kind: Annotated[
        str | None, typer.Option(metavar="KIND", help="With --events: only this kind; `*` is a wildcard.")
    ] = None,
    after: Annotated[int, typer.Option(metavar="N", help="With --events: only events after #N.", min=0)] = 0,
    limit: Annotated[int | None, typer.Option(metavar="N", help="With --events: at most N events.", min=0)] = None,
    criteria: Annotated[
        bool, typer.Option("--criteria", help="Print each criterion of the task with all its evidence.")
    ] = False,
    trial: Annotated[
        int | None,
        typer.Option(metavar="N", help="Trial of the task. [default: the first that failed]", min=1),
    ] = None,
    reports: ReportOptions,
    results: Results = None,
    store: StoreOption = None,
    json: Json = False,
) -> None:
    """Show a stored run, or one task of it with criteria, conversation and log.

    It can also write reports; `-` writes one report to standard output instead.

    Exit codes: 0, or 2 if a record cannot be read or was changed after it was saved.

    Examples:

        clerkship show latest --failed --search "on hold"

        clerkship show run-20260302-0900 "Move an appointment" --events --criteria

        clerkship show latest --markdown -
    """
    targets = reports.reports(results)
    with open_store(load_settings(), store) as opened:
        if task is None and (events or criteria or trial is not None):
            task = _only_task(opened, run)
        warn_unset(find_unset_variables(opened, opened.run(run)))
        seals = opened.check_seals(opened.run(run).id) if targets.has_any() or task is None else None
        written = (
            load("clerkship.service.exporting:write_reports")(opened, run, targets, seals) if targets.has_any() else {}
        )
        if targets.to_stdout() and seals is not None:
            report_changes(seals)
            return
        print_report_paths(err(), written)
        if not json:
            print_published(out(), opened.run(run))
        if task is not None:
            # By name: a run without a task is shown in two thirds of the time.
            task_shown = load("clerkship.cli.task_output")
            event_range = (kind, after, limit if events or json else 0)
            shown = task_shown.read_task(opened, run, task, trial, event_range)
            task_shown.print_task(shown, events=events, criteria=criteria, json=json)
            damaged, seals = shown.damaged, seals or shown.seals
        else:
            view = _search(show_run(opened, run, failed=failed, seals=seals), search, store)
            view = view.redacted(build_run_redactor(opened, view.run))
            _show_run(view, json=json, held=opened.held(view.run.id), store=store)
            damaged, seals = view.damaged, view.seals
    print_notes(seals.notes())
    if json:
        print_changes(err(), seals)
    report_damage(damaged)
    if seals.is_changed:
        raise typer.Exit(2)


def _search(view: RunView, words: str | None, store: str | None) -> RunView:
    """Return a run with only the trials in which some words occur; unchanged without words."""
    if words is None:
        return view
    found: RunView = load("clerkship.service.run_search:select_found")(
        partial(open_store, load_settings(), store), view, words
    )
    return found


def _only_task(store: Store, run: str) -> str:
    """Return the only task of a run; raise InputError if there are several."""
    names = list(group_rates(store.task_runs(store.run(run).id, damaged=[])))
    if len(names) != 1:
        raise InputError.of(
            "--events, --criteria and --trial need a task", hint=f"name one of: {'; '.join(names[:10])}"
        )
    return names[0]


def _show_run(view: RunView, *, json: bool, held: bool, store: str | None) -> None:
    if json:
        data = {"run": view.run, "counts": view.counts, "repeats": view.repeats(), "judged": view.judged_data()}
        tasks = {"templates": view.templates_data(), "tasks": view.task_runs, "notes": describe_notes(view.run)}
        print_json(data | tasks | {"seals": view.seals.data()} | damage_data(view.damaged))
        return
    lineage = f"  [quiet]{view.run.lineage}[/]" if view.run.lineage else ""
    out().print(f"[bold]{escape(view.run.name)}[/]  {view.run.id}  [quiet]agent[/] {escape(view.run.solver)}{lineage}")
    store_option = f" --store {shlex.quote(str(parse_store_place(store)))}" if store else ""
    status = describe_unfinished_run(view.run, held=held, store_option=store_option)
    if status:
        out().print(status, soft_wrap=True)
    print_run(out(), view, store_option)
    command = f"{rerun_command(view.run)}{store_option}"
    out().print(f"[quiet]run it again:[/] {escape(command)}", soft_wrap=True, highlight=False)
    print_unrecorded_trials(out(), sum(map(is_not_recorded, view.task_runs)))
