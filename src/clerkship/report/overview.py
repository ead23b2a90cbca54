"""The overview of a report: failures by cause, by criterion and by tag, and the flaky tasks."""

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

from clerkship.model.run import DEFAULT_AXIS, CriterionRun, TaskRun
from clerkship.report.outcome import (
    classify_result,
    describe_ending,
    is_not_recorded,
    outcome,
    split_criteria,
    why_undecided,
)
from clerkship.report.pages import clip
from clerkship.report.plain_text import failed_checks, failed_criteria
from clerkship.report.repeats import TaskRate
from clerkship.report.trial_card import MAX_NAME_LENGTH, MAX_TAGS
from clerkship.simulators.registry import DOMAINS, KINDS, SpecEntry

MAX_KIND_LENGTH = 80
"""Characters of the kind of an error."""
_ERROR_NAME = re.compile(r"([A-Za-z_][\w.]*):(?:\s|$)")
_NUMBER = re.compile(r"\d[\d.,:-]*")

_NAMED_EVENT = re.compile(r"`?([a-z0-9_]+)\.[a-z0-9_.]+`?")
_ENTRIES: tuple[SpecEntry[Any], ...] = (*KINDS, *DOMAINS)
_KINDS = frozenset(entry.kind for entry in _ENTRIES)
_INTERFACES: dict[str, str] = {name: entry.kind for entry in _ENTRIES for name in entry.assertions}
"""The kind of sandbox or domain that each of its assertions checks."""


class Cause(NamedTuple):
    """The cause of a failure. `outcome` says who is at fault, `text` what happened."""

    outcome: str
    text: str


def describe_cause(task_run: TaskRun) -> Cause | None:
    """Return why a trial did not pass; None if it passed or was not graded."""
    if classify_result(task_run) not in ("failed", "errored"):
        return None
    return Cause(outcome(task_run), _describe(task_run))


def _describe(task_run: TaskRun) -> str:
    match outcome(task_run):
        case "fail" if task_run.ending == "agent_failed":
            return f"The agent crashed: {classify_error(task_run.agent_error)}"
        case "fail" if task_run.status == "timed_out" or task_run.ending == "turn_timed_out":
            return describe_ending(task_run)
        case "fail" | "partial":
            return f"{_describe_criteria(task_run)}{_describe_early_end(task_run)}"
        case "inconclusive":
            errors = (criterion.detail for criterion in task_run.criteria if criterion.status == "error")
            return f"A criterion could not be judged: {classify_error(next(errors, ''))}"
        case "invalid_person":
            return "The person did not keep to their role"
        case _ if is_not_recorded(task_run):
            return describe_ending(task_run)
        case _:
            return f"The platform or the task failed: {classify_error(task_run.error)}"


def _describe_criteria(task_run: TaskRun) -> str:
    failed = [c for c in task_run.criteria if c.status == "judged" and not c.passed]
    gates = [c for c in failed if c.gate]
    if any(c.is_inaction_gate for c in gates):
        return "The agent did nothing"
    if gates:
        return "A gate failed"
    return "No criterion passed" if outcome(task_run) == "fail" else "Some criteria failed, but no gate"


def _describe_early_end(task_run: TaskRun) -> str:
    """Return an ending that may explain why criteria failed; empty for an ordinary one."""
    if task_run.ending not in ("agent_silent", "turn_limit"):
        return ""
    text = describe_ending(task_run)
    return f"; {text[0].lower()}{text[1:]}"


def classify_error(error: str) -> str:
    """Return the kind of an error: the name of an exception, or its first line without numbers."""
    first = error.strip().partition("\n")[0]
    name = _ERROR_NAME.match(first)
    if name is not None:
        return name[1].rpartition(".")[2] or name[1]
    text = _NUMBER.sub("…", first)
    return (text if len(text) <= MAX_KIND_LENGTH else f"{text[:MAX_KIND_LENGTH]}…") or "no reason was given"


@dataclass
class OverviewRow:
    """Trials that have something in common, for example a failed criterion."""

    text: str
    number: int
    """Its number among the rows of its kind, by which the trials of a page name it."""
    outcome: str = "fail"
    count: int = 0
    """Failed trials; of a flaky task those that passed."""
    total: int = 0
    """All trials to which it applies."""
    tasks: set[str] = field(default_factory=set)
    """Tasks of the trials that are counted."""

    def count_trial(self, task: str) -> None:
        """Count one more trial."""
        self.count += 1
        self.tasks.add(task)


@dataclass(frozen=True)
class Breakdown:
    """Rows of one kind, the most urgent first."""

    name: str
    """`cause`, `criterion`, `check`, `axis`, `interface`, `tag` or `flaky`."""
    title: str
    meaning: str
    """What the numbers count."""
    rows: Sequence[OverviewRow]


class Overview:
    """Counts over the trials of a run."""

    def __init__(self, task_runs: Iterable[TaskRun] = ()) -> None:
        self._causes: dict[Cause, OverviewRow] = {}
        self._criteria: dict[str, OverviewRow] = {}
        self._checks: dict[str, OverviewRow] = {}
        self._axes: dict[str, OverviewRow] = {}
        self._interfaces: dict[str, OverviewRow] = {}
        self._tags: dict[str, OverviewRow] = {}
        self._rates: dict[str, TaskRate] = {}
        self.failed = 0
        """Trials that did not pass, without those that were cancelled or not graded."""
        for task_run in task_runs:
            self.add(task_run)

    def add(self, task_run: TaskRun) -> None:
        """Count a trial."""
        cause = describe_cause(task_run)
        self._rates.setdefault(task_run.task, TaskRate(task_run.task)).add(task_run)
        for tag in _list_tags(task_run):
            row = self._tags.setdefault(tag, OverviewRow(tag, len(self._tags)))
            row.total += 1
            if cause is not None:
                row.count_trial(task_run.task)
        if not why_undecided(task_run):
            criteria, checks = split_criteria(task_run.criteria)
            failed, failed_implied = failed_criteria(task_run), failed_checks(task_run)
            _count_labels(self._criteria, task_run.task, criteria, failed)
            _count_labels(self._checks, task_run.task, checks, failed_implied)
            for rows, name_of in ((self._axes, _name_axis), (self._interfaces, find_interface)):
                every, wrong = (*criteria, *checks), (*failed, *failed_implied)
                _count_names(rows, task_run.task, _list_names(every, name_of), _list_names(wrong, name_of))
        if cause is not None:
            self.failed += 1
            row = self._causes.setdefault(cause, OverviewRow(cause.text, len(self._causes), cause.outcome))
            row.count_trial(task_run.task)

    def list_breakdowns(self) -> list[Breakdown]:
        """Return the breakdowns that have rows."""
        for row in self._causes.values():
            row.total = self.failed
        breakdowns = (
            Breakdown("cause", "By cause", "trials that did not pass", _sort(self._causes)),
            Breakdown("criterion", "By criterion", "trials in which it failed", _sort(self._criteria)),
            Breakdown("check", "By check on every task", "trials in which it failed", _sort(self._checks)),
            Breakdown("axis", "By axis", "trials with a failed criterion", _sort(self._axes)),
            Breakdown("interface", "By interface", "trials with a failed criterion", _sort(self._interfaces)),
            Breakdown("tag", "By tag", "trials that did not pass", _sort(self._tags)),
            Breakdown("flaky", "Flaky tasks", "trials that passed", list(self._flaky.values())),
        )
        return [breakdown for breakdown in breakdowns if breakdown.rows]

    def list_facets(self, task_run: TaskRun) -> dict[str, list[int]]:
        """Return the numbers of the rows in which a trial is counted, by the name of the breakdown."""
        cause = describe_cause(task_run)
        facets = {
            "cause": [self._causes[cause].number] if cause is not None else [],
            "criterion": [self._criteria[label].number for label in _list_labels(failed_criteria(task_run))],
            "check": [self._checks[label].number for label in _list_labels(failed_checks(task_run))],
            "axis": self._number_names(self._axes, task_run, _name_axis),
            "interface": self._number_names(self._interfaces, task_run, find_interface),
            "tag": [self._tags[tag].number for tag in _list_tags(task_run)] if cause is not None else [],
            "flaky": [self._flaky[task_run.task].number] if task_run.task in self._flaky else [],
        }
        return {name: numbers for name, numbers in facets.items() if numbers}

    @staticmethod
    def _number_names(rows: dict[str, OverviewRow], task_run: TaskRun, name_of: "NameOf") -> list[int]:
        """Return the numbers of the rows in which the failed criteria of a trial are counted."""
        failed = () if why_undecided(task_run) else (*failed_criteria(task_run), *failed_checks(task_run))
        return [rows[name].number for name in _list_names(failed, name_of)]

    @cached_property
    def _flaky(self) -> dict[str, OverviewRow]:
        """The flaky tasks, the lowest pass rate first."""
        flaky = sorted((rate for rate in self._rates.values() if rate.flaky), key=lambda rate: (rate.rate, rate.task))
        return {
            rate.task: OverviewRow(
                clip(rate.task, MAX_NAME_LENGTH), number, "flaky", rate.passed, rate.graded, {rate.task}
            )
            for number, rate in enumerate(flaky)
        }


def _list_tags(task_run: TaskRun) -> Iterable[str]:
    return dict.fromkeys(task_run.tags[:MAX_TAGS])


def _count_labels(
    rows: dict[str, OverviewRow], task: str, criteria: Iterable[CriterionRun], failed: Iterable[CriterionRun]
) -> None:
    """Count a trial in the rows of its criteria, and in those of its failed criteria."""
    checked = (criterion for criterion in criteria if criterion.status != "skipped")
    _count_names(rows, task, _list_labels(checked), _list_labels(failed))


def _count_names(rows: dict[str, OverviewRow], task: str, names: Iterable[str], failed: Iterable[str]) -> None:
    for name in names:
        rows.setdefault(name, OverviewRow(name, len(rows))).total += 1
    for name in failed:
        rows[name].count_trial(task)


NameOf = Callable[[CriterionRun], str]


def _list_names(criteria: Iterable[CriterionRun], name_of: NameOf) -> Iterable[str]:
    """Return what criteria are named by, each once, without those that have no such name."""
    names = (name_of(criterion) for criterion in criteria if criterion.status != "skipped")
    return dict.fromkeys(filter(None, names))


def _name_axis(criterion: CriterionRun) -> str:
    return "" if criterion.axis in (None, DEFAULT_AXIS) else clip(criterion.axis, MAX_NAME_LENGTH)


def find_interface(criterion: CriterionRun) -> str:
    """Return the kind of sandbox or domain that a criterion is about; empty if it is about none.

    It is that of its assertion, or of the first event that its evidence names, as steps of `sequencing` do; one that is
    missing counts first.
    """
    kind = _INTERFACES.get(criterion.assertion)
    if kind is not None:
        return kind
    missing_first = sorted(criterion.evidence, key=lambda check: check.passed)
    named = (_NAMED_EVENT.match(check.path) for check in missing_first)
    return next((name[1] for name in named if name is not None and name[1] in _KINDS), "")


def _list_labels(criteria: Iterable[CriterionRun]) -> Iterable[str]:
    """Return the labels of criteria, each once."""
    return dict.fromkeys(map(_describe_label, criteria))


def _describe_label(criterion: CriterionRun) -> str:
    return f"{clip(criterion.label, MAX_NAME_LENGTH)}{' (warning)' * criterion.is_warning}"


def _sort(rows: dict[Any, OverviewRow]) -> list[OverviewRow]:
    """Return the rows with failures, the most failures first."""
    return sorted((row for row in rows.values() if row.count), key=lambda row: (-row.count, row.text))
