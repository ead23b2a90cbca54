"""`clerkship run --watch`: run again whenever a file changes.

Each run is a process of its own, because a Python module that is imported does not change.
"""

import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from rich.markup import escape

from clerkship.cli.console import err
from clerkship.cli.report_options import OutputOptions
from clerkship.kit.stop_signals import StopFlag, replace_stop_handlers
from clerkship.model.errors import InputError
from clerkship.service.planning.request import RunRequest, split_case
from clerkship.service.watched_files import FileState, WatchedFiles, find_changes, find_watched_files

POLL_SECONDS = 0.5
MAX_NAMED_FILES = 3
WATCH_FLAG = "--watch"


def watch_and_run(request: RunRequest, output: OutputOptions, arguments: Sequence[str]) -> int:
    """Run the command without `--watch`, and again after each change. Return the exit code of the last run."""
    path, _ = split_case(request.path)
    if not path.exists():
        raise InputError.of("there is no such file or folder", file=str(path))
    command = [sys.executable, "-m", "clerkship", *(word for word in arguments if word != WATCH_FLAG)]
    written = [*output.reports().files().values(), *([output.store] if output.store is not None else [])]
    watcher = RunWatcher(command)
    with watcher.stop_on_signal():
        while not watcher.is_stopped:
            files = find_watched_files(request, written)
            before = files.read_states()
            watcher.run()
            changed = watcher.wait_for_change(files, before)
            if changed:
                err().print(f"\n[bold]{escape(_describe(changed))}[/] changed, running again", soft_wrap=True)
    return watcher.exit_code


class RunWatcher:
    """Starts a command again and again, until a signal stops it."""

    def __init__(self, command: Sequence[str]) -> None:
        self._command = list(command)
        self._stop = StopFlag()
        self._process: subprocess.Popen[bytes] | None = None
        self.exit_code = 0

    @property
    def is_stopped(self) -> bool:
        """Whether a signal has arrived."""
        return self._stop.is_set

    @contextmanager
    def stop_on_signal(self) -> Iterator[None]:
        """Stop on Ctrl-C, SIGTERM or SIGHUP inside this context.

        A terminal sends Ctrl-C to the command too, which then ends its run; the others are passed on as SIGTERM.
        """

        def stop(number: int, frame: object) -> None:
            self._stop.set()
            if number != signal.SIGINT and self._process is not None:
                self._process.terminate()

        with replace_stop_handlers(stop):
            yield

    def run(self) -> None:
        """Run the command to its end and keep its exit code."""
        self._process = subprocess.Popen(self._command)
        self.exit_code = self._process.wait()
        self._process = None

    def wait_for_change(self, files: WatchedFiles, before: dict[Path, FileState]) -> list[Path]:
        """Wait until files differ from a state and stay the same for one poll. Return those files, or none if stopped.

        Changes during the run count, because the state is from before it.
        """
        states = files.read_states()
        if not self.is_stopped and states == before:
            count = "1 file" if len(states) == 1 else f"{len(states):,} files"
            err().print(f"[quiet]watching {count}; Ctrl-C stops[/]")
        while not self._stop.wait(POLL_SECONDS):
            now = files.read_states()
            if now != before and now == states:
                return find_changes(before, now)
            states = now
        return []


def _describe(changed: list[Path]) -> str:
    names = [str(path.relative_to(Path.cwd())) if path.is_relative_to(Path.cwd()) else str(path) for path in changed]
    more = len(names) - MAX_NAMED_FILES
    return ", ".join([*names[:MAX_NAMED_FILES], *([f"{more} more"] if more > 0 else [])])
