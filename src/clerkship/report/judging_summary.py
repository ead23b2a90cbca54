"""A summary of models in a run, beside the pass rate: the reliability of their verdicts, and their cost."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Self

from clerkship.assertions.registry import ASSERTIONS
from clerkship.kit.statistics import Interval, wilson_interval
from clerkship.model.calibration import Calibration
from clerkship.model.quality import Quality
from clerkship.model.run import ADDRESSED_JUDGE, BenchmarkRun, CriterionRun, FieldCheck, TaskRun
from clerkship.model.usage import NO_USAGE, Role, Usage
from clerkship.report.calibration import JudgeCalibration, count_noun, find_judge_calibration
from clerkship.report.costs import asked, count_retries, per_verdict, render_used
from clerkship.report.labels import percent

MAX_FLIPS = 5
"""Criteria that are listed as inconsistent."""
MAX_RETRIED = 5
"""Trials that are listed with the number of requests that were sent again."""
MAX_ADDRESSED = 5
"""Trials that are listed because the agent addressed the judge."""
_JUDGED_ASSERTIONS = frozenset(name for name, entry in ASSERTIONS.items() if entry.is_judged)
_UNFINISHED = ("errored", "cancelled")
NOT_IN_VERDICT = "not part of the verdict"


@dataclass(frozen=True)
class VoteCount:
    """The votes on one criterion."""

    majority: int
    against: int
    not_cast: int


def find_evidence(criterion: CriterionRun, path: str) -> FieldCheck | None:
    """Return the evidence row that names the judge or the votes; None if there is none."""
    return next((row for row in criterion.evidence if row.path == path and isinstance(row.actual, dict)), None)


def count_votes(criterion: CriterionRun) -> VoteCount | None:
    """Return the votes on a criterion; None if there was no vote."""
    row = find_evidence(criterion, "votes")
    if row is None:
        return None
    given = [int(row.actual.get(side, 0)) for side in ("for", "against")]
    return VoteCount(max(given), min(given), int(row.actual.get("not_cast", 0)))


def is_judged_by_model(criterion: CriterionRun) -> bool:
    """Return whether a model gave the verdict."""
    return criterion.status == "judged" and find_evidence(criterion, "judge") is not None


def describe_answer(passed: bool | None) -> str:
    """Return yes, no, or that the metric does not apply."""
    return "not rated" if passed is None else "yes" if passed else "no"


@dataclass
class MetricSummary:
    """One metric over several trials."""

    scored: int = 0
    total: int = 0
    passed: int = 0
    answered: int = 0

    def words(self) -> str:
        """Return the mean of a scale or the number of yes answers, and the number of trials."""
        if self.scored:
            return f"{self.total / self.scored:.1f} (n {self.scored:,})"
        return f"{self.passed:,} of {self.answered:,} yes"

    def data(self) -> dict[str, Any]:
        """Return plain data."""
        if self.scored:
            return {"mean": round(self.total / self.scored, 4), "n": self.scored}
        return {"passed": self.passed, "n": self.answered}


@dataclass
class QualitySummary:
    """All metrics over several trials."""

    metrics: dict[str, MetricSummary] = field(default_factory=dict)
    failed: int = 0
    """Trials that could not be rated."""

    def add(self, quality: Quality) -> None:
        """Add a trial."""
        self.failed += bool(quality.error)
        for name, rating in quality.ratings.items():
            if rating.score is None and rating.passed is None:
                continue
            rated = self.metrics.setdefault(name, MetricSummary())
            if rating.score is not None:
                rated.scored += 1
                rated.total += rating.score
            else:
                rated.passed += bool(rating.passed)
                rated.answered += 1

    def words(self) -> str:
        """Return all metrics in a line; empty if nothing was rated."""
        rated = {name.replace("_", " "): metric for name, metric in self.metrics.items()}
        numbers = {metric.scored for metric in rated.values() if metric.scored}
        parts = [f"{name} {metric.words()}" for name, metric in rated.items()]
        if len(numbers) == 1:
            suffix = f" (n {numbers.pop():,})"
            means = [f"{name} {metric.words().removesuffix(suffix)}" for name, metric in rated.items() if metric.scored]
            others = [f"{name} {metric.words()}" for name, metric in rated.items() if not metric.scored]
            parts = [f"{', '.join(means)} of 5{suffix}", *others]
        parts += [f"{count_noun(self.failed, 'trial')} could not be rated"] if self.failed else []
        return ", ".join(parts)


@dataclass
class JudgingSummary:
    """Everything about the models of a run, collected trial by trial."""

    judge: JudgeCalibration | None
    replayed: bool = False
    played_in: frozenset[str] = frozenset()
    """Snapshots in which a model plays a person; needed for trials that were graded again, which ask no person."""
    played: int = 0
    """Finished trials in which a model played a person."""
    invalid: int = 0
    verdicts: int = 0
    errors: int = 0
    voted: int = 0
    """Criteria with votes."""
    split: int = 0
    votes: int = 0
    against: int = 0
    not_cast: int = 0
    trials: int = 0
    used: dict[Role, Usage] = field(default_factory=dict)
    retried: list[tuple[int, str, int]] = field(default_factory=list)
    """Trials in which requests to models were sent again: how many, the task and the trial."""
    addressed: list[tuple[str, int]] = field(default_factory=list)
    """Trials in which the agent addressed the judge: the task and the trial."""
    ratings: QualitySummary = field(default_factory=QualitySummary)
    by_task: dict[str, QualitySummary] = field(default_factory=dict)
    _outcomes: dict[tuple[str, str], Counter[bool]] = field(default_factory=dict)

    @classmethod
    def of(
        cls,
        run: BenchmarkRun,
        trials: Iterable[TaskRun] = (),
        known: Sequence[Calibration] = (),
        played_in: frozenset[str] = frozenset(),
    ) -> Self:
        """Summarize trials of a run; `known` are calibrations of its judge that were made since."""
        made = cls(find_judge_calibration(run, known), run.is_replayed, played_in)
        for task_run in trials:
            made.add(task_run)
        return made

    def add(self, task_run: TaskRun) -> None:
        """Add a trial."""
        self.played += task_run.status not in _UNFINISHED and self._is_played(task_run)
        self.invalid += task_run.status == "invalid_person"
        for role, usage in task_run.models.items():
            self.used[role] = self.used.get(role, NO_USAGE) + usage
        self.trials += 1
        if again := count_retries(task_run.models):
            self.retried.append((again, task_run.task, task_run.trial))
        if any(row.path == ADDRESSED_JUDGE for criterion in task_run.criteria for row in criterion.evidence):
            self.addressed.append((task_run.task, task_run.trial))
        if task_run.quality is not None:
            self.ratings.add(task_run.quality)
            self.by_task.setdefault(task_run.task, QualitySummary()).add(task_run.quality)
        for criterion in task_run.criteria:
            self._add(task_run.task, criterion)

    def _is_played(self, task_run: TaskRun) -> bool:
        """Return whether a model played a person; a scripted person cannot break a contract."""
        return "person" in task_run.models or task_run.status == "invalid_person" or task_run.snapshot in self.played_in

    def _add(self, task: str, criterion: CriterionRun) -> None:
        if not is_judged_by_model(criterion):
            self.errors += criterion.status == "error" and criterion.assertion in _JUDGED_ASSERTIONS
            return
        self.verdicts += 1
        self._outcomes.setdefault((task, criterion.label), Counter())[criterion.passed] += 1
        votes = count_votes(criterion)
        if votes is not None:
            self.voted += 1
            self.split += votes.against > 0
            self.votes += votes.majority + votes.against
            self.against += votes.against
            self.not_cast += votes.not_cast

    def flips(self) -> list[tuple[str, str, int, int]]:
        """Return criteria that a model passed in some trials of a task and failed in others: task, label, passed,
        judged.
        """
        return [
            (task, label, seen[True], seen.total())
            for (task, label), seen in sorted(self._outcomes.items())
            if seen[True] and seen[False]
        ]

    @property
    def people(self) -> Interval | None:
        """The share of trials with a played person in which the person broke their contract."""
        return wilson_interval(self.invalid, self.played)

    @property
    def is_empty(self) -> bool:
        """Whether no model was used."""
        used = asked(self.used) or self.ratings.words() or self.addressed
        return not (self.verdicts or self.errors or self.people or used)

    def lines(self) -> list[tuple[str, str]]:
        """Return a label and a sentence for each topic."""
        pairs = [
            ("judge", self.judge.sentence() if self.judge is not None and self.verdicts else ""),
            ("warning", self._addressed()),
            ("errors", self._errors()),
            ("votes", self._votes()),
            ("flips", self._flips()),
            ("people", self._people()),
            ("quality", f"{self.ratings.words()}; {NOT_IN_VERDICT}" if self.ratings.words() else ""),
            ("models", render_used(self.used, self.verdicts, as_recorded=self.replayed)),
            ("retries", self._retries()),
        ]
        return [(about, words) for about, words in pairs if words]

    def _addressed(self) -> str:
        """Return in which trials the agent addressed the judge."""
        names = [f"{task}{f' (trial {trial})' if trial > 1 else ''}" for task, trial in sorted(self.addressed)]
        rest = f", and {len(names) - MAX_ADDRESSED} more" if len(names) > MAX_ADDRESSED else ""
        where = f"the agent addressed the judge in {len(names)} of {count_noun(self.trials, 'trial')}"
        return f"{where}: {', '.join(names[:MAX_ADDRESSED])}{rest}" if names else ""

    def _retries(self) -> str:
        """Return in which trials requests were sent again, those with the most first."""
        most = sorted(self.retried, key=lambda item: (-item[0], item[1], item[2]))
        names = [f"{task}{f' (trial {trial})' if trial > 1 else ''} {again}" for again, task, trial in most]
        rest = f", and {len(names) - MAX_RETRIED} more" if len(names) > MAX_RETRIED else ""
        where = f"requests to models were sent again in {len(names)} of {count_noun(self.trials, 'trial')}"
        return f"{where}: {', '.join(names[:MAX_RETRIED])}{rest}" if names else ""

    def quality_by_task(self) -> dict[str, str]:
        """Return the ratings of each task, if there are several tasks."""
        by_task = {task: ratings.words() for task, ratings in sorted(self.by_task.items())}
        return {task: words for task, words in by_task.items() if words} if len(by_task) > 1 else {}

    def _errors(self) -> str:
        if not self.errors:
            return ""
        return f"{self.errors:,} of {count_noun(self.verdicts + self.errors, 'verdict')} could not be given"

    def _votes(self) -> str:
        if not self.voted:
            return ""
        missing = f", {self.not_cast:,} not cast" if self.not_cast else ""
        return (
            f"{self.against:,} of {self.votes:,} votes were against the majority{missing}; "
            f"{self.split:,} of {count_noun(self.voted, 'verdict')} split"
        )

    def _flips(self) -> str:
        flips = self.flips()
        sentences = [
            f"{task}: “{label}” passed in {passed:,} of {judged:,} trials" for task, label, passed, judged in flips
        ]
        more = f" and {len(flips) - MAX_FLIPS:,} more" if len(flips) > MAX_FLIPS else ""
        return "; ".join(sentences[:MAX_FLIPS]) + more

    def _people(self) -> str:
        interval = self.people
        if interval is None:
            return ""
        sure = f"{percent(interval.rate)}, 95 % interval {percent(interval.low)} to {percent(interval.high)}"
        summary = f"invalid in {self.invalid:,} of {count_noun(self.played, 'trial')} with a person played by a model"
        return f"{summary} ({sure}); these are not in the pass rate"

    def data(self) -> dict[str, Any] | None:
        """Return plain data; None if no model was used."""
        if self.is_empty:
            return None
        votes = {"votes": self.votes, "against": self.against, "not_cast": self.not_cast}
        people = self.people
        return {
            "judge": self.judge.data() if self.judge is not None else None,
            "verdicts": self.verdicts,
            "errors": self.errors,
            "addressed_judge": [{"task": task, "trial": trial} for task, trial in self.addressed],
            "disagreement": votes | {"criteria": self.voted, "split": self.split} if self.voted else None,
            "flips": [
                {"task": task, "criterion": label, "passed": passed, "judged": judged}
                for task, label, passed, judged in self.flips()
            ],
            "invalid_person": None
            if people is None
            else {"invalid": self.invalid, "trials": self.played, **people._asdict()},
            "as_recorded": self.replayed,
            "models": {role: usage.model_dump() for role, usage in asked(self.used).items()},
            "cost_per_verdict": per_verdict(self.used, self.verdicts),
            "quality": {name: rated.data() for name, rated in self.ratings.metrics.items()},
            "quality_by_task": {
                task: {name: rated.data() for name, rated in ratings.metrics.items()}
                for task, ratings in self.by_task.items()
            },
        }
