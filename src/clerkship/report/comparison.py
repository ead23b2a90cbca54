"""Two runs side by side: each task better, worse, the same or flaky, and all of them together."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from clerkship.kit.statistics import Interval, fisher, paired, paired_interval
from clerkship.model.run import BenchmarkRun, TaskRun
from clerkship.report.outcome import GRADED
from clerkship.report.repeats import TaskRate, rates

Standing = Literal["worse", "better", "flaky", "same", "not graded", "only before", "only after"]
BROKEN = ("errored", "inconclusive", "invalid_person", "cancelled")
CHANCE = 0.05
"""A difference less likely than this by chance alone is taken for one."""
STANDINGS: dict[Standing, str] = {
    "worse": "passed before and does not now, by more than chance",
    "better": "passes now and did not before, by more than chance",
    "flaky": "some of its trials pass and some do not, and the difference may be chance",
    "not graded": "errored, inconclusive or ungraded on one side: nothing can be said",
    "only before": "not in the second run",
    "only after": "not in the first run",
    "same": "comes out as before",
}
"""What there is to say of a task, the most urgent first."""


@dataclass(frozen=True)
class Row:
    """One task in both runs."""

    task: str
    standing: Standing
    before: TaskRate | None
    after: TaskRate | None

    @property
    def changed(self) -> bool:
        """Whether the task itself was another."""
        return self.before is not None and self.after is not None and self.before.snapshots != self.after.snapshots


@dataclass(frozen=True)
class Comparison:
    """What changed from one run to another."""

    before: BenchmarkRun
    after: BenchmarkRun
    rows: tuple[Row, ...]
    difference: Interval | None
    """Of the pass rate, meant over the tasks that both graded."""
    chance: float
    """How likely a difference of that size is by chance."""
    tasks: int
    """How many those are."""

    def standings(self) -> dict[Standing, int]:
        """How many tasks stand how."""
        found = [row.standing for row in self.rows]
        return {standing: found.count(standing) for standing in STANDINGS}

    @property
    def overall(self) -> Literal["better", "worse", "same"]:
        """All tasks together."""
        if self.difference is None or self.chance >= CHANCE or self.difference.rate == 0:
            return "same"
        return "better" if self.difference.rate > 0 else "worse"

    def data(self) -> dict[str, Any]:
        """As plain data."""
        rows = [
            {
                "task": row.task,
                "standing": row.standing,
                "changed": row.changed,
                "before": row.before.data() if row.before else None,
                "after": row.after.data() if row.after else None,
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
            "tasks": rows,
        }

    def exit_code(self, gate: Literal["task", "overall"] = "task") -> int:
        """1 for worse: any task, or all together; 2 where the second run is not whole, or trials of it broke."""
        if self.difference is None or self.after.status != "completed" or any(_broke(row.after) for row in self.rows):
            return 2
        return int(self.overall == "worse" if gate == "overall" else self.standings()["worse"] > 0)


def compare(
    before: BenchmarkRun, before_trials: Iterable[TaskRun], after: BenchmarkRun, after_trials: Iterable[TaskRun]
) -> Comparison:
    """Task by task, by name."""
    old, new = rates(before_trials), rates(after_trials)
    order = list(STANDINGS)
    rows = sorted(
        (_row(task, old, new) for task in sorted({*old, *new})), key=lambda row: (order.index(row.standing), row.task)
    )
    both = [
        row.after.rate - row.before.rate
        for row in rows
        if row.before and row.after and row.before.graded and row.after.graded
    ]
    return Comparison(before, after, tuple(rows), paired_interval(both), paired(both), len(both))


def _row(task: str, old: Mapping[str, TaskRate], new: Mapping[str, TaskRate]) -> Row:
    before, after = old.get(task), new.get(task)
    if before is None or after is None:
        return Row(task, "only after" if before is None else "only before", before, after)
    return Row(task, _standing(before, after), before, after)


def _standing(before: TaskRate, after: TaskRate) -> Standing:
    if not before.graded or not after.graded:
        return "not graded"
    if before.flaky or after.flaky:
        if fisher(before.passed, before.graded, after.passed, after.graded) >= CHANCE:
            return "flaky"
        return "better" if after.rate > before.rate else "worse"
    if before.passed or after.passed:
        return "same" if before.rate == after.rate else "better" if after.passed else "worse"
    return _among_failures(before, after)


def _among_failures(before: TaskRate, after: TaskRate) -> Standing:
    """Neither passes: from partial to fail is worse all the same, if that is what every trial came to."""
    old, new = ([name for name in GRADED if rate.outcomes[name]] for rate in (before, after))
    if old == new or len(old) > 1 or len(new) > 1:
        return "same"
    return "better" if new == ["partial"] else "worse"


def _broke(rate: TaskRate | None) -> bool:
    return rate is not None and any(rate.outcomes[name] for name in BROKEN)
