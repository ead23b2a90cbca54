"""Output: rich on a terminal, plain text elsewhere, JSON on request."""

import os
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import orjson
import typer
from pydantic import BaseModel
from rich.console import Console
from rich.markup import escape
from rich.segment import Segment
from rich.table import Column, Table
from rich.text import Text
from rich.theme import Theme

from clerkship.kit.command_option import REFRESH_HINT
from clerkship.model.errors import InputProblem
from clerkship.model.seals import SealCheck
from clerkship.report.plain_text import escape_ci_commands, replace_control_characters

THEME = Theme(
    {
        "pass": "green",
        "partial": "yellow",
        "fail": "red",
        "ungraded": "cyan",
        "inconclusive": "magenta",
        "errored": "magenta",
        "cancelled": "dim",
        "invalid_person": "magenta",
        "quiet": "dim",
        "place": "cyan",
    }
)


def print_report_paths(console: Console, written: dict[str, Path]) -> None:
    """Print the paths of the reports."""
    for kind, target in written.items():
        console.print(f"[quiet]{'report' if kind == 'html' else kind}[/] {escape(str(target))}", soft_wrap=True)


def print_unrecorded_trials(console: Console, count: int) -> None:
    """Print how many trials were not recorded, if any, and what to do."""
    if count:
        trials = "1 trial needs" if count == 1 else f"{count:,} trials need"
        console.print(
            f"[errored]not recorded:[/] {trials} answers that no cassette has; {REFRESH_HINT}", soft_wrap=True
        )


def out() -> Console:
    """Return the console of standard output: without colours and wrapping if it is not a terminal."""
    return _console(stderr=False)


def err() -> Console:
    """Return the console of standard error."""
    return _console(stderr=True)


class _SafeConsole(Console):
    """A console for text of agents and authors, which removes control characters and commands to a CI system."""

    def render_str(self, text: str, **options: Any) -> Text:
        """Render text without control characters."""
        return super().render_str(replace_control_characters(text), **options)

    def _render_buffer(self, buffer: Iterable[Segment]) -> str:
        return escape_ci_commands(super()._render_buffer(buffer))

    def on_broken_pipe(self) -> None:
        """Discard further output if the reader has closed the pipe, and let the command finish."""
        self.quiet = True
        os.dup2(os.open(os.devnull, os.O_WRONLY), (sys.stderr if self.stderr else sys.stdout).fileno())


def _console(*, stderr: bool) -> Console:
    console = _SafeConsole(theme=THEME, stderr=stderr, highlight=False, emoji=False)
    if not console.is_terminal:
        console = _SafeConsole(theme=THEME, stderr=stderr, highlight=False, emoji=False, width=200, soft_wrap=True)
    return console


def write_line(console: Console, text: str) -> None:
    """Write a line of text as it is. Rich takes as long to lay a line out as the run takes for half of a trial."""
    if console.quiet:
        return
    try:
        console.file.write(f"{escape_ci_commands(replace_control_characters(text))}\n")
        console.file.flush()
    except BrokenPipeError:
        console.on_broken_pipe()


def plain_table(*columns: Column) -> Table:
    """Return a table without lines around its cells."""
    return Table(*columns, box=None, pad_edge=False, header_style="quiet")


def number_column(title: str) -> Column:
    """Return a column for numbers."""
    return Column(title, justify="right", no_wrap=True)


def text_column(title: str) -> Column:
    """Return a column for texts, which are wrapped if they do not fit."""
    return Column(title, overflow="fold")


def print_more(console: Console, left_out: int, noun: str = "") -> None:
    """Print how many rows are not shown, if any."""
    if left_out > 0:
        console.print(f"[quiet]… and {left_out:,} more{noun}[/]")


def print_json(data: Any) -> None:
    """Print a JSON document on standard output."""
    _write_json(orjson.dumps(data, default=_to_plain_data, option=orjson.OPT_INDENT_2 | orjson.OPT_NON_STR_KEYS))


def print_json_line(data: Any) -> None:
    """Print a JSON document on one line, and flush it."""
    _write_json(orjson.dumps(data, default=_to_plain_data))


def _write_json(data: bytes) -> None:
    """Write JSON with `##[` and `##vso[` escaped, because they are commands to a CI system anywhere in a line."""
    sys.stdout.buffer.write(data.replace(b"##", rb"#\u0023") + b"\n")
    sys.stdout.buffer.flush()


def _to_plain_data(value: Any) -> Any:
    if isinstance(value, BaseModel):
        return value.model_dump(mode="json")
    if isinstance(value, tuple) and hasattr(value, "_asdict"):
        return value._asdict()
    if isinstance(value, Path):
        return str(value)
    raise TypeError(type(value).__name__)


def print_problem(problem: InputProblem, console: Console) -> None:
    """Print a mistake with its place and hint."""
    console.print(f"[fail]✗[/] {_describe_problem(problem)}", soft_wrap=True)


def report_damage(sentences: Sequence[str]) -> None:
    """Print unreadable records of a store on standard error; exit with 2 if there are any."""
    for sentence in sentences:
        print_problem(InputProblem(message=sentence, hint="everything else is shown"), err())
    if sentences:
        raise typer.Exit(2)


def warn_unset(names: Sequence[str]) -> None:
    """Warn on standard error about variables of a run that are not set, so that their values cannot be redacted."""
    if names:
        message = f"not set here, so the value is not recognised and may be shown: {', '.join(names)}"
        print_warning(InputProblem(message=message, hint="set the variables as they were for the run"), err())


def damage_data(sentences: Sequence[str]) -> dict[str, list[InputProblem]]:
    """Return unreadable records as JSON data; empty if there are none."""
    return {"problems": [InputProblem(message=sentence) for sentence in sentences]} if sentences else {}


def print_warning(problem: InputProblem, console: Console) -> None:
    """Print a warning with its place and hint."""
    console.print(f"[partial]![/] {_describe_problem(problem)}", soft_wrap=True)


def _describe_problem(problem: InputProblem) -> str:
    place = f"[place]{escape(problem.location())}[/]: " if problem.location() else ""
    key = f"[bold]{escape(problem.key)}[/]: " if problem.key else ""
    hint = f"; [quiet]{escape(problem.hint)}[/]" if problem.hint else ""
    return f"{place}{key}{escape(problem.message)}{hint}"


def print_changes(console: Console, check: SealCheck) -> None:
    """Print what was changed after it was saved, if anything."""
    if not check.is_changed:
        return
    console.print(f"[fail]CHANGED[/] {escape(check.headline())}:", soft_wrap=True)
    for sentence in check.sentences():
        console.print(f"  [fail]✗[/] {escape(sentence)}", soft_wrap=True)


def print_notes(notes: Iterable[str]) -> None:
    """Print on standard error what could not be checked."""
    for note in notes:
        print_warning(InputProblem(message=note), err())


def report_changes(check: SealCheck) -> None:
    """Print on standard error what was changed and what could not be checked; exit with 2 if anything was changed."""
    print_notes(check.notes())
    print_changes(err(), check)
    if check.is_changed:
        raise typer.Exit(2)
