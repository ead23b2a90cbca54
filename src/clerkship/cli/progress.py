"""Progress of a run: a progress bar on a terminal, otherwise a line for each trial."""

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

from clerkship.cli.outcome_style import style_outcome
from clerkship.model.run import Attempt, TaskRun
from clerkship.report.outcome import outcome


class _StatusColumn(ProgressColumn):
    """A status text that is computed only when the bar is drawn."""

    def __init__(self, status: Callable[[], str]) -> None:
        super().__init__()
        self._status = status

    def render(self, task: Task) -> Text:
        return Text.from_markup(self._status())


class ProgressBar:
    """A progress bar with a status text; shown only on a terminal."""

    def __init__(self, console: Console, total: int | None, *, quiet: bool = False) -> None:
        self._console, self._total, self._quiet = console, total, quiet
        self._live = console.is_terminal and not quiet
        self._bar = Progress(
            SpinnerColumn(),
            BarColumn(bar_width=30),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            _StatusColumn(self.status_text),
            console=console,
            transient=True,
            disable=not self._live,
        )
        self._task = self._bar.add_task("", total=total)

    @abstractmethod
    def status_text(self) -> str:
        """Return the status text."""

    def advance(self) -> None:
        """Count one more item."""
        self._bar.update(self._task, advance=1)

    def __enter__(self) -> Self:
        self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._bar.stop()


class RunProgress(ProgressBar):
    """Shows the number of finished trials and their outcomes."""

    def __init__(self, console: Console, total: int | None, *, quiet: bool = False) -> None:
        self._outcomes: Counter[str] = Counter()
        self._started = 0
        self._lock = Lock()
        super().__init__(console, total, quiet=quiet)

    def trial_started(self, attempt: Attempt) -> None:
        """Count a trial that has started; called from any thread."""
        with self._lock:
            self._started += 1

    def status_text(self) -> str:
        """Return the outcomes of finished trials, and the number of running ones."""
        with self._lock:
            outcomes, running = sorted(self._outcomes.items()), self._started - self._outcomes.total()
        parts = [f"{style_outcome(name)} {count}" for name, count in outcomes]
        parts += [f"[quiet]{running} running[/]"] if running > 0 else []
        return "  ".join(parts) or "starting"

    def __call__(self, task_run: TaskRun) -> None:
        """Count a finished trial."""
        with self._lock:
            self._outcomes[outcome(task_run)] += 1
        if self._live:
            self.advance()
        elif not self._quiet:
            total = f"/{self._total}" if self._total else ""
            done = f"[{sum(self._outcomes.values())}{total}]"
            trial = f" (trial {task_run.trial})" if task_run.trial > 1 else ""
            self._console.print(f"{escape(done)} {outcome(task_run)}: {escape(task_run.task)}{trial}")
