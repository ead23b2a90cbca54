"""`clerkship validate`: check the files of a suite."""

import typer
from rich.markup import escape

from clerkship.cli.catalog import build_catalog
from clerkship.cli.console import out, print_json, print_problem, print_warning
from clerkship.cli.groups import grouped
from clerkship.cli.options import Json, Verbose
from clerkship.cli.skipped_files import list_skipped_files
from clerkship.service.checking import Validation, ValidationRequest
from clerkship.service.checking import validate as check
from clerkship.settings import load_settings
from clerkship.suite_files.library import Library
from clerkship.suite_files.load import describe_skipped_files


@grouped
def validate(request: ValidationRequest, json: Json = False, verbose: Verbose = False) -> None:
    """Check the files of a suite and report all mistakes.

    It checks keys, types, names, templates and entities, and slots against the agent's domain. Each mistake has
    file:line:column and a suggestion. Warnings are marked `!`.

    Exit codes: 0 no mistakes, 2 mistakes.

    Examples:

        clerkship validate suites/clinic

        clerkship validate eval --domain domain.yml
    """
    catalog = build_catalog()
    validation = check(request, load_settings(), catalog)
    if json:
        _print_json(validation, catalog.warnings())
    else:
        _print_validation(validation, verbose=verbose)
    raise typer.Exit(validation.exit_code())


def _print_json(validation: Validation, warnings: list[str]) -> None:
    library = validation.library
    print_json(
        {
            "problems": validation.problems,
            "tasks": sorted(library.tasks) if library else [],
            "warnings": [*warnings, *map(str, validation.warnings)],
            "domain": library.domain if library else None,
            "passed_over": list(validation.skipped_files),
        }
    )


def _print_validation(validation: Validation, *, verbose: bool) -> None:
    console, files = out(), validation.skipped_files
    skipped = f"[quiet], {describe_skipped_files(files)}[/]" if files else ""
    if verbose:
        list_skipped_files(console, files)
    for warning in validation.warnings:
        print_warning(warning, console)
    if validation.library is not None:
        if validation.library.domain is not None:
            console.print(
                f"[quiet]names checked against the domain[/] {escape(validation.library.domain)}", soft_wrap=True
            )
        console.print(f"[pass]✓[/] {_describe_library(validation.library)}{skipped}")
        return
    for problem in validation.problems:
        print_problem(problem, console)
    count = len(validation.problems)
    console.print(f"\n[fail]✗[/] {count} {'mistake' if count == 1 else 'mistakes'}{skipped}")


def _describe_library(library: Library) -> str:
    """Return the numbers of definitions and of warnings in words."""
    parts = {"task": library.tasks, "environment": library.environments, "dataset": library.datasets}
    counts = ", ".join(f"{len(items)} {name}{'s' * (len(items) != 1)}" for name, items in parts.items() if items)
    count = len(library.warnings)
    result = f"no mistakes, {count} warning{'s' * (count != 1)}" if count else "no mistakes"
    return f"{counts}: {result}"
