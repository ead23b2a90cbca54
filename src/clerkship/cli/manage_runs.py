"""`clerkship label` and `clerkship delete`: change what the list of stored runs shows."""

import sys
from typing import Annotated

import typer
from rich.markup import escape

from clerkship.cli.console import out, print_json
from clerkship.cli.options import Json, RunReference, StoreOption
from clerkship.model.errors import InputError
from clerkship.service.run_list import label_run
from clerkship.settings import load_settings
from clerkship.store.opening import open_store


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
            _confirm(f"Delete {found.id} of {found.solver} with {trials:,} trial{'s' * (trials != 1)}?")
        opened.delete(found.id)
    if json:
        print_json({"run": found.id, "deleted": True})
    else:
        out().print(f"[pass]✓[/] {found.id} is deleted", soft_wrap=True)


def _confirm(question: str) -> None:
    """Ask on a terminal. Raise Exit(1) if the answer is no, and InputError where nobody can answer."""
    if not sys.stdin.isatty():
        raise InputError.of("a run is only deleted if that is confirmed", hint="add --yes")
    if not typer.confirm(question, err=True):
        raise typer.Exit(1)
