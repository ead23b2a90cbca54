"""A run under way: a live bar on a terminal, a line per trial elsewhere."""

from abc import abstractmethod
from collections import Counter
from collections.abc import Callable
from threading import Lock
from typing import Self

from rich.console import Console
from rich.markup import escape
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    SpinnerColumn,
    Task,
    TimeElapsedColumn,
)
from rich.text import Text

from clerkship.cli.outcome_style import styled
from clerkship.model.run import Attempt, TaskRun
from clerkship.report.outcome import outcome


class _Going(ProgressColumn):
    """How it goes, asked for when the bar is drawn: a trial that begins costs no drawing."""

    def __init__(self, told: Callable[[], str]) -> None:
        super().__init__()
        self._told = told

    def render(self, task: Task) -> Text:
        """In words."""
        return Text.from_markup(self._told())


class Gauge:
    """A bar that says how far something is and how it goes; nothing where nobody watches."""

    def __init__(self, console: Console, total: int | None, *, quiet: bool = False) -> None:
        self._console, self._total, self._quiet = console, total, quiet
        self._live = console.is_terminal and not quiet
        self._bar = Progress(
            SpinnerColumn(),
            BarColumn(bar_width=30),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            _Going(self.going),
            console=console,
            transient=True,
            disable=not self._live,
        )
        self._task = self._bar.add_task("", total=total)

    @abstractmethod
    def going(self) -> str:
        """How it goes, in words."""

    def advance(self) -> None:
        """One more is done."""
        self._bar.update(self._task, advance=1)

    def __enter__(self) -> Self:
        """Start showing."""
        self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Leave the terminal as it was."""
        self._bar.stop()


class RunProgress(Gauge):
    """Show how many trials are done and how they came out, while a run is under way."""

    def __init__(self, console: Console, total: int | None, *, quiet: bool = False) -> None:
        self._seen: Counter[str] = Counter()
        self._begun = 0
        self._gate = Lock()
        super().__init__(console, total, quiet=quiet)

    def began(self, attempt: Attempt) -> None:
        """One trial is under way; heard from any thread."""
        with self._gate:
            self._begun += 1

    def going(self) -> str:
        """How those came out that have finished, and how many are under way."""
        with self._gate:
            seen, under_way = sorted(self._seen.items()), self._begun - self._seen.total()
        told = [f"{styled(name)} {count}" for name, count in seen]
        told += [f"[quiet]{under_way} under way[/]"] if under_way > 0 else []
        return "  ".join(told) or "starting"

    def __call__(self, task_run: TaskRun) -> None:
        """One trial has finished."""
        with self._gate:
            self._seen[outcome(task_run)] += 1
        if self._live:
            self.advance()
        elif not self._quiet:
            total = f"/{self._total}" if self._total else ""
            done = f"[{sum(self._seen.values())}{total}]"
            trial = f" (trial {task_run.trial})" if task_run.trial > 1 else ""
            self._console.print(f"{escape(done)} {outcome(task_run)}: {escape(task_run.task)}{trial}")
