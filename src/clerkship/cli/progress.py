"""Progress of a run: a progress bar on a terminal, otherwise a line for each trial."""

from abc import abstractmethod
from collections import Counter
from collections.abc import Callable
from datetime import timedelta
from threading import Lock
from typing import Self

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    SpinnerColumn,
    Task,
    TimeElapsedColumn,
)
from rich.table import Column
from rich.text import Text

from clerkship.cli.console import write_line
from clerkship.cli.outcome_style import style_mark, style_outcome
from clerkship.model.run import Attempt, TaskRun
from clerkship.report.costs import count_retries
from clerkship.report.outcome import outcome

MAX_BAR_WIDTH = 30
OTHER_COLUMNS_WIDTH = 44
"""Width of the spinner, a short bar, the numbers and the times; the status has the rest of the line."""
NARROW_WIDTH = 100
"""Below this width, outcomes are shown by their marks only."""


class _StatusColumn(ProgressColumn):
    """A status text that is computed only when the bar is drawn, and shortened to its part of the line."""

    def __init__(self, status: Callable[[], str], console: Console) -> None:
        super().__init__(Column(no_wrap=True))
        self._status, self._console = status, console

    def render(self, task: Task) -> Text:
        text = Text.from_markup(self._status())
        text.truncate(max(self._console.width - OTHER_COLUMNS_WIDTH, 8), overflow="ellipsis")
        return text


class _RemainingTimeColumn(ProgressColumn):
    """The estimated time that is left, once an item is finished."""

    def __init__(self, remaining: Callable[[], float | None]) -> None:
        super().__init__(Column(no_wrap=True))
        self._remaining = remaining

    def render(self, task: Task) -> Text:
        seconds = self._remaining()
        text = "" if seconds is None else f"ETA {timedelta(seconds=round(seconds))}"
        return Text(text, style="progress.remaining")


def estimate_remaining(elapsed: float, finished_at: float, completed: float, total: float | None) -> float | None:
    """Return the seconds that are left if the other items take as long as those before; None if that is unknown.

    `finished_at` is the time at which the last item finished. From then on the estimate counts down, and it does not
    grow while the next items run.
    """
    if not total or not completed:
        return None
    return max(finished_at / completed * total - elapsed, 0.0)


class ProgressBar:
    """A progress bar with a status text; shown only on a terminal."""

    def __init__(self, console: Console, total: int | None, *, quiet: bool = False) -> None:
        self._console, self._total, self._quiet = console, total, quiet
        self._live = console.is_terminal and not quiet
        self._finished_at = 0.0
        self._bar = Progress(
            SpinnerColumn(table_column=Column(no_wrap=True)),
            BarColumn(bar_width=None, table_column=Column(max_width=MAX_BAR_WIDTH)),
            MofNCompleteColumn(table_column=Column(no_wrap=True)),
            TimeElapsedColumn(table_column=Column(no_wrap=True)),
            _RemainingTimeColumn(self.remaining_seconds),
            _StatusColumn(self.status_text, console),
            console=console,
            transient=True,
            disable=not self._live,
        )
        self._task = self._bar.add_task("", total=total)

    @abstractmethod
    def status_text(self) -> str:
        """Return the status text."""

    def remaining_seconds(self) -> float | None:
        """Return the estimated seconds that are left; None if that is unknown."""
        task = self._bar.tasks[0]
        return estimate_remaining(task.elapsed or 0.0, self._finished_at, task.completed, self._total)

    def advance(self) -> None:
        """Count one more item."""
        self._finished_at = self._bar.tasks[0].elapsed or 0.0
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
        show = style_outcome if self._console.width >= NARROW_WIDTH else style_mark
        parts = [f"{show(name)} {count}" for name, count in outcomes]
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
            again = count_retries(task_run.models)
            retries = f" ({again} model request{'s' * (again > 1)} sent again)" if again else ""
            write_line(self._console, f"{done} {outcome(task_run)}: {task_run.task}{trial}{retries}")
