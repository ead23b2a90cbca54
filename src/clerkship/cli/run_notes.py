"""Notes that are printed below a run."""

from pathlib import Path

from rich.console import Console
from rich.markup import escape

from clerkship.recording.advice import REFRESH_HINT


def say_written(console: Console, written: dict[str, Path]) -> None:
    """Where the reports are."""
    for sort, target in written.items():
        console.print(f"[quiet]{'report' if sort == 'html' else sort}[/] {escape(str(target))}", soft_wrap=True)


def print_missing(console: Console, missed: int) -> None:
    """Print how many trials were not recorded, if any, and what to do."""
    if missed:
        trials = "1 trial asks" if missed == 1 else f"{missed:,} trials ask"
        console.print(f"[errored]not recorded:[/] {trials} for what is on no cassette; {REFRESH_HINT}", soft_wrap=True)
