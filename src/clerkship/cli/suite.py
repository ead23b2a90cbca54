"""`clerkship suite`: is a suite of tasks any good?"""

import typer

from clerkship.cli.attack import attack

suite = typer.Typer(name="suite", help="Is a suite of tasks any good? Attack it.", no_args_is_help=True)
suite.command()(attack)


@suite.callback()
def _group() -> None:
    """Keep the group though it has one command."""
