"""The command line: the program with its commands, imported when used, and the exit code when one fails."""

import gc
import os
import sys
from collections.abc import Callable
from functools import cached_property, partial
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup

from clerkship.by_name import load
from clerkship.cli.commands import COMMANDS, CommandEntry, GroupEntry

USAGE_ERROR: Any = typer.BadParameter.__mro__[1]
"""The error of typer for a command line that it cannot parse, which it does not export."""
PLAIN: Any = {"rich_markup_mode": None}
"""Help is plain text: to lay it out with rich takes longer than everything else that `--help` does."""


def _convert_given_only(parameters: list[Any]) -> list[Any]:
    """Return the parameters of a command; they convert only values that are given.

    Typer builds a pydantic validator for every parameter, given or not: `--help` would import pydantic.
    """
    for parameter in parameters:
        if "process_value" not in vars(parameter):
            parameter.process_value = partial(_process_value, parameter, parameter.process_value)
    return parameters


def _process_value(parameter: Any, convert: Callable[[Any, Any], Any], ctx: Any, value: Any) -> Any:
    if value is not None or parameter.required:
        try:
            return convert(ctx, value)
        except typer.BadParameter as error:
            if value is not None:
                error.message = load("clerkship.cli.usage_errors:describe_value_error")(error.message, value)
            raise
    missing = () if parameter.multiple or parameter.nargs == -1 else None
    return missing if parameter.callback is None else parameter.callback(ctx, parameter, missing)


def _suggest_option(error: Any, parameters: list[Any]) -> None:
    """Let an error about an unknown option name the nearest one."""
    if hasattr(error, "possibilities"):
        known = [name for each in parameters for name in (*each.opts, *each.secondary_opts) if name.startswith("--")]
        load("clerkship.cli.usage_errors:add_suggestion")(error, error.option_name, known)


class PlainCommand(TyperCommand):
    """A command whose help has a section for each panel of options."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse arguments; an unknown option is an error with the nearest one."""
        try:
            return super().parse_args(ctx, args)
        except USAGE_ERROR as error:
            _suggest_option(error, self.get_params(ctx))
            raise

    def get_params(self, ctx: Any) -> list[Any]:
        """Return the parameters, with `--help`."""
        return _convert_given_only(super().get_params(ctx))

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write a table of arguments, of options, and of the options of each panel."""
        sections: dict[str, list[tuple[str, str]]] = {}
        for parameter in self.get_params(ctx):
            row = parameter.get_help_record(ctx)
            title = "Arguments" if parameter.param_type_name == "argument" else "Options"
            if row is not None:
                sections.setdefault(getattr(parameter, "rich_help_panel", None) or title, []).append(row)
        for title, rows in sections.items():
            with formatter.section(title):
                formatter.write_dl(rows)


class LazyCommand(TyperCommand):
    """A command of which only the name and the help are known until it parses arguments."""

    def __init__(self, name: str, entry: CommandEntry) -> None:
        super().__init__(name, help=entry.help, **PLAIN)
        self._target = entry.target

    @cached_property
    def loaded(self) -> Any:
        """The command; its module is imported at the first access."""
        app = typer.Typer(add_completion=False, **PLAIN)
        app.command(name=self.name, cls=PlainCommand)(load(self._target))
        if not gc.get_freeze_count():  # a process with many commands would freeze the garbage of those before
            gc.freeze()  # what was imported stays: the collector need not look at it
        gc.enable()
        return typer.main.get_command(app)

    def make_context(self, *args: Any, **options: Any) -> Any:
        """Parse arguments with the command itself, which is the context's command from then on."""
        return self.loaded.make_context(*args, **options)

    def get_short_help_str(self, limit: int = 0) -> str:
        """Return the whole help for the list of commands."""
        return self.help or ""


class CommandGroup(TyperGroup):
    """A command with subcommands."""

    def get_params(self, ctx: Any) -> list[Any]:
        """Return the parameters, with `--help`."""
        return _convert_given_only(super().get_params(ctx))

    @classmethod
    def build(cls, name: str, entry: GroupEntry) -> "CommandGroup":
        """Return the group of an entry."""
        commands = [LazyCommand(name, command) for name, command in entry.commands.items()]
        return cls(name=name, help=entry.help, commands=commands, **PLAIN)

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse arguments; without any, print the help and exit with 2."""
        if not args and not ctx.resilient_parsing:
            typer.echo(ctx.get_help())
            raise typer.Exit(2)
        try:
            return super().parse_args(ctx, args)
        except USAGE_ERROR as error:
            _suggest_option(error, self.get_params(ctx))
            raise

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Return the command of the first argument; an unknown one is an error with the nearest one."""
        try:
            return super().resolve_command(ctx, args)
        except USAGE_ERROR as error:
            if args and not args[0].startswith("-"):
                load("clerkship.cli.usage_errors:add_suggestion")(error, args[0], self.commands)
            raise

    def get_short_help_str(self, limit: int = 0) -> str:
        """Return the whole help for the list of commands."""
        return self.help or ""


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
