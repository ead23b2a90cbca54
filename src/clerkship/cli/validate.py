"""`clerkship validate`: find every mistake before anything runs."""

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape

from clerkship.cli.catalog import registered
from clerkship.cli.console import out, print_json
from clerkship.cli.options import Json
from clerkship.model.problem import Problem
from clerkship.service.checking import Validation
from clerkship.service.checking import validate as check


def validate(
    path: Annotated[Path, typer.Argument(help="Folder of YAML files, or one file of it.")],
    json: Json = False,
) -> None:
    """Check every file of a folder: keys, types, names, templates, bindings.

    All mistakes of all files come in one list, each with file:line:column and, where there is one, the nearest
    right name. Exit code: 0 all is well · 2 mistakes.

    Example:

        clerkship validate suites/clinic
    """
    catalog = registered()
    validation = check(path, catalog)
    if json:
        tasks = sorted(validation.library.tasks) if validation.library else []
        warnings = [*catalog.warnings(), *map(str, validation.library.notes if validation.library else ())]
        print_json({"problems": validation.problems, "tasks": tasks, "warnings": warnings})
    else:
        _show(validation)
    raise typer.Exit(validation.exit_code())


def _show(validation: Validation) -> None:
    console = out()
    if validation.library is not None:
        library = validation.library
        for note in library.notes:
            console.print(f"[quiet]note[/] {escape(str(note))}", soft_wrap=True)
        parts = {"task": library.tasks, "environment": library.environments, "dataset": library.datasets}
        told = ", ".join(f"{len(found)} {name}{'s' * (len(found) != 1)}" for name, found in parts.items() if found)
        console.print(f"[pass]✓[/] {told}: all is well")
        return
    for problem in validation.problems:
        print_problem(problem, console)
    count = len(validation.problems)
    console.print(f"\n[fail]✗[/] {count} {'mistake' if count == 1 else 'mistakes'}; nothing was run")


def print_problem(problem: Problem, console: Console) -> None:
    """Place, what is wrong, and what to do about it."""
    place = f"[place]{escape(problem.place())}[/]: " if problem.place() else ""
    key = f"[bold]{escape(problem.key)}[/]: " if problem.key else ""
    hint = f"; [quiet]{escape(problem.hint)}[/]" if problem.hint else ""
    console.print(f"[fail]✗[/] {place}{key}{escape(problem.message)}{hint}", soft_wrap=True)
