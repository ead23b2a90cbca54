"""Tasks that were run several times: each one's rate, and which of them do not come out the same."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, NamedTuple

from clerkship.kit.statistics import Interval, pass_at, pass_hat, side, wilson
from clerkship.model.run import TaskRun
from clerkship.report.outcome import GRADED, outcome
from clerkship.report.percent import percent


@dataclass
class TaskRate:
    """All trials of one task."""

    task: str
    outcomes: Counter[str] = field(default_factory=Counter)
    snapshots: set[str] = field(default_factory=set)
    score: float = 0.0
    """The sum over graded trials."""
    crashed: int = 0
    """Trials in which the agent crashed."""
    axis_scores: dict[str, list[float]] = field(default_factory=dict)
    """Of each axis, the scores of graded trials."""

    def add(self, task_run: TaskRun) -> None:
        """One more trial."""
        self.outcomes[outcome(task_run)] += 1
        self.snapshots.add(task_run.snapshot)
        self.crashed += task_run.ending == "agent_failed"
        if task_run.verdict in GRADED:
            self.score += task_run.score or 0.0
            for axis, found in task_run.axes.items():
                self.axis_scores.setdefault(axis, []).append(found.score)

    @property
    def passed(self) -> int:
        """How many passed."""
        return self.outcomes["pass"]

    @property
    def graded(self) -> int:
        """How many got pass, partial or fail."""
        return sum(self.outcomes[name] for name in GRADED)

    @property
    def rate(self) -> Fraction:
        """Passed of graded; there must be one."""
        return Fraction(self.passed, self.graded)

    @property
    def interval(self) -> Interval | None:
        """The rate with the range it may well be in."""
        return wilson(self.passed, self.graded)

    @property
    def mean_score(self) -> float | None:
        """Over graded trials."""
        return self.score / self.graded if self.graded else None

    @property
    def axes(self) -> dict[str, float]:
        """The mean score of each axis, over graded trials."""
        return {axis: _mean(scores) for axis, scores in sorted(self.axis_scores.items())}

    @property
    def flaky(self) -> bool:
        """Whether some of its trials passed and some did not."""
        return 0 < self.passed < self.graded

    def data(self) -> dict[str, Any]:
        """As plain data."""
        return {
            "passed": self.passed,
            "graded": self.graded,
            "interval": self.interval,
            "mean_score": self.mean_score,
            "axes": self.axes,
            "outcomes": +self.outcomes,
            "flaky": self.flaky,
        }


def rates(task_runs: Iterable[TaskRun]) -> dict[str, TaskRate]:
    """Trials by task, in order of name."""
    found: dict[str, TaskRate] = {}
    for task_run in task_runs:
        found.setdefault(task_run.task, TaskRate(task_run.task)).add(task_run)
    return dict(sorted(found.items()))


@dataclass(frozen=True)
class Repeats:
    """What repetition tells: pass@k (one of k passes) and pass^k (all k pass), meant over tasks; and who is flaky."""

    pass_at: dict[int, float]
    pass_hat: dict[int, float]
    flaky: tuple[str, ...]

    def data(self) -> dict[str, Any]:
        """As plain data, with names for keys."""
        at, hat = ({str(k): share for k, share in curve.items()} for curve in (self.pass_at, self.pass_hat))
        return {"pass_at": at, "pass_hat": hat, "flaky": list(self.flaky)}


class Curve(NamedTuple):
    """How a share goes with the number of trials."""

    name: str
    meaning: str
    points: dict[int, float]

    def words(self) -> str:
        """67% at 1, 89% at 2."""
        return ", ".join(f"{percent(share)} at {k}" for k, share in self.points.items())


def curves(found: Repeats) -> list[Curve]:
    """Those with more than one point: of a single trial there is nothing to say."""
    both = [
        Curve("pass@k", "at least one of k trials passes", found.pass_at),
        Curve("pass^k", "all of k trials pass", found.pass_hat),
    ]
    return [curve for curve in both if len(curve.points) > 1]


def repeats(found: Iterable[TaskRate]) -> Repeats:
    """Over the tasks with a graded trial; k goes up to what every one of them has."""
    graded = [rate for rate in found if rate.graded]
    most = min((rate.graded for rate in graded), default=0)
    return Repeats(
        {k: _mean([pass_at(k, rate.passed, rate.graded) for rate in graded]) for k in _steps(most)},
        {k: _mean([pass_hat(k, rate.passed, rate.graded) for rate in graded]) for k in _steps(most)},
        tuple(rate.task for rate in graded if rate.flaky),
    )


def _steps(most: int) -> list[int]:
    """1, 2, 4, 8 and the last: enough to see the curve."""
    return sorted({k for k in (1, 2, 4, 8, most) if 0 < k <= most})


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)


def beside(found: Iterable[TaskRate], threshold: float) -> dict[str, list[str]]:
    """Which tasks' rates are surely at least this, which surely below, and of which one cannot say."""
    sides: dict[str, list[str]] = {"above": [], "below": [], "not sure": []}
    for rate in found:
        sides[side(rate.passed, rate.graded, threshold)].append(rate.task)
    return sides
