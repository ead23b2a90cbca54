"""`clerkship list`: the runs that are kept."""

from typing import Annotated

import typer
from rich.markup import escape
from rich.table import Table

from clerkship.cli.console import out, print_json
from clerkship.cli.options import Json, StorePath
from clerkship.cli.verdicts import standing
from clerkship.service.reading import open_store
from clerkship.settings import load_settings


def list_runs(
    limit: Annotated[int, typer.Option("--limit", "-n", metavar="N", help="How many, newest first.", min=1)] = 20,
    store: StorePath = None,
    json: Json = False,
) -> None:
    """List the runs that are kept, newest first."""
    with open_store(store or load_settings().store) as kept:
        runs = [(run, counts, run.status == "active" and kept.held(run.id)) for run, counts in kept.runs(limit)]
    if json:
        print_json([{"run": run, "counts": counts, "running": held} for run, counts, held in runs])
        return
    table = Table(box=None, pad_edge=False, header_style="quiet")
    table.add_column("run", no_wrap=True)
    for column in ("started", "name", "agent", "outcome"):
        table.add_column(column, overflow="fold")
    for run, counts, held in runs:
        started = run.started_at[:19].replace("T", " ")
        table.add_row(run.id, started, escape(run.name), escape(run.solver), standing(run, counts, held=held))
    out().print(table)
