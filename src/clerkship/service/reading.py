"""Show a stored run."""

from dataclasses import dataclass, replace
from typing import Any

from clerkship.by_name import load
from clerkship.model.calibration import Calibration
from clerkship.model.redaction import Redactor, redact_task_run
from clerkship.model.run import BenchmarkRun, Counts, TaskRun
from clerkship.model.seals import SealCheck
from clerkship.report.judging_summary import JudgingSummary
from clerkship.report.repeats import Repeats, compute_repeats, group_rates
from clerkship.report.templates import TemplateRates
from clerkship.store.contract import Store

NOT_CHECKED = SealCheck(run="")


@dataclass(frozen=True)
class RunView:
    """A run with its trials."""

    run: BenchmarkRun
    counts: Counts
    task_runs: list[TaskRun]
    known: tuple[Calibration, ...] = ()
    """Stored calibrations of its judge."""
    played_in: frozenset[str] = frozenset()
    """Snapshots in which a model plays a person, if the trials do not record it."""
    damaged: tuple[str, ...] = ()
    """A sentence for each record that cannot be parsed and is not included."""
    seals: SealCheck = NOT_CHECKED
    """Whether the run was changed since it was saved."""

    def redacted(self, by: Redactor) -> "RunView":
        """Return a view with values of variables redacted."""
        return replace(self, task_runs=[redact_task_run(task_run, by) for task_run in self.task_runs]) if by else self

    def judged(self) -> JudgingSummary:
        """Summarize what models judged and used in these trials."""
        return JudgingSummary.of(self.run, self.task_runs, self.known, self.played_in)

    def judged_data(self) -> dict[str, Any] | None:
        """Return the same as JSON data; None if no model took part, or if some trials are not in the view."""
        return self.judged().data() if len(self.task_runs) == self.counts.done else None

    def exit_code(self) -> int:
        """Return the exit code of the run; 2 if the run was changed since."""
        return 2 if self.seals.is_changed else self.run.exit_code(self.counts)

    def repeats(self) -> Repeats | None:
        """Return statistics over repeated trials, or None if there is one trial per task."""
        return compute_repeats(group_rates(self.task_runs).values()) if self.run.trials > 1 else None

    def templates(self) -> TemplateRates | None:
        """Return the results of the tasks of each template; None if some trials are not in the view."""
        return TemplateRates(self.task_runs) if len(self.task_runs) == self.counts.done else None

    def templates_data(self) -> dict[str, Any] | None:
        """Return the same as JSON data."""
        rates = self.templates()
        return rates.data() if rates is not None else None


def show_run(store: Store, reference: str, *, failed: bool = False, seals: SealCheck | None = None) -> RunView:
    """Return a run with all its trials, or with those that did not pass. Seals are checked unless `seals` is given."""
    run = store.run(reference)
    seals = seals or store.check_seals(run.id)
    damaged: list[str] = []
    ran = store.task_runs(run.id, failed=failed, damaged=damaged)
    models = frozenset() if damaged else find_snapshots_with_played_people(store, run)
    return RunView(run, store.counts(run.id), ran, load_judge_calibrations(store, run), models, tuple(damaged), seals)


def load_judge_calibrations(store: Store, run: BenchmarkRun) -> tuple[Calibration, ...]:
    """Return the stored calibrations of a run's judge."""
    return store.calibrations(run.judging.model) if run.judging is not None else ()


def find_snapshots_with_played_people(store: Store, run: BenchmarkRun) -> frozenset[str]:
    """Return the snapshots in which a model plays a person, for a rescored run; trials of other runs record this
    themselves.
    """
    if run.made_by != "rescore":
        return frozenset()
    load_snapshot = load("clerkship.service.stored_runs:load_snapshot")  # few runs need their snapshots to be shown
    snapshots = {digest: load_snapshot(store, digest) for digest in {ran.snapshot for ran in store.each(run.id)}}
    people = {digest: snapshot.task.people for digest, snapshot in snapshots.items()}
    return frozenset(digest for digest, each in people.items() if any(person.needs_model for person in each))
