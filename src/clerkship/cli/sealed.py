"""What checking a run's seals found, on the terminal."""

from collections.abc import Iterable

import typer
from rich.console import Console
from rich.markup import escape

from clerkship.cli.console import err, print_warning
from clerkship.model.problem import Problem
from clerkship.model.seals import SealCheck


def print_changes(console: Console, check: SealCheck) -> None:
    """Name what was changed since it was saved; nothing if nothing was."""
    if not check.is_changed:
        return
    console.print(f"[fail]CHANGED[/] {escape(check.headline())}:", soft_wrap=True)
    for sentence in check.sentences():
        console.print(f"  [fail]✗[/] {escape(sentence)}", soft_wrap=True)


def print_notes(notes: Iterable[str]) -> None:
    """Say on standard error what could not be checked."""
    for note in notes:
        print_warning(Problem(message=note), err())


def report_changes(check: SealCheck) -> None:
    """Say on standard error what was changed and what could not be checked; exit with 2 if anything was changed."""
    print_notes(check.notes())
    print_changes(err(), check)
    if check.is_changed:
        raise typer.Exit(2)
