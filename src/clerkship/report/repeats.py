"""Pass rates of tasks with several trials, and which tasks are flaky."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Literal, NamedTuple

from clerkship.kit.statistics import (
    SIGNIFICANCE_LEVEL,
    Interval,
    fisher_exact_test,
    pass_at_k,
    pass_hat_k,
    side_of_threshold,
    wilson_interval,
)
from clerkship.model.run import TaskRun
from clerkship.report.labels import percent
from clerkship.report.outcome import GRADED, outcome


@dataclass(kw_only=True)
class PassRate:
    """How many trials were graded, how many of them passed, and their scores."""

    passed: int = 0
    graded: int = 0
    score: float = 0.0
    """The sum over graded trials."""

    def count(self, passed: bool, score: float) -> None:
        """Count one more graded trial."""
        self.passed += passed
        self.graded += 1
        self.score += score

    @property
    def rate(self) -> Fraction:
        """The share of graded trials that passed; requires at least one."""
        return Fraction(self.passed, self.graded)

    @property
    def mean_score(self) -> float | None:
        """The mean over graded trials."""
        return self.score / self.graded if self.graded else None

    @property
    def flaky(self) -> bool:
        """Whether some trials passed and some did not."""
        return 0 < self.passed < self.graded


def trend(before: PassRate, after: PassRate) -> Literal["better", "worse", "flaky", "same"]:
    """Compare two rates; `flaky` if trials differ and the difference may be chance. Both need a graded trial."""
    if before.flaky or after.flaky:
        if fisher_exact_test(before.passed, before.graded, after.passed, after.graded) >= SIGNIFICANCE_LEVEL:
            return "flaky"
    elif before.rate == after.rate:
        return "same"
    return "better" if after.rate > before.rate else "worse"


@dataclass
class TaskRate(PassRate):
    """All trials of one task."""

    task: str
    outcomes: Counter[str] = field(default_factory=Counter)
    snapshots: set[str] = field(default_factory=set)
    crashed: int = 0
    """Trials in which the agent crashed."""
    axis_scores: dict[str, list[float]] = field(default_factory=dict)
    """The scores of graded trials, by axis."""

    def add(self, task_run: TaskRun) -> None:
        """Count one more trial."""
        self.outcomes[outcome(task_run)] += 1
        self.snapshots.add(task_run.snapshot)
        self.crashed += task_run.ending == "agent_failed"
        if task_run.verdict in GRADED:
            self.count(task_run.verdict == "pass", task_run.score or 0.0)
            for axis, result in task_run.axes.items():
                self.axis_scores.setdefault(axis, []).append(result.score)

    @property
    def interval(self) -> Interval | None:
        """The rate with its confidence interval."""
        return wilson_interval(self.passed, self.graded)

    @property
    def axes(self) -> dict[str, float]:
        """The mean score of each axis over graded trials."""
        return {axis: _mean(scores) for axis, scores in sorted(self.axis_scores.items())}

    def data(self) -> dict[str, Any]:
        """Return plain data."""
        return {
            "passed": self.passed,
            "graded": self.graded,
            "interval": self.interval,
            "mean_score": self.mean_score,
            "axes": self.axes,
            "outcomes": +self.outcomes,
            "flaky": self.flaky,
        }


def group_rates(task_runs: Iterable[TaskRun]) -> dict[str, TaskRate]:
    """Group trials by task, in order of name."""
    rates: dict[str, TaskRate] = {}
    for task_run in task_runs:
        rates.setdefault(task_run.task, TaskRate(task_run.task)).add(task_run)
    return dict(sorted(rates.items()))


@dataclass(frozen=True)
class Repeats:
    """pass@k (at least one of k passes) and pass^k (all k pass), averaged over tasks; and the flaky tasks."""

    pass_at: dict[int, float]
    pass_hat: dict[int, float]
    flaky: tuple[str, ...]

    def data(self) -> dict[str, Any]:
        """Return plain data, with strings as keys."""
        at, hat = ({str(k): share for k, share in curve.items()} for curve in (self.pass_at, self.pass_hat))
        return {"pass_at": at, "pass_hat": hat, "flaky": list(self.flaky)}


class Curve(NamedTuple):
    """A share as a function of the number of trials."""

    name: str
    meaning: str
    points: dict[int, float]

    def words(self) -> str:
        """Return `67% at 1, 89% at 2`."""
        return ", ".join(f"{percent(share)} at {k}" for k, share in self.points.items())


def list_curves(repeats: Repeats) -> list[Curve]:
    """Return the curves with more than one point."""
    both = [
        Curve("pass@k", "at least one of k trials passes", repeats.pass_at),
        Curve("pass^k", "all of k trials pass", repeats.pass_hat),
    ]
    return [curve for curve in both if len(curve.points) > 1]


def compute_repeats(rates: Iterable[TaskRate]) -> Repeats:
    """Compute pass@k and pass^k over the tasks with a graded trial, for k up to the smallest number of trials."""
    graded = [rate for rate in rates if rate.graded]
    most = min((rate.graded for rate in graded), default=0)
    return Repeats(
        {k: _mean([pass_at_k(k, rate.passed, rate.graded) for rate in graded]) for k in _steps(most)},
        {k: _mean([pass_hat_k(k, rate.passed, rate.graded) for rate in graded]) for k in _steps(most)},
        tuple(rate.task for rate in graded if rate.flaky),
    )


def _steps(most: int) -> list[int]:
    """Return 1, 2, 4, 8 and the last value, which is enough to see the curve."""
    return sorted({k for k in (1, 2, 4, 8, most) if 0 < k <= most})


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)


def group_by_threshold(rates: Iterable[TaskRate], threshold: float) -> dict[str, list[str]]:
    """Group tasks by whether their rates are certainly above a threshold, certainly below, or uncertain."""
    sides: dict[str, list[str]] = {"above": [], "below": [], "not sure": []}
    for rate in rates:
        sides[side_of_threshold(rate.passed, rate.graded, threshold)].append(rate.task)
    return sides
