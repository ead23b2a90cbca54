"""`clerkship coverage`: what a set of stored runs exercised, and what never."""

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Column

from clerkship.cli.catalog import build_catalog
from clerkship.cli.console import (
    damage_data,
    err,
    out,
    plain_table,
    print_json,
    print_notes,
    print_report_paths,
    report_damage,
    text_column,
)
from clerkship.cli.options import Json, StoreOption
from clerkship.cli.report_options import Report
from clerkship.report.plain_text import to_one_line
from clerkship.report.run_coverage import RunCoverage
from clerkship.service.report_targets import STDOUT
from clerkship.service.run_coverage import measure_run_coverage, write_run_coverage
from clerkship.settings import load_settings
from clerkship.store.opening import open_store

MAX_NAMES = 8


def coverage(
    runs: Annotated[
        list[str] | None,
        typer.Argument(metavar="RUNS", help="Ids of runs or their starts, or `latest~1`. [default: latest]"),
    ] = None,
    domain: Annotated[
        Path | None,
        typer.Option("--domain", metavar="PATH", help="Domain of the agent, a file or folder, with its flows."),
    ] = None,
    all_: Annotated[bool, typer.Option("--all", help="Print all names; otherwise long lists are cut.")] = False,
    report: Report = None,
    store: StoreOption = None,
    json: Json = False,
) -> None:
    """Show what a set of stored runs exercised, and what never.

    Each table counts what at least one trial exercised of what the environments of the runs can do. What an agent can
    do (flows, slots, actions, responses) is known only with --domain. Logs and snapshots are read, not today's files.

    A report named `-` is written to standard output instead.

    Exit codes: 0, or 2 if a record cannot be read or a run was changed after it was saved.

    Examples:

        clerkship coverage latest

        clerkship coverage latest latest~1 --all --report coverage.html
    """
    damaged: list[str] = []
    with open_store(load_settings(), store) as opened:
        measured = measure_run_coverage(opened, runs or ["latest"], build_catalog(), domain, damaged)
    print_notes(measured.notes)
    if report is not None:
        write_run_coverage(measured, report)
    if json and report != STDOUT:
        print_json(measured.data() | damage_data(damaged))
    elif report != STDOUT:
        _print_run_coverage(out(), measured, None if all_ else MAX_NAMES)
    print_report_paths(err(), {"html": report} if report is not None and report != STDOUT else {})
    report_damage(damaged)


def _print_run_coverage(console: Console, measured: RunCoverage, limit: int | None) -> None:
    for run in measured.runs:
        console.print(f"[bold]{escape(run.name)}[/]  {run.id}  [quiet]agent[/] {escape(run.solver)}")
    for covered in measured.tables:
        console.print(f"\n[bold]{covered.name}[/]  {covered.count()}")
        table = plain_table(Column("", no_wrap=True), text_column("exercised"), text_column("never"))
        for group, row in covered.rows().items():
            table.add_row(group, *(_join_names(names, limit) for names in row.values()))
        console.print(table)


def _join_names(names: list[str], limit: int | None) -> str:
    left_out = len(names) - len(names[:limit])
    more = f" [quiet]… {left_out:,} more[/]" if left_out else ""
    return escape(", ".join(map(to_one_line, names[:limit]))) + more
