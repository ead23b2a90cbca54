"""Print the files of a folder that were skipped."""

from collections.abc import Mapping

from rich.console import Console
from rich.markup import escape

from clerkship.suite_files.load import describe_skipped_files


def print_skipped_files(console: Console, files: Mapping[str, str], *, verbose: bool) -> None:
    """Print how many files were skipped, if any, and with `verbose` which ones."""
    if verbose:
        list_skipped_files(console, files)
    if files:
        console.print(f"[quiet]{describe_skipped_files(files)}[/]")


def list_skipped_files(console: Console, files: Mapping[str, str]) -> None:
    """Print the name of each skipped file, with the reason unless it is simply a file of another tool."""
    for file, reason in files.items():
        note = f": {escape(reason)}" if reason else ""
        console.print(f"[quiet]skipped[/] {escape(file)}[quiet]{note}[/]", soft_wrap=True)
