"""`clerkship store`: copy runs between stores, and bring a store to another version."""

from typing import Annotated

import typer
from rich.markup import escape

from clerkship.cli.console import err, out, print_json
from clerkship.cli.manage_runs import confirm
from clerkship.cli.options import Json
from clerkship.model.store_place import parse_store_place
from clerkship.service.copying_runs import CopyReport, copy_runs
from clerkship.settings import load_settings
from clerkship.store.migrating import migrate_store
from clerkship.store.opening import open_store
from clerkship.store.schema import OLDEST_BACK, VERSION, list_losses


def copy(
    source: Annotated[str, typer.Argument(metavar="FROM", help="Store file, or postgresql://user@host/database.")],
    target: Annotated[str, typer.Argument(metavar="TO", help="Store that the runs are added to; created if needed.")],
    run: Annotated[
        list[str] | None, typer.Option("--run", metavar="RUN", help="Only this run; may be repeated. [default: all]")
    ] = None,
    json: Json = False,
) -> None:
    """Copy runs from one store to another, with their seals, logs and labels.

    A run is copied as a whole or not at all, and one that is there already is left out: an interrupted copy is
    finished by the same command. Runs that a process works on are left out. Calibrations of judges are copied too.

    Exit codes: 0 copied, 2 a run is not as it was sealed, cannot be read, or is another one in the other store.

    Examples:

        clerkship store copy .clerkship/store.db postgresql://clerkship@db.example.org/runs
    """
    settings = load_settings()
    with open_store(settings, source) as opened, open_store(settings, target, create=True) as other:
        report = copy_runs(opened, other, run or (), lambda copied: None if json else _tell(copied.id))
    if json:
        print_json(vars(report))
    else:
        _print_report(report)
    raise typer.Exit(2 if report.changed or report.damaged else 0)


def migrate(
    store: Annotated[str | None, typer.Argument(metavar="STORE", help="Store. [default: that of the settings]")] = None,
    to: Annotated[
        int, typer.Option("--to", metavar="VERSION", min=OLDEST_BACK, max=VERSION, help="Version of the tables.")
    ] = VERSION,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    json: Json = False,
) -> None:
    """Bring the tables of a store to the version of this program, or back to an earlier one.

    A store file is brought forward whenever it is opened. One in PostgreSQL is only brought forward by this command,
    because programs of the earlier version cannot use it then. Going back is for an earlier program, and deletes what
    that does not know; it asks first.

    Exit codes: 0 done, 1 not confirmed, 2 it could not be done.

    Examples:

        clerkship store migrate postgresql://clerkship@db.example.org/runs

        clerkship store migrate .clerkship/store.db --to 5
    """
    place = load_settings().store if store is None else parse_store_place(store)
    losses = list_losses(VERSION, to)
    if losses and not yes:
        confirm(f"Take {place} back to version {to}? This deletes its {' and '.join(losses)}.")
    before, after = migrate_store(place, to)
    if json:
        print_json({"store": str(place), "before": before, "after": after})
    else:
        out().print(f"[pass]✓[/] {escape(str(place))} is of version {after}, and was of {before}", soft_wrap=True)


def _tell(run_id: str) -> None:
    out().print(f"[pass]✓[/] {run_id}", soft_wrap=True)


def _print_report(report: CopyReport) -> None:
    parts = [
        f"{len(report.copied):,} copied",
        f"{len(report.present):,} there already" if report.present else "",
        f"{len(report.busy):,} left out, because a process works on them" if report.busy else "",
        f"{report.calibrations:,} calibrations" if report.calibrations else "",
    ]
    out().print(", ".join(filter(None, parts)), soft_wrap=True)
    for run_id in report.changed:
        err().print(f"[errored]{run_id} is not as it was sealed: see `clerkship show {run_id}`[/]", soft_wrap=True)
    for sentence in report.damaged:
        err().print(f"[errored]not copied:[/] {escape(sentence)}", soft_wrap=True)
