"""Compare one criterion in two runs: newly failing, newly passing, flaky, or with another score."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from clerkship.model.run import DEFAULT_AXIS, CriterionRun, TaskRun
from clerkship.report.repeats import PassRate, trend

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
        found = self.after or self.before
        assert found is not None  # a row has at least one side
        return found.criterion

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
        told = self.criterion
        return {
            "label": told.label,
            "assertion": told.assertion,
            "axis": told.axis,
            "weight": told.weight,
            "gate": told.gate,
            "change": self.change,
            "before": self.before.data() if self.before else None,
            "after": self.after.data() if self.after else None,
        }


def group_criteria(task_runs: Iterable[TaskRun]) -> dict[CriterionKey, CriterionRate]:
    """Group the criteria of a task's trials by label, assertion and order."""
    found: dict[CriterionKey, CriterionRate] = {}
    for task_run in task_runs:
        if task_run.status not in JUDGED_STATUSES:
            continue
        for key, criterion in _number_criteria(task_run.criteria):
            found.setdefault(key, CriterionRate(criterion)).add(criterion)
    return found


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
