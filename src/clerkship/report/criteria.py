"""Which criterion runs of a trial are the criteria of its task, and how many of them passed.

The others are checked on every task: the gate `agent_acted`, and the monitors. Reports list them apart and never count
them.
"""

from collections.abc import Iterable
from typing import NamedTuple, Self

from clerkship.model.run import CriterionRun

ON_EVERY_TASK = "on every task"
"""What is said of a check that no task has among its criteria."""


def split_criteria(criteria: Iterable[CriterionRun]) -> tuple[list[CriterionRun], list[CriterionRun]]:
    """Return the criteria of the task, and what is checked on every task."""
    runs = tuple(criteria)
    return [run for run in runs if not run.is_implied], [run for run in runs if run.is_implied]


class CriteriaCount(NamedTuple):
    """How many criteria of a task passed in one trial."""

    passed: int
    total: int
    """All but the skipped ones."""
    errored: int
    """Those of the total that could not be judged."""
    skipped: int

    @classmethod
    def of(cls, criteria: Iterable[CriterionRun]) -> Self:
        """Count the criteria of the task among criterion runs."""
        statuses = [(run.status, run.passed) for run in split_criteria(criteria)[0]]
        skipped = sum(status == "skipped" for status, _ in statuses)
        errored = sum(status == "error" for status, _ in statuses)
        passed = sum(passed for status, passed in statuses if status == "judged")
        return cls(passed, len(statuses) - skipped, errored, skipped)

    @property
    def unjudged(self) -> int:
        """The criteria without a result."""
        return self.errored + self.skipped

    def sentence(self) -> str:
        """Return `4 of 5 criteria passed, 1 was skipped`."""
        first = f"{self.passed} of {self.total} criteria passed" if self.total else "No criterion was judged"
        return ", ".join([first, *self.notes()])

    def notes(self) -> list[str]:
        """Return how many criteria could not be judged or were skipped, if any."""
        errored = [f"{self.errored} could not be judged"] if self.errored else []
        return errored + ([f"{self.skipped} {'was' if self.skipped == 1 else 'were'} skipped"] if self.skipped else [])


def describe_role(criterion: CriterionRun, *, gates: bool = True) -> list[str]:
    """Return what a criterion run is: a gate (one of the task only with `gates`), a warning, on every task."""
    role = "gate" if criterion.gate and (gates or criterion.is_implied) else "warning" if criterion.is_warning else ""
    return [word for word in (role, ON_EVERY_TASK if criterion.is_implied else "") if word]
