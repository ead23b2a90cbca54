"""What was recorded, or replayed, in a few lines."""

from rich.console import Console
from rich.markup import escape

from clerkship.recording.session import MEND, RecordingReport

MOST_FILES = 5


def say_taped(console: Console, told: RecordingReport | None) -> None:
    """How many exchanges, and where they are; what is missing is said where nobody can miss it."""
    if told is None:
        return
    parts = [
        f"{told.written:,} recorded" if told.mode != "replay" else "",
        f"{told.replayed:,} replayed" if told.mode != "record" else "",
        f"{told.dropped:,} dropped" if told.dropped else "",
    ]
    files = [*told.files[:MOST_FILES], *([f"… and {len(told.files) - MOST_FILES}"] if told.files[MOST_FILES:] else [])]
    where = f"  {escape('  '.join(files))}" if files else "  [quiet]there is no cassette[/]"
    console.print(f"[quiet]{told.mode}[/] {', '.join(filter(None, parts))}{where}", soft_wrap=True)
    if told.forgotten:
        said = "1 answer" if told.forgotten == 1 else f"{told.forgotten:,} answers"
        console.print(f"[quiet]{said} of a person who fell out of their role: not kept[/]")
    if told.unused:
        console.print(f"[quiet]{told.unused:,} of what is recorded for these trials was not asked for[/]")
    if told.failed:
        console.print(f"[errored]not recorded:[/] {escape(told.failed)}", soft_wrap=True)
    say_missed(console, told.missed)


def say_missed(console: Console, missed: int) -> None:
    """How many trials were not recorded, if any, and what to do: once, however many they are."""
    if missed:
        trials = "1 trial asks" if missed == 1 else f"{missed:,} trials ask"
        console.print(f"[errored]not recorded:[/] {trials} for what is on no cassette; {MEND}", soft_wrap=True)
