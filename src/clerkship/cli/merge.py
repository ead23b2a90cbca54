"""`clerkship merge`: make one run of the runs of its shards."""

from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from clerkship.cli.console import out, print_json
from clerkship.cli.groups import grouped
from clerkship.cli.options import Json
from clerkship.cli.report_options import ReportOptions
from clerkship.cli.run_output import get_page_path, print_ungraded
from clerkship.cli.verdicts import print_run
from clerkship.service.exporting import write_reports
from clerkship.service.merging import find_shards, merge_shards
from clerkship.service.reading import show_run
from clerkship.service.redacting import build_run_redactor
from clerkship.service.report_targets import check_writable
from clerkship.settings import load_settings
from clerkship.store.contract import Store
from clerkship.store.opening import open_store


@grouped
def merge(
    *,
    stores: Annotated[
        list[Path], typer.Argument(metavar="STORE...", help="Stores with runs of shards; several may be in one.")
    ],
    into: Annotated[Path, typer.Option("--into", metavar="FILE", help="Store for the merged run.")],
    runs: Annotated[
        list[str] | None,
        typer.Option("--run", metavar="RUN", help="Id of a run to merge; may be repeated. [default: all]"),
    ] = None,
    output: ReportOptions,
    json: Json = False,
) -> None:
    """Make one run of the runs of its shards.

    The shards must be of the same plan, agent and options, finished, and unchanged since they were saved; each must be
    there once. Logs and verdicts are copied, and sealed as trials of the new run. The shards stay as they are.

    Exit codes: as for `clerkship run`, from the verdicts of all shards; 2 if the shards cannot be merged.

    Example:

        clerkship merge shard-1.db shard-2.db shard-3.db --into all.db --junit out/junit.xml
    """
    settings, targets = load_settings(), output.reports()
    check_writable(targets)
    with ExitStack() as stack:
        opened: dict[Path, Store] = {}
        for path in (*stores, into):
            if path.resolve() not in opened:
                store = stack.enter_context(open_store(settings, path, create=path == into))
                opened[path.resolve()] = store
        sources = [opened[path.resolve()] for path in dict.fromkeys(stores)]
        target = opened[into.resolve()]
        result = merge_shards(find_shards(sources, runs or ()), target)
        view = show_run(target, result.run.id, seals=result.seals).redacted(build_run_redactor(target, result.run))
        page = targets.html or get_page_path(into, result.run.id)
        written = write_reports(target, result.run.id, replace(targets, html=page), view.seals)
        if json:
            data = {"run": view.run, "counts": view.counts, "exit_code": result.exit_code(), "reports": written}
            print_json(data | {"seals": view.seals.data(), "tasks": view.task_runs})
        else:
            print_run(out(), view, f" --store {into}")
            print_ungraded(out(), view.run, view.counts)
    raise typer.Exit(result.exit_code())
