"""A run under way: a live bar on a terminal, a line per trial elsewhere."""

from collections import Counter
from types import TracebackType
from typing import Self

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from clerkship.cli.words import styled
from clerkship.model.run import TaskRun
from clerkship.report.outcome import outcome


class RunProgress:
    """Told of each trial as it finishes; shows how far the run is and how it goes."""

    def __init__(self, console: Console, total: int | None, *, quiet: bool = False) -> None:
        self._console = console
        self._quiet = quiet
        self._live = console.is_terminal and not quiet
        self._seen: Counter[str] = Counter()
        self._total = total
        self._bar = Progress(
            SpinnerColumn(),
            BarColumn(bar_width=30),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            TextColumn("{task.description}"),
            console=console,
            transient=True,
            disable=not self._live,
        )
        self._task = self._bar.add_task("starting", total=total)

    def __enter__(self) -> Self:
        """Start showing."""
        self._bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Leave the terminal as it was."""
        self._bar.stop()

    def __call__(self, task_run: TaskRun) -> None:
        """One trial has finished."""
        self._seen[outcome(task_run)] += 1
        if self._live:
            told = "  ".join(f"{styled(name)} {count}" for name, count in sorted(self._seen.items()))
            self._bar.update(self._task, advance=1, description=told)
        elif not self._quiet:
            total = f"/{self._total}" if self._total else ""
            done = f"[{sum(self._seen.values())}{total}]"
            trial = f" (trial {task_run.trial})" if task_run.trial > 1 else ""
            self._console.print(f"{escape(done)} {outcome(task_run)}: {escape(task_run.task)}{trial}")
