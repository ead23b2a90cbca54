"""`clerkship run --watch`: run again whenever a file changes, and only the tasks that changed if that is enough.

Each run is a process of its own, because a Python module that is imported does not change.
"""

import signal
import subprocess
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from rich.markup import escape

from clerkship.cli.catalog import build_catalog
from clerkship.cli.console import err
from clerkship.cli.report_options import OutputOptions
from clerkship.kit.stop_signals import StopFlag, replace_stop_handlers
from clerkship.model.errors import InputError
from clerkship.service.changed_tasks import SuiteState, read_suite_state
from clerkship.service.planning.request import RunRequest, split_case
from clerkship.service.watched_files import FileState, WatchedFiles, find_changes, find_watched_files
from clerkship.settings import load_settings
from clerkship.suite_files.published.places import find_suite

POLL_SECONDS = 0.5
MAX_NAMED_FILES = 3
MAX_NAMED_TASKS = 500
"""Tasks that one command names; more are run as all."""
WATCH_FLAG, TASK_OPTION = "--watch", "--task"


def watch_and_run(request: RunRequest, output: OutputOptions, arguments: Sequence[str]) -> int:
    """Run the command without `--watch`, and again after each change. Return the exit code of the last run."""
    path = find_suite(split_case(request.path)[0])
    if not path.exists():
        raise InputError.of("there is no such file or folder", file=str(path))
    command = [sys.executable, "-m", "clerkship", *(word for word in arguments if word != WATCH_FLAG)]
    written = [*output.reports().files().values(), *([output.place] if isinstance(output.place, Path) else [])]
    watcher, changes = RunWatcher(), SuiteChanges(request, runs_all=bool({"--last-failed", "--lf"} & {*arguments}))
    changed: list[Path] = []
    with watcher.stop_on_signal():
        while not watcher.is_stopped:
            files = find_watched_files(request, written)
            before = files.read_states()
            names = changes.find_tasks(changed)
            if changed:
                err().print(f"\n[bold]{escape(_describe(changed))}[/] changed, {_announce(names)}", soft_wrap=True)
            if names is None or names:
                watcher.run(command if names is None else select_tasks(command, names))
            changed = watcher.wait_for_change(files, before)
    return watcher.exit_code


def select_tasks(command: Sequence[str], names: Sequence[str]) -> list[str]:
    """Return a command with these tasks in place of those that it selects by name."""
    before = ["", *command]
    others = [
        word
        for word, previous in zip(command, before, strict=False)
        if previous != TASK_OPTION and word.partition("=")[0] != TASK_OPTION
    ]
    return [*others, *(word for name in names for word in (TASK_OPTION, name))]


def _announce(names: Sequence[str] | None) -> str:
    if names is None:
        return "running again"
    count = "1 task" if len(names) == 1 else f"{len(names):,} tasks"
    return f"running {count} again" if names else "no task did"


class SuiteChanges:
    """Finds which tasks a change of files concerns, by the state of the suite before and after it."""

    def __init__(self, request: RunRequest, *, runs_all: bool) -> None:
        self._request, self._runs_all = request, runs_all
        self._settings, self._catalog = load_settings(), build_catalog()
        self._state: SuiteState | None = None
        self._changed: set[Path] = set()
        """Files that have changed since that state."""

    def find_tasks(self, changed: Iterable[Path]) -> Sequence[str] | None:
        """Return the tasks to run after these files changed; None if all must run."""
        self._changed |= {*changed}
        state = None if self._runs_all else read_suite_state(self._request, self._settings, self._catalog)
        if state is None:
            return None
        before, self._state = self._state, state
        names = state.find_changed_tasks(before, self._changed) if before is not None else None
        self._changed.clear()
        return names if names is None or len(names) <= MAX_NAMED_TASKS else None


class RunWatcher:
    """Starts commands one after another, until a signal stops it."""

    def __init__(self) -> None:
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

    def run(self, command: Sequence[str]) -> None:
        """Run a command to its end and keep its exit code."""
        self._process = subprocess.Popen(command)
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
