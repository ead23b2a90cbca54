"""`clerkship list`: the stored runs."""

import shlex
from collections.abc import Container, Mapping, Sequence
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Column

from clerkship.by_name import load
from clerkship.cli.console import err, number_column, out, plain_table, print_changes, print_json, report_damage
from clerkship.cli.options import Json, StoreOption
from clerkship.cli.outcome_style import describe_unfinished_run, style_outcome
from clerkship.model.run import BenchmarkRun, Counts
from clerkship.model.seals import SealCheck
from clerkship.report.outcome import GRADED, count_outcomes
from clerkship.settings import get_command_prefix, load_settings
from clerkship.store.contract import Store
from clerkship.store.opening import open_store

_ListedRun = tuple[BenchmarkRun, Counts, str]
MAX_AGENT_LENGTH = 24
MAX_NAMED_RUNS = 3
"""Runs named on one line."""


def list_runs(
    limit: Annotated[int, typer.Option("--limit", "-n", metavar="N", help="Number of runs.", min=1)] = 20,
    agent: Annotated[str, typer.Option("--agent", help="Only runs of this agent.")] = "",
    benchmark: Annotated[
        str,
        typer.Option("--benchmark", metavar="NAME", help="Only runs of this version, such as `chart@1`, or suite."),
    ] = "",
    tag: Annotated[str, typer.Option("--tag", help="Only runs that have tasks with this tag.")] = "",
    verdict: Annotated[
        str,
        typer.Option("--verdict", metavar="OUTCOME", help="Only runs with such a trial: `fail`, `errored`, …"),
    ] = "",
    label: Annotated[str, typer.Option("--label", help="Only runs with this label.")] = "",
    store: StoreOption = None,
    json: Json = False,
) -> None:
    """List stored runs, newest first.

    Only the seals of each run's record, status and counts are checked; `clerkship show` checks everything.

    Exit codes: 0, or 2 if a run cannot be read or was changed after it was saved.
    """
    damaged: list[str] = []
    chosen = {"agent": agent, "benchmark": benchmark, "tag": tag, "verdict": verdict, "label": label}
    with open_store(load_settings(), store) as opened:
        listed = _read_runs(opened, limit, chosen, damaged)
        held = {run.id for run, _, _ in listed if run.status == "active" and opened.held(run.id)}
        checks = {run.id: opened.check_head(run.id) for run, _, _ in listed}
    if json:
        print_json([_to_data(each, checks[each[0].id], is_held=each[0].id in held) for each in listed])
    else:
        _print_runs(listed, held, checks, f" --store {shlex.quote(str(store))}" if store else "")
    for check in checks.values():
        print_changes(err(), check)
    report_damage(damaged)
    if any(check.is_changed for check in checks.values()):
        raise typer.Exit(2)


def _read_runs(store: Store, limit: int, chosen: Mapping[str, str], damaged: list[str]) -> Sequence[_ListedRun]:
    """Return runs with their labels. What filters them is imported only if there is a filter."""
    if any(chosen.values()):
        listed: Sequence[_ListedRun] = load("clerkship.service.run_list:read_chosen")(store, limit, chosen, damaged)
        return listed
    labels = store.labels()
    return [(run, counts, labels.get(run.id, "")) for run, counts in store.runs(limit, damaged)]


def _to_data(listed: _ListedRun, check: SealCheck, *, is_held: bool) -> dict[str, Any]:
    run, counts, label = listed
    return {"run": run, "label": label, "counts": counts, "running": is_held, "seals": check.data()}


def _print_runs(
    runs: Sequence[_ListedRun], held: Container[str], checks: Mapping[str, SealCheck], store_option: str
) -> None:
    console = out()
    agent_column, description_column = Column("agent", no_wrap=True), Column("what", no_wrap=True)
    table = plain_table(Column("run", no_wrap=True), number_column("passed"), agent_column, description_column)
    ids = max((len(run.id) for run, _, _ in runs), default=0)
    agents = min(max((len(run.solver) for run, _, _ in runs), default=0), MAX_AGENT_LENGTH)
    width = max(console.width - ids - agents - 12, 10)  # the table would drop a column instead of shortening it
    for run, counts, label in runs:
        changed = checks[run.id].is_changed
        description = console.render_str(
            _render_name(run, label) if changed else _render_description(run, counts, label, held=run.id in held)
        )
        description.truncate(width, overflow="ellipsis")
        agent = console.render_str(escape(run.solver))
        agent.truncate(agents, overflow="ellipsis")
        table.add_row(run.id, "[fail]?[/]" if changed else _render_passed(run, counts), agent, description)
    console.print(table)
    for run, _, _ in runs:
        status = describe_unfinished_run(run, held=run.id in held, store_option=store_option)
        if checks[run.id].is_changed:
            status = f"[fail]CHANGED:[/] {get_command_prefix()} show {run.id}{escape(store_option)}"
        if status:
            console.print(f"{run.id} {status}", soft_wrap=True)
    _print_seals(console, checks)


def _print_seals(console: Console, checks: Mapping[str, SealCheck]) -> None:
    """Name the runs whose seals were not checked, grouped by the reason."""
    reasons: dict[str, list[str]] = {}
    for check in checks.values():
        if not check.is_changed and check.notes():
            reasons.setdefault(check.state(), []).append(check.run)
    for state, runs in reasons.items():
        more = f" and {len(runs) - MAX_NAMED_RUNS} more" if len(runs) > MAX_NAMED_RUNS else ""
        console.print(f"[quiet]seals:[/] {state} ({', '.join(runs[:MAX_NAMED_RUNS])}{more})", soft_wrap=True)


def _render_passed(run: BenchmarkRun, counts: Counts) -> str:
    style = "pass" if counts.exit_code() == 0 and not run.is_ungraded(counts) else "fail"
    return f"[{style}]{counts.passed}/{counts.graded}[/]"


def _render_description(run: BenchmarkRun, counts: Counts, label: str, *, held: bool) -> str:
    """Return the last column: errors and missing trials, then the tasks and options."""
    parts = [
        f"{style_outcome(name)} {number}"
        for name, number in count_outcomes(counts).items()
        if number and name not in GRADED
    ]
    parts += [f"[fail]crashed {counts.agent_errors}[/]"] if counts.agent_errors else []
    missing = run.count_missing(counts)
    parts += [f"[cancelled]{missing} {'to come' if held else 'not run'}[/]"] if missing else []
    return "  ".join([*parts, _render_name(run, label)])


def _render_name(run: BenchmarkRun, label: str) -> str:
    """Return the label and the name of the run, with its options."""
    lineage = [run.lineage] if run.lineage else []
    trials = [f"-k {run.trials}"] if run.trials > 1 else []
    published = _describe_published(run)
    is_named = run.published is not None and run.published.name == run.name and run.changed_tasks is None
    name = published if is_named else f"{run.name} ({published})" if published else run.name
    labelled = f"[place]{escape(label)}[/]  " if label else ""
    return labelled + escape(" ".join([name, *trials, *run.options, *lineage]))


def _describe_published(run: BenchmarkRun) -> str:
    """Return which published version a run ran. Few runs have one, so what describes it is imported by name."""
    if run.published is None:
        return ""
    sentence: str = load("clerkship.report.published_version:describe_published")(run, max_named=0)
    return sentence
