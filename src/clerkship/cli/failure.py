"""Prints why a command failed: mistakes in its input, or a bug."""

import traceback

from rich.markup import escape

from clerkship.cli.console import err, print_json, print_problem
from clerkship.model.errors import ClerkshipError, InputError, InputProblem


def print_failure(error: Exception, *, json: bool) -> None:
    """Print an error on standard error; with `json`, print input errors on standard output too."""
    if not isinstance(error, ClerkshipError):
        _print_bug(error)
        return
    problems = error.problems if isinstance(error, InputError) else (InputProblem(message=str(error)),)
    if json:
        print_json({"problems": problems})
    for problem in problems:
        print_problem(problem, err())


def _print_bug(error: Exception) -> None:
    console = err()
    place = traceback.extract_tb(error.__traceback__)[-1]
    console.print(f"[fail]✗ this is a bug in clerkship:[/] {type(error).__name__}: {escape(str(error))}")
    console.print(
        f"[quiet]in {place.name}, line {place.lineno} of {place.filename.rpartition('/')[2]}; please report it[/]"
    )
