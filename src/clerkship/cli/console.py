"""Where output goes: rich on a terminal, plain elsewhere, JSON when asked for."""

import io
import os
import sys
import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TextIO

import orjson
import typer
from pydantic import BaseModel
from rich.console import Console
from rich.markup import escape
from rich.segment import Segment
from rich.text import Text
from rich.theme import Theme

from clerkship.engine.seat import SEAT
from clerkship.model.problem import Problem
from clerkship.model.redaction import NOTHING_HIDDEN, Redactor
from clerkship.report.plain import harmless, without_commands

_THEME = Theme(
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


def out() -> Console:
    """Standard output. Not a terminal: no colours, no boxes drawn over lines, no wrapping."""
    return _console(stderr=False)


def err() -> Console:
    """Standard error."""
    return _console(stderr=True)


class _Guarded(Console):
    """A console for text by agents and authors: nothing in it moves the cursor, or is a command to a CI system."""

    def render_str(self, text: str, **how: Any) -> Text:
        """As rich does, without the signs that are none."""
        return super().render_str(harmless(text), **how)

    def _render_buffer(self, buffer: Iterable[Segment]) -> str:
        return without_commands(super()._render_buffer(buffer))

    def on_broken_pipe(self) -> None:
        """Nobody reads on: what is still to be said goes nowhere, and what is still to be done is done."""
        self.quiet = True
        os.dup2(os.open(os.devnull, os.O_WRONLY), (sys.stderr if self.stderr else sys.stdout).fileno())


def _console(*, stderr: bool) -> Console:
    console = _Guarded(theme=_THEME, stderr=stderr, highlight=False, emoji=False)
    if not console.is_terminal:
        console = _Guarded(theme=_THEME, stderr=stderr, highlight=False, emoji=False, width=200, soft_wrap=True)
    return console


class _Sorted(io.TextIOBase):
    """Standard output for everyone but the threads that agents work in: what they print goes to standard error."""

    def __init__(self, stdout: TextIO, by: Redactor) -> None:
        self._stdout = stdout
        self._redactor = by
        self._last = "\n"
        """The last character that an agent printed."""

    def _mine(self) -> TextIO:
        return sys.stderr if threading.current_thread().name.startswith(SEAT) else self._stdout

    def write(self, text: str) -> int:
        """Write an agent's text to standard error, without values of variables or commands to a CI system."""
        stream = self._mine()
        if stream is self._stdout or not text:
            return stream.write(text)
        stream.write(without_commands(self._last + self._redactor.text(text))[1:])
        self._last = text[-1]
        return len(text)

    def flush(self) -> None:
        """Likewise."""
        self._mine().flush()

    def __getattr__(self, name: str) -> Any:
        """Whatever else a stream can do."""
        return getattr(self._mine(), name)

    @property
    def encoding(self) -> str:  # type: ignore[override]
        """As it was."""
        return self._stdout.encoding

    def isatty(self) -> bool:
        """As it was."""
        return self._stdout.isatty()

    def fileno(self) -> int:
        """As it was."""
        return self._stdout.fileno()


@contextmanager
def agents_print_to_stderr(by: Redactor = NOTHING_HIDDEN) -> Iterator[None]:
    """Standard output is for verdicts: an agent's `print` must not spoil the JSON, or be hit by a closed pipe."""
    before = sys.stdout
    sys.stdout = _Sorted(before, by)
    try:
        yield
    finally:
        sys.stdout = before


def print_json(data: Any) -> None:
    """One JSON document, on standard output."""
    _write_json(orjson.dumps(data, default=_plain, option=orjson.OPT_INDENT_2 | orjson.OPT_NON_STR_KEYS))


def print_json_line(data: Any) -> None:
    """Print a JSON document on a line of its own, and flush it."""
    _write_json(orjson.dumps(data, default=_plain))


def _write_json(data: bytes) -> None:
    """Write JSON in which `##[` and `##vso[`, commands to a CI system wherever they stand, are escaped."""
    sys.stdout.buffer.write(data.replace(b"##", rb"#\u0023") + b"\n")
    sys.stdout.buffer.flush()


def _plain(value: Any) -> Any:
    if isinstance(value, BaseModel):
        return value.model_dump(mode="json")
    if isinstance(value, tuple) and hasattr(value, "_asdict"):
        return value._asdict()
    if isinstance(value, Path):
        return str(value)
    raise TypeError(type(value).__name__)


def print_problem(problem: Problem, console: Console) -> None:
    """Place, what is wrong, and what to do about it."""
    console.print(f"[fail]✗[/] {_told(problem)}", soft_wrap=True)


def report_damage(sentences: Sequence[str]) -> None:
    """Say on standard error what in a store cannot be read; exit with 2 if there is anything."""
    for sentence in sentences:
        print_problem(Problem(message=sentence, hint="everything else is shown"), err())
    if sentences:
        raise typer.Exit(2)


def warn_unset(names: Sequence[str]) -> None:
    """Warn on standard error about variables of a run whose values would be shown, because they are not known."""
    if names:
        message = f"not set here, so the value is not recognised and may be shown: {', '.join(names)}"
        print_warning(Problem(message=message, hint="set the variables as they were for the run"), err())


def damage_data(sentences: Sequence[str]) -> dict[str, list[Problem]]:
    """The same for machines; nothing where everything can be read."""
    return {"problems": [Problem(message=sentence) for sentence in sentences]} if sentences else {}


def print_warning(problem: Problem, console: Console) -> None:
    """The same of what is odd."""
    console.print(f"[partial]![/] {_told(problem)}", soft_wrap=True)


def _told(problem: Problem) -> str:
    place = f"[place]{escape(problem.place())}[/]: " if problem.place() else ""
    key = f"[bold]{escape(problem.key)}[/]: " if problem.key else ""
    hint = f"; [quiet]{escape(problem.hint)}[/]" if problem.hint else ""
    return f"{place}{key}{escape(problem.message)}{hint}"
