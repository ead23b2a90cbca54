"""Styles of outcomes and of unfinished runs."""

from rich.markup import escape

from clerkship.model.run import BenchmarkRun
from clerkship.report.outcome import OUTCOMES
from clerkship.settings import get_command_prefix

MARKS = {
    "pass": "✓",
    "partial": "◐",
    "fail": "✗",
    "ungraded": "○",
    "inconclusive": "?",
    "errored": "!",
    "invalid_person": "!",
    "cancelled": "–",
}


def style_mark(name: str) -> str:
    """Return the mark of an outcome, with its color as markup."""
    return f"[{name}]{MARKS[name]}[/]"


def style_outcome(name: str) -> str:
    """Return an outcome with its mark and colour."""
    return f"[{name}]{MARKS[name]} {OUTCOMES[name][0].lower()}[/]"


def describe_unfinished_run(run: BenchmarkRun, *, held: bool, store_option: str = "") -> str:
    """Return the status of an unfinished run, with the command to continue; empty for a finished one."""
    if run.status == "completed":
        return ""
    if held:
        return "[partial]running[/]"
    status = "stopped" if run.status == "cancelled" else "interrupted"
    command = f"rescore {run.origin}" if run.made_by == "rescore" else f"resume {run.id}"
    return f"[fail]{status}:[/] {get_command_prefix()} {command}{escape(store_option)}"
