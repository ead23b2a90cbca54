"""Notes printed after a run."""

from pathlib import Path

from rich.console import Console
from rich.markup import escape

from clerkship.recording.advice import REFRESH_HINT


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
