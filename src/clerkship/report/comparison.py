"""Compare two runs: each task and criterion is better, worse, the same or flaky; by axis, and over all tasks."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

from clerkship.kit.statistics import SIGNIFICANCE_LEVEL, Interval, paired_interval, paired_test
from clerkship.model.run import BenchmarkRun, TaskRun
from clerkship.report.axes import list_axes
from clerkship.report.criterion_changes import Change, CriterionComparison, compare_criteria, group_criteria
from clerkship.report.outcome import GRADED
from clerkship.report.repeats import TaskRate, group_rates, trend

Standing = Literal[
    "worse",
    "criteria worse",
    "better",
    "criteria better",
    "flaky",
    "criteria flaky",
    "same",
    "not graded",
    "only before",
    "only after",
]
NO_VERDICT = ("errored", "inconclusive", "invalid_person", "cancelled")
STANDINGS: dict[Standing, str] = {
    "worse": "passed before and does not pass now, beyond chance",
    "criteria worse": "same outcome, but a criterion newly fails",
    "better": "passes now and did not pass before, beyond chance",
    "criteria better": "same outcome, but a criterion newly passes",
    "flaky": "some trials pass and some do not; the difference may be chance",
    "criteria flaky": "same outcome, but a criterion passes only in some trials",
    "not graded": "errored, inconclusive or ungraded in one run, so it cannot be compared",
    "only before": "not in the second run",
    "only after": "not in the first run",
    "same": "same outcome",
}
"""The possible results for a task, the most urgent first."""


@dataclass(frozen=True)
class TaskComparison:
    """One task in both runs."""

    task: str
    standing: Standing
    before: TaskRate | None
    after: TaskRate | None
    criteria: tuple[CriterionComparison, ...] = ()
    """The criteria, the most urgent change first; empty if the task is only in one run."""

    @property
    def changes(self) -> list[CriterionComparison]:
        """The criteria that changed."""
        return [found for found in self.criteria if found.change != "same"]

    @property
    def changed(self) -> bool:
        """Whether the task itself differs between the runs."""
        return self.before is not None and self.after is not None and self.before.snapshots != self.after.snapshots


class AxisComparison(NamedTuple):
    """One axis over the tasks that have it in both runs."""

    axis: str
    before: float | None
    """None if no task has a score for it, for example because its criteria have no weight."""
    after: float | None
    changes: Counter[str]
    """The number of criteria for each change."""

    def data(self) -> dict[str, Any]:
        """Return plain data."""
        names: tuple[Change, ...] = ("newly failing", "newly passing", "flaky")
        counts = {name.replace(" ", "_"): self.changes[name] for name in names}
        return {"axis": self.axis, "before": self.before, "after": self.after, **counts}


@dataclass(frozen=True)
class Comparison:
    """The differences between two runs."""

    before: BenchmarkRun
    after: BenchmarkRun
    rows: tuple[TaskComparison, ...]
    difference: Interval | None
    """The difference of the pass rates, averaged over the tasks graded in both runs."""
    chance: float
    """The p-value of the difference."""
    tasks: int
    """The number of tasks graded in both runs."""

    def standings(self) -> dict[Standing, int]:
        """Return the number of tasks for each standing."""
        found = [row.standing for row in self.rows]
        return {standing: found.count(standing) for standing in STANDINGS}

    @property
    def overall(self) -> Literal["better", "worse", "same"]:
        """The result over all tasks together."""
        if self.difference is None or self.chance >= SIGNIFICANCE_LEVEL or self.difference.rate == 0:
            return "same"
        return "better" if self.difference.rate > 0 else "worse"

    def data(self) -> dict[str, Any]:
        """Return plain data."""
        rows = [
            {
                "task": row.task,
                "standing": row.standing,
                "changed": row.changed,
                "before": row.before.data() if row.before else None,
                "after": row.after.data() if row.after else None,
                "criteria": [found.data() for found in row.criteria],
            }
            for row in self.rows
        ]
        return {
            "before": self.before,
            "after": self.after,
            "standings": self.standings(),
            "overall": self.overall,
            "difference": self.difference,
            "chance": self.chance,
            "axes": [row.data() for row in self.axes()],
            "tasks": rows,
        }

    def axes(self) -> list[AxisComparison]:
        """Return the mean score of each axis in both runs, and how many of its criteria changed."""
        return [
            _compare_axis(axis, self.rows)
            for axis in list_axes([found.axis for found in row.criteria] for row in self.rows)
        ]

    @property
    def is_conclusive(self) -> bool:
        """Whether the comparison means anything: the second run is complete, all its trials have verdicts, and a task
        is in both.
        """
        whole = self.difference is not None and self.after.status == "completed"
        return whole and not any(_has_no_verdict(row.after) for row in self.rows)


def build_comparison(
    before: BenchmarkRun, before_trials: Iterable[TaskRun], after: BenchmarkRun, after_trials: Iterable[TaskRun]
) -> Comparison:
    """Compare tasks by name, and the criteria of each task."""
    earlier, later = _by_task(before_trials), _by_task(after_trials)
    order = list(STANDINGS)
    rows = sorted(
        (_compare_task(task, earlier.get(task, []), later.get(task, [])) for task in sorted({*earlier, *later})),
        key=lambda row: (order.index(row.standing), row.task),
    )
    both = [
        row.after.rate - row.before.rate
        for row in rows
        if row.before and row.after and row.before.graded and row.after.graded
    ]
    return Comparison(before, after, tuple(rows), paired_interval(both), paired_test(both), len(both))


def _by_task(task_runs: Iterable[TaskRun]) -> dict[str, list[TaskRun]]:
    found: dict[str, list[TaskRun]] = {}
    for task_run in task_runs:
        found.setdefault(task_run.task, []).append(task_run)
    return found


def _compare_task(task: str, old: Sequence[TaskRun], new: Sequence[TaskRun]) -> TaskComparison:
    before, after = group_rates(old).get(task), group_rates(new).get(task)
    if before is None or after is None:
        return TaskComparison(task, "only after" if before is None else "only before", before, after)
    criteria = compare_criteria(group_criteria(old), group_criteria(new))
    standing = _standing(before, after)
    return TaskComparison(
        task, _standing_by_criteria(criteria) if standing == "same" else standing, before, after, criteria
    )


def _standing_by_criteria(criteria: Sequence[CriterionComparison]) -> Standing:
    """Return the standing of a task whose verdict stayed the same."""
    changes = {found.change for found in criteria}
    if "newly failing" in changes:
        return "criteria worse"
    if "newly passing" in changes:
        return "criteria better"
    return "criteria flaky" if "flaky" in changes else "same"


def _compare_axis(axis: str, rows: Sequence[TaskComparison]) -> AxisComparison:
    pairs = [(row.before.axes, row.after.axes) for row in rows if row.before and row.after]
    both = [(old[axis], new[axis]) for old, new in pairs if axis in old and axis in new]
    changes = Counter[str](found.change for row in rows for found in row.criteria if found.axis == axis)
    return AxisComparison(axis, _mean([old for old, _ in both]), _mean([new for _, new in both]), changes)


def _mean(values: Sequence[float]) -> float | None:
    return sum(values) / len(values) if values else None


def _standing(before: TaskRate, after: TaskRate) -> Standing:
    if not before.graded or not after.graded:
        return "not graded"
    found = trend(before, after)
    return found if found != "same" or after.passed else _compare_failures(before, after)


def _compare_failures(before: TaskRate, after: TaskRate) -> Standing:
    """Compare two rates without a pass: from partial to fail is worse, if all trials had that outcome."""
    old, new = ([name for name in GRADED if rate.outcomes[name]] for rate in (before, after))
    if old == new or len(old) > 1 or len(new) > 1:
        return "same"
    return "better" if new == ["partial"] else "worse"


def _has_no_verdict(rate: TaskRate | None) -> bool:
    return rate is not None and any(rate.outcomes[name] for name in NO_VERDICT)
