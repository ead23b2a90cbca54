"""`clerkship label`, `clerkship delete` and `clerkship prune`: change what the list of stored runs shows."""

import sys
from typing import TYPE_CHECKING, Annotated

import typer
from rich.markup import escape

from clerkship.by_name import load
from clerkship.cli.console import err, out, print_json
from clerkship.cli.options import Json, RunReference, StoreOption
from clerkship.model.duration import parse_duration
from clerkship.model.errors import InputError
from clerkship.service.run_list import label_run
from clerkship.settings import load_settings
from clerkship.store.opening import open_store

if TYPE_CHECKING:
    from clerkship.service.pruning import PruneReport


def label(
    run: RunReference,
    text: Annotated[str, typer.Argument(help="The label; an empty one removes it.")],
    store: StoreOption = None,
    json: Json = False,
) -> None:
    """Give a stored run a label, which lists and reports show.

    The run itself stays as it was saved and sealed.

    Exit codes: 0 done, 2 there is no such run.

    Examples:

        clerkship label latest "after the new prompt"

        clerkship label latest ""
    """
    with open_store(load_settings(), store) as opened:
        run_id = label_run(opened, run, text)
        labelled = opened.labels().get(run_id, "")
    if json:
        print_json({"run": run_id, "label": labelled})
    else:
        said = f"has the label [place]{escape(labelled)}[/]" if labelled else "has no label"
        out().print(f"[pass]✓[/] {run_id} {said}", soft_wrap=True)


def delete(
    run: RunReference,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    store: StoreOption = None,
    json: Json = False,
) -> None:
    """Delete a stored run with all its trials and logs.

    Asks first on a terminal; elsewhere --yes is needed. A run that a process works on is not deleted. Runs that were
    made from it stay, with the logs that they need.

    Exit codes: 0 deleted, 1 not confirmed, 2 there is no such run, or a process works on it.

    Examples:

        clerkship delete run-20260302-090000-1a2b3c --yes
    """
    with open_store(load_settings(), store) as opened:
        found = opened.run(run)
        trials = opened.counts(found.id).done
        if not yes:
            confirm(f"Delete {found.id} of {found.solver} with {trials:,} trial{'s' * (trials != 1)}?")
        opened.delete(found.id)
    if json:
        print_json({"run": found.id, "deleted": True})
    else:
        out().print(f"[pass]✓[/] {found.id} is deleted", soft_wrap=True)


def prune(
    older_than: Annotated[
        str, typer.Option("--older-than", metavar="AGE", help="Age since their start: 90d, 2w, 12h.")
    ],
    keep_last: Annotated[
        int, typer.Option("--keep-last", metavar="N", min=0, help="Keep the newest N runs of each suite.")
    ] = 0,
    label: Annotated[
        list[str] | None,
        typer.Option("--label", metavar="TEXT", help="Only runs with this label; may be repeated."),
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only list the runs that would be deleted.")] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    store: StoreOption = None,
    json: Json = False,
) -> None:
    """Delete old runs with all their trials and logs.

    Runs with a label are kept, unless --label names theirs, and so are runs that a process works on. Asks first on a
    terminal; elsewhere --yes or --dry-run is needed.

    Exit codes: 0 deleted, or there was nothing to delete, 1 not confirmed, 2 a run cannot be read.

    Examples:

        clerkship prune --older-than 90d --keep-last 20 --dry-run

        clerkship prune --older-than 30d --label experiment --yes
    """
    pruning = load("clerkship.service.pruning")
    try:
        age = parse_duration(older_than)
    except ValueError as error:
        raise InputError.of(f"--older-than: {error}", hint="such as 90d") from None
    retention = pruning.Retention(older_than=age, keep_last=keep_last, labels=tuple(label or ()))
    with open_store(load_settings(), store) as opened:
        if not dry_run and not yes:
            count = len(pruning.find_expired(opened, retention, []))
            confirm(f"Delete {count:,} run{'s' * (count != 1)}?")
        report = pruning.prune(opened, retention, dry_run=dry_run)
    deleted = [{"run": each.run.id, "started_at": each.run.started_at, "label": each.label} for each in report.deleted]
    if json:
        print_json({"deleted": deleted, "dry_run": dry_run, "busy": report.busy, "damaged": report.damaged})
    else:
        _print_pruned(report, dry_run=dry_run)
    raise typer.Exit(2 if report.damaged else 0)


def _print_pruned(report: "PruneReport", *, dry_run: bool) -> None:
    for run, counts, label in report.deleted:
        named = f"  [quiet]{escape(label)}[/]" if label else ""
        out().print(
            f"{run.id}  {run.started_at[:10]}  {escape(run.name)}  {counts.done:,} trials{named}", soft_wrap=True
        )
    count = f"{len(report.deleted):,} run{'s' * (len(report.deleted) != 1)}"
    out().print(f"{count} would be deleted" if dry_run else f"[pass]✓[/] {count} deleted")
    if report.busy:
        out().print(f"[quiet]kept, because a process works on them:[/] {', '.join(report.busy)}", soft_wrap=True)
    for sentence in report.damaged:
        err().print(f"[errored]kept:[/] {escape(sentence)}", soft_wrap=True)


def confirm(question: str) -> None:
    """Ask on a terminal. Raise Exit(1) if the answer is no, and InputError without a terminal."""
    if not sys.stdin.isatty():
        raise InputError.of("nothing is deleted unless that is confirmed", hint="add --yes")
    if not typer.confirm(question, err=True):
        raise typer.Exit(1)
