"""The command line: the program with its commands, and the exit code when one fails."""

import os
import sys
from typing import Any

import typer

from clerkship.by_name import load
from clerkship.cli.commands import COMMANDS, GroupEntry
from clerkship.cli.lazy_command import PLAIN, CommandGroup, LazyCommand

_program = typer.Typer(
    name="clerkship",
    cls=CommandGroup,
    help="Test AI agents in simulated systems and conversations, graded over one ordered log.\n\n"
    "Start with `clerkship demo`, then create your own project with `clerkship init`.",
    **PLAIN,
)


@_program.callback()
def _version(
    version: bool = typer.Option(False, "--version", "-V", help="Print the version."),
) -> None:
    """Declare the option for the help: `clerkship.__main__` answers it."""


def _build_app() -> Any:
    app: Any = typer.main.get_command(_program)
    for name, entry in COMMANDS.items():
        app.add_command(CommandGroup.build(name, entry) if isinstance(entry, GroupEntry) else LazyCommand(name, entry))
    return app


app = _build_app()


def run(arguments: list[str]) -> int:
    """Run a command line and return its exit code."""
    try:
        app.main(arguments, prog_name="clerkship")
    except SystemExit as exit_:  # how typer ends, usage errors and Ctrl-C included
        return exit_.code if isinstance(exit_.code, int) else 0
    except BrokenPipeError:
        sys.stdout = open(os.devnull, "w", encoding="utf-8")  # noqa: PTH123, SIM115  (until the process ends)
        return 141  # as a shell calls it
    except Exception as error:  # the last line of defence: print a sentence, not a traceback
        load("clerkship.cli.failure:print_failure")(error, json="--json" in arguments)
    return 2
