"""The commands, and what becomes of an error: a sentence, never a traceback."""

import os
import sys
import traceback
from importlib import import_module
from typing import Any

import typer
from rich.markup import escape
from typer.core import TyperGroup

from clerkship.cli.check import check
from clerkship.cli.compare import compare
from clerkship.cli.conformance import conformance
from clerkship.cli.console import err, print_json, print_problem
from clerkship.cli.demo import demo
from clerkship.cli.events import events
from clerkship.cli.init import init
from clerkship.cli.judge import judge
from clerkship.cli.list_runs import list_runs
from clerkship.cli.new import new
from clerkship.cli.plugins import plugins
from clerkship.cli.prompts import prompts
from clerkship.cli.rescore import rescore
from clerkship.cli.run import fork, rerun, resume
from clerkship.cli.run import run as run_command
from clerkship.cli.schema import schema
from clerkship.cli.show import show
from clerkship.cli.suite import suite
from clerkship.cli.up import up
from clerkship.cli.validate import validate
from clerkship.model.errors import ClerkshipError, InputError, InputProblem

app = typer.Typer(
    name="clerkship",
    help="Supervised practice for AI agents: simulated systems and people, graded over one ordered log.\n\n"
    "Start with `clerkship demo`; then `clerkship init` makes a project of your own.",
    no_args_is_help=True,
    rich_markup_mode="markdown",
    pretty_exceptions_enable=False,
    add_completion=False,
)


def lazy_group(name: str, module: str, help: str) -> typer.Typer:
    """Return a group of commands; `module` has them in `COMMANDS`, and is imported when one is used or listed."""

    class LazyGroup(TyperGroup):
        def list_commands(self, ctx: Any) -> list[str]:
            return list(self._imported())

        def get_command(self, ctx: Any, cmd_name: str) -> Any:
            return self._imported().get(cmd_name)

        def _imported(self) -> Any:
            if not self.commands:
                self.commands = typer.main.get_group(import_module(module).COMMANDS).commands
            return self.commands

    group = typer.Typer(name=name, cls=LazyGroup, help=help, no_args_is_help=True)
    group.callback()(lambda: None)
    return group


app.command()(demo)
app.command()(init)
app.add_typer(new)
app.add_typer(lazy_group("generate", "clerkship.cli.generate", "Draft files for you to edit."))
app.add_typer(lazy_group("dataset", "clerkship.cli.dataset", "Look into datasets, and make them up."))
app.command()(validate)
app.command(name="run")(run_command)
app.command()(show)
app.command()(compare)
app.command()(resume)
app.command()(rerun)
app.command()(rescore)
app.command()(fork)
app.add_typer(judge)
app.add_typer(suite)
app.command(name="list")(list_runs)
app.command()(up)
app.command()(events)
app.command()(check)
app.command()(schema)
app.command()(prompts)
app.command()(plugins)
app.command()(conformance)


@app.callback()
def version(
    version: bool = typer.Option(False, "--version", "-V", help="Print the version."),
) -> None:
    """Shown in the help; answered before any of this is imported."""


def run(arguments: list[str]) -> int:
    """Run a command line and return its exit code."""
    try:
        app(arguments, prog_name="clerkship")
    except SystemExit as done:  # how typer ends, usage errors and Ctrl-C included
        return done.code if isinstance(done.code, int) else 0
    except BrokenPipeError:
        sys.stdout = open(os.devnull, "w", encoding="utf-8")  # noqa: PTH123, SIM115  (until the process ends)
        return 141  # as a shell calls it
    except ClerkshipError as error:
        _explain(error, json="--json" in arguments)
    except Exception as error:  # the last line of defence: a bug of ours is said to be one
        _own_up(error)
    return 2


def _explain(error: ClerkshipError, *, json: bool) -> None:
    problems = error.problems if isinstance(error, InputError) else (InputProblem(message=str(error)),)
    if json:
        print_json({"problems": problems})
    for problem in problems:
        print_problem(problem, err())


def _own_up(error: Exception) -> None:
    console = err()
    place = traceback.extract_tb(error.__traceback__)[-1]
    console.print(f"[fail]✗ this is a bug in clerkship:[/] {type(error).__name__}: {escape(str(error))}")
    console.print(
        f"[quiet]in {place.name}, line {place.lineno} of {place.filename.rpartition('/')[2]}; please report it[/]"
    )
