"""Compare two runs: each task and criterion is better, worse, the same or flaky; by axis, and over all tasks."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

from clerkship.kit.statistics import SIGNIFICANCE_LEVEL, Interval, paired_interval, paired_test
from clerkship.model.run import DEFAULT_AXIS, BenchmarkRun, CriterionRun, TaskRun
from clerkship.report.labels import list_axes
from clerkship.report.outcome import GRADED
from clerkship.report.published_version import describe_version_difference
from clerkship.report.repeats import PassRate, TaskRate, group_rates, trend

Change = Literal["newly failing", "newly passing", "flaky", "score", "not judged", "only before", "only after", "same"]
CHANGES: dict[Change, str] = {
    "newly failing": "passed before and fails now, beyond chance",
    "newly passing": "failed before and passes now, beyond chance",
    "flaky": "passes only in some trials; the difference may be chance",
    "score": "same result, with another score",
    "not judged": "errored or skipped in every trial of one run",
    "only before": "not in the second run",
    "only after": "not in the first run",
    "same": "same result",
}
"""The possible changes of a criterion, the most urgent first."""
JUDGED_STATUSES = ("completed", "timed_out")
"""Statuses of trials whose criteria count."""
CriterionKey = tuple[str, str, int]
"""Label, assertion, and which of several with the same."""
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


@dataclass
class CriterionRate(PassRate):
    """One criterion over all trials of a task in one run."""

    criterion: CriterionRun
    detail: str = ""
    """The detail of the first trial in which it failed or was not judged."""

    def add(self, criterion: CriterionRun) -> None:
        """Count one more trial."""
        if criterion.status == "judged":
            self.count(criterion.passed, criterion.score)
        if not criterion.passed and not self.detail:
            self.detail = criterion.detail

    def words(self, *, repeated: bool) -> str:
        """Return `passed`, `failed` or `not judged`; `4/5` for several trials."""
        if not self.graded:
            return "not judged"
        return f"{self.passed}/{self.graded}" if repeated else "passed" if self.passed else "failed"

    def data(self) -> dict[str, Any]:
        """Return plain data."""
        return {
            "passed": self.passed,
            "judged": self.graded,
            "mean_score": self.mean_score,
            "flaky": self.flaky,
            "detail": self.detail,
        }


@dataclass(frozen=True)
class CriterionComparison:
    """One criterion in both runs."""

    change: Change
    before: CriterionRate | None
    after: CriterionRate | None

    @property
    def criterion(self) -> CriterionRun:
        """Its label, axis, weight and gate, from the later run that has it."""
        rate = self.after or self.before
        assert rate is not None  # a row has at least one side
        return rate.criterion

    @property
    def axis(self) -> str:
        """Its axis, or the default one."""
        return self.criterion.axis or DEFAULT_AXIS

    @property
    def breached(self) -> bool:
        """Whether it passed in every trial before, and fails in any trial now."""
        if self.before is None or self.after is None or not self.before.graded or not self.after.graded:
            return False
        return self.before.rate == 1 and self.after.rate < 1

    @property
    def unjudged(self) -> bool:
        """Whether it was judged before, and is not judged or missing now."""
        if self.change == "only before":
            return self.before is not None and self.before.graded > 0
        return self.change == "not judged" and self.after is not None and not self.after.graded

    @property
    def repeated(self) -> bool:
        """Whether it was judged in several trials of a run."""
        return any(side is not None and side.graded > 1 for side in (self.before, self.after))

    def words(self) -> str:
        """Return `passed → failed` or `5/5 → 4/5`; the scores if only these differ."""
        sides = [side.words(repeated=self.repeated) if side else "–" for side in (self.before, self.after)]
        if self.change == "score" and self.before is not None and self.after is not None:
            sides = [f"{side.mean_score:.2f}" for side in (self.before, self.after)]
        return " → ".join(sides)

    def data(self) -> dict[str, Any]:
        """Return plain data."""
        criterion = self.criterion
        return {
            "label": criterion.label,
            "assertion": criterion.assertion,
            "axis": criterion.axis,
            "weight": criterion.weight,
            "gate": criterion.gate,
            "change": self.change,
            "before": self.before.data() if self.before else None,
            "after": self.after.data() if self.after else None,
        }


def group_criteria(task_runs: Iterable[TaskRun]) -> dict[CriterionKey, CriterionRate]:
    """Group the criteria of a task's trials by label, assertion and order."""
    rates: dict[CriterionKey, CriterionRate] = {}
    for task_run in task_runs:
        if task_run.status not in JUDGED_STATUSES:
            continue
        for key, criterion in _number_criteria(task_run.criteria):
            rates.setdefault(key, CriterionRate(criterion)).add(criterion)
    return rates


def _number_criteria(criteria: Iterable[CriterionRun]) -> Iterable[tuple[CriterionKey, CriterionRun]]:
    seen: dict[tuple[str, str], int] = {}
    for criterion in criteria:
        name = (criterion.label, criterion.assertion)
        seen[name] = seen.get(name, 0) + 1
        yield (*name, seen[name]), criterion


def compare_criteria(
    old: Mapping[CriterionKey, CriterionRate], new: Mapping[CriterionKey, CriterionRate]
) -> tuple[CriterionComparison, ...]:
    """Compare all criteria of both runs, the most urgent change first."""
    order = list(CHANGES)
    rows = [_compare_criterion(old.get(key), new.get(key)) for key in dict.fromkeys([*new, *old])]
    return tuple(sorted(rows, key=lambda row: order.index(row.change)))


def _compare_criterion(before: CriterionRate | None, after: CriterionRate | None) -> CriterionComparison:
    if before is None or after is None:
        return CriterionComparison("only after" if before is None else "only before", before, after)
    return CriterionComparison(_classify_change(before, after), before, after)


def _classify_change(before: CriterionRate, after: CriterionRate) -> Change:
    if not before.graded or not after.graded:
        return "not judged" if before.graded or after.graded else "same"
    match trend(before, after):
        case "better":
            return "newly passing"
        case "worse":
            return "newly failing"
        case "flaky":
            return "flaky"
    return "same" if abs((before.mean_score or 0) - (after.mean_score or 0)) < 1e-9 else "score"


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
        return [comparison for comparison in self.criteria if comparison.change != "same"]

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
        standings = [row.standing for row in self.rows]
        return {standing: standings.count(standing) for standing in STANDINGS}

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
                "criteria": [criterion.data() for criterion in row.criteria],
            }
            for row in self.rows
        ]
        return {
            "before": self.before,
            "after": self.after,
            "versions": describe_version_difference(self.before, self.after),
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
            for axis in list_axes(
                [pair.axis for pair in row.criteria if not pair.criterion.is_implied] for row in self.rows
            )
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
    by_task: dict[str, list[TaskRun]] = {}
    for task_run in task_runs:
        by_task.setdefault(task_run.task, []).append(task_run)
    return by_task


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
    changes = {each.change for each in criteria if not each.criterion.is_warning}
    if "newly failing" in changes:
        return "criteria worse"
    if "newly passing" in changes:
        return "criteria better"
    return "criteria flaky" if "flaky" in changes else "same"


def _compare_axis(axis: str, rows: Sequence[TaskComparison]) -> AxisComparison:
    pairs = [(row.before.axes, row.after.axes) for row in rows if row.before and row.after]
    both = [(old[axis], new[axis]) for old, new in pairs if axis in old and axis in new]
    changes = Counter[str](
        pair.change for row in rows for pair in row.criteria if pair.axis == axis and not pair.criterion.is_implied
    )
    return AxisComparison(axis, _mean([old for old, _ in both]), _mean([new for _, new in both]), changes)


def _mean(values: Sequence[float]) -> float | None:
    return sum(values) / len(values) if values else None


def _standing(before: TaskRate, after: TaskRate) -> Standing:
    if not before.graded or not after.graded:
        return "not graded"
    standing = trend(before, after)
    return standing if standing != "same" or after.passed else _compare_failures(before, after)


def _compare_failures(before: TaskRate, after: TaskRate) -> Standing:
    """Compare two rates without a pass: from partial to fail is worse, if all trials had that outcome."""
    old, new = ([name for name in GRADED if rate.outcomes[name]] for rate in (before, after))
    if old == new or len(old) > 1 or len(new) > 1:
        return "same"
    return "better" if new == ["partial"] else "worse"


def _has_no_verdict(rate: TaskRate | None) -> bool:
    return rate is not None and any(rate.outcomes[name] for name in NO_VERDICT)
