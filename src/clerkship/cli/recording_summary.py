"""What a run recorded or replayed, in a few lines."""

from rich.console import Console
from rich.markup import escape

from clerkship.recording.session import MEND, RecordingReport

MAX_FILES = 5


def print_recording(console: Console, report: RecordingReport | None) -> None:
    """Print how many entries were recorded or replayed, where they are, and what is missing."""
    if report is None:
        return
    parts = [
        f"{report.written:,} recorded" if report.mode != "replay" else "",
        f"{report.replayed:,} replayed" if report.mode != "record" else "",
        f"{report.dropped:,} dropped" if report.dropped else "",
    ]
    more = len(report.files) - MAX_FILES
    files = [*report.files[:MAX_FILES], *([f"… and {more}"] if more > 0 else [])]
    where = f"  {escape('  '.join(files))}" if files else "  [quiet]there is no cassette[/]"
    console.print(f"[quiet]{report.mode}[/] {', '.join(filter(None, parts))}{where}", soft_wrap=True)
    if report.forgotten:
        answers = "1 answer" if report.forgotten == 1 else f"{report.forgotten:,} answers"
        console.print(f"[quiet]{answers} of a person who fell out of their role: not kept[/]")
    if report.unused:
        console.print(f"[quiet]{report.unused:,} of what is recorded for these trials was not asked for[/]")
    if report.failed:
        console.print(f"[errored]not recorded:[/] {escape(report.failed)}", soft_wrap=True)
    print_missing(console, report.missed)


def print_missing(console: Console, missed: int) -> None:
    """Print how many trials were not recorded, if any, and what to do."""
    if missed:
        trials = "1 trial asks" if missed == 1 else f"{missed:,} trials ask"
        console.print(f"[errored]not recorded:[/] {trials} for what is on no cassette; {MEND}", soft_wrap=True)
