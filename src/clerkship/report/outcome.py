"""Describe the outcome of a trial, in a word and in a sentence, with the criteria that passed."""

from collections.abc import Iterable
from typing import Literal, NamedTuple, Self

from clerkship.model.duration import describe_duration
from clerkship.model.run import Counts, CriterionRun, Ending, Status, TaskRun

OUTCOMES: dict[str, tuple[str, str]] = {
    "fail": ("Fail", "a gate failed, no criterion passed, the agent crashed, or the time ran out"),
    "errored": ("Errored", "the platform or the task failed, not the agent; no verdict"),
    "invalid_person": ("Invalid person", "the simulated person did not keep to their role; no verdict"),
    "partial": ("Partial", "some criteria passed"),
    "inconclusive": ("Inconclusive", "a criterion could not be judged; no score"),
    "cancelled": ("Cancelled", "stopped before the end; no verdict"),
    "ungraded": ("Ungraded", "no criterion was judged; no score"),
    "pass": ("Pass", "every gate passed, and the score is at least 0.9"),
}
"""The outcomes, the most urgent first: the word, and its meaning."""

CHANGED_OUTCOME = ("Changed", "changed in the store after it was saved; its verdict cannot be trusted")
"""The word for a trial that differs from its seal, and its meaning."""

NO_RATE_TEXT = "No rate: the run was changed"

GRADED = ("pass", "partial", "fail")

ENDINGS: dict[Ending, str] = {
    "agent_done": "The agent finished",
    "person_done": "The person ended the conversation",
    "nothing_left": "The person had nothing more to say",
    "agent_silent": "The agent did not reply",
    "turn_limit": "The maximum number of turns was reached",
    "invalid_person": "The simulated person did not keep to their role: no verdict on the agent",
    "turn_timed_out": "The agent took too long for one reply",
    "agent_failed": "The agent crashed, or returned an invalid answer",
    "timed_out": "The time limit passed",
    "cancelled": "The trial was stopped",
    "errored": "The platform or the task failed",
}


_STATUSES: dict[Status, str] = {
    "completed": "Completed",
    "timed_out": "Timed out",
    "errored": "Errored",
    "invalid_person": "Invalid person",
    "cancelled": "Cancelled",
}


def describe_status(task_run: TaskRun) -> str:
    """Return the status; for a completed trial whose agent crashed, say so."""
    return "The agent crashed" if task_run.ending == "agent_failed" else _STATUSES[task_run.status]


_NOT_RECORDED = "not recorded:"
"""The start of the error of a trial that needs an answer which is in no cassette."""


def is_not_recorded(task_run: TaskRun) -> bool:
    """Return whether a replay has no verdict because it needed an answer that was not recorded.

    Nothing is broken then: the agent or the task was changed since the recording.
    """
    return task_run.status == "errored" and task_run.error.startswith(_NOT_RECORDED)


def describe_ending(task_run: TaskRun) -> str:
    """Return how the trial ended."""
    return "The trial differs from the recording" if is_not_recorded(task_run) else ENDINGS[task_run.ending]


_WHY_UNDECIDED: dict[str, str] = {
    "errored": "as they were when the trial failed; they do not count",
    "invalid_person": "not judged, because the person did not keep to their role",
}


def why_undecided(task_run: TaskRun) -> str:
    """Return why the criteria of a trial say nothing about the agent; empty if they do."""
    return _WHY_UNDECIDED.get(task_run.status, "")


def outcome(task_run: TaskRun) -> str:
    """Return the verdict, or the status of a trial without one."""
    return task_run.verdict or task_run.status


ResultClass = Literal["passed", "failed", "errored", "skipped"]

_RESULT_CLASSES: dict[str, ResultClass] = {
    "pass": "passed",
    "partial": "failed",
    "fail": "failed",
    "ungraded": "skipped",
    "cancelled": "skipped",
}


def classify_result(task_run: TaskRun) -> ResultClass:
    """Return the outcome as one of the four test results that other tools know; consistent with `Counts.exit_code`."""
    return _RESULT_CLASSES.get(outcome(task_run), "errored")


def urgency(task_run: TaskRun) -> int:
    """Return a sort key that puts failures first."""
    order = list(OUTCOMES)
    name = outcome(task_run)
    return order.index(name) if name in order else len(order)


def count_outcomes(counts: Counts) -> dict[str, int]:
    """Count the trials by outcome."""
    without_verdict = {
        status: number for status, number in counts.statuses.items() if status not in ("completed", "timed_out")
    }
    by_name = counts.verdicts | without_verdict
    return {name: by_name.get(name, 0) for name in OUTCOMES}


def describe_reason(task_run: TaskRun) -> str:
    """Return the reason for the outcome in one sentence."""
    match outcome(task_run):
        case "fail" if task_run.ending == "turn_timed_out":
            return "One reply took too long, so the verdict is fail. The criteria are shown as they were then."
        case "fail" if task_run.status == "timed_out":
            limit = "" if task_run.timeout is None else f" of {describe_duration(task_run.timeout)}"
            return f"The time limit{limit} passed, so the verdict is fail. The criteria are shown as they were then."
        case "fail" if task_run.ending == "agent_failed":
            return "The agent crashed, so the verdict is fail. The criteria are shown as they were then."
        case "fail":
            return _describe_fail(task_run.criteria)
        case "partial":
            return f"{CriteriaCount.of(task_run.criteria).sentence()}; a pass needs a score of 0.9."
        case "inconclusive":
            return f"Could not be judged: {_join_labels([c for c in task_run.criteria if c.status == 'error'])}."
        case "ungraded" if task_run.criteria:
            return f"{CriteriaCount.of(task_run.criteria).sentence()}."
        case "pass":
            return _describe_pass(task_run.criteria)
        case "errored" if is_not_recorded(task_run):
            return "The trial differs from the recording and needs an answer that was not recorded; no verdict."
        case other:
            return f"{OUTCOMES[other][1].capitalize()}." if other in OUTCOMES else ""


def _describe_fail(criteria: tuple[CriterionRun, ...]) -> str:
    gates = [c for c in criteria if c.gate and c.status == "judged" and not c.passed]
    if gates:
        return f"A gate failed, so the verdict is fail, whatever the score: {_join_labels(gates)}."
    return f"{CriteriaCount.of(criteria).sentence()}."


def _describe_pass(criteria: tuple[CriterionRun, ...]) -> str:
    """Return how many criteria passed, and which failed."""
    failed = [c for c in criteria if c.status == "judged" and not c.passed]
    lists = {"failed": [c for c in failed if not c.is_warning], "warning": [c for c in failed if c.is_warning]}
    named = [f"{word}: {_join_labels(runs)}" for word, runs in lists.items() if runs]
    return f"{'; '.join([CriteriaCount.of(criteria).sentence(), *named])}."


def _join_labels(criteria: list[CriterionRun]) -> str:
    return "; ".join(f"“{c.label}”" for c in criteria)


ON_EVERY_TASK = "on every task"
"""What is said of a check that no task has among its criteria."""


def split_criteria(criteria: Iterable[CriterionRun]) -> tuple[list[CriterionRun], list[CriterionRun]]:
    """Return the criteria of the task, and what is checked on every task: the gate `agent_acted`, and the monitors.

    Reports list the latter apart, and never count them.
    """
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
