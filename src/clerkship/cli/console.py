"""Where output goes: rich on a terminal, plain elsewhere, JSON when asked for."""

import sys
from typing import Any

import orjson
from pydantic import BaseModel
from rich.console import Console
from rich.theme import Theme

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


def _console(*, stderr: bool) -> Console:
    console = Console(theme=_THEME, stderr=stderr, highlight=False, emoji=False)
    if not console.is_terminal:
        console = Console(theme=_THEME, stderr=stderr, highlight=False, emoji=False, width=200, soft_wrap=True)
    return console


def print_json(data: Any) -> None:
    """One JSON document, on standard output."""
    sys.stdout.buffer.write(orjson.dumps(data, default=_plain, option=orjson.OPT_INDENT_2) + b"\n")
    sys.stdout.buffer.flush()


def _plain(value: Any) -> Any:
    if isinstance(value, BaseModel):
        return value.model_dump(mode="json")
    return str(value)
