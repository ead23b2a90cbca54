"""Record on a published version what `oracle`, `nop`, attacks and mutants scored on it."""

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from statistics import fmean

from clerkship.kit.wall import now
from clerkship.model.run import TaskRun
from clerkship.model.snapshot import GRADING_VERSION, Snapshot
from clerkship.report.outcome import CriteriaCount
from clerkship.service.attacking import AttackOptions, AttackOutcome, AttackReport, describe_missing_verdict
from clerkship.service.mutating import MutationReport
from clerkship.suite_files.published.archive import Archive, open_archive
from clerkship.suite_files.published.places import find_version, is_archive
from clerkship.suite_files.published.results import PublishedScore, add_scores

ORACLE, NOP, MUTANTS = "oracle", "nop", "mutants"
ATTACK_PREFIX = "attack:"


def describe_unexpected(agent: str, run: TaskRun, snapshot: Snapshot) -> str:
    """Return why a result of `oracle` or `nop` is not as it must be; empty if it is, or if there is no verdict."""
    if describe_missing_verdict(run):
        return ""
    if agent == ORACLE and run.verdict in ("fail", "partial"):
        return "its solution does not pass"
    if agent == NOP and run.verdict == "pass" and not snapshot.task.allow_inaction:
        return "an agent that does nothing passes"
    return ""


def _compute_digest(heads: Iterable[str]) -> str:
    """Return the digest of what was done in trials, from the heads of their logs."""
    return hashlib.sha256("\n".join(sorted(heads)).encode()).hexdigest()


def build_run_score(agent: str, runs: Sequence[TaskRun], snapshots: Mapping[str, Snapshot]) -> PublishedScore:
    """Return the score of `oracle` or `nop` from its trials."""
    scores = [run.score for run in runs if run.score is not None]
    skipped = [run for run in runs if CriteriaCount.of(run.criteria).skipped]
    return PublishedScore(
        agent=agent,
        total=len(runs),
        passed=sum(run.verdict == "pass" for run in runs),
        ungraded=sum(run.verdict == "ungraded" for run in runs),
        broken=sum(bool(describe_missing_verdict(run)) for run in runs),
        unexpected=sum(bool(describe_unexpected(agent, run, snapshots[run.task])) for run in runs),
        mean=round(fmean(scores), 4) if scores else None,
        unjudged=len(skipped),
        grading=GRADING_VERSION,
        at=now().isoformat(timespec="seconds"),
        run=runs[0].run if runs else "",
        digest=_compute_digest(run.head for run in runs),
    )


def record_attacks(path: Path, options: AttackOptions, report: AttackReport) -> Path | None:
    """Record the attacks on all tasks of a published version, and return the file; None for anything else."""
    archive = None if report.cancelled else _open_complete(path, options)
    attacked = [outcome for outcome in report.outcomes if outcome.attacked]
    if archive is None or not attacked:
        return None
    return add_scores(archive, [_build_attack_score(each, len(report.unjudged)) for each in attacked])


def record_mutants(path: Path, options: AttackOptions, report: MutationReport, only: Iterable[str] = ()) -> Path | None:
    """Record the mutants of all tasks of a published version, and return the file; None for anything else."""
    archive = None if report.cancelled or tuple(only) else _open_complete(path, options)
    if archive is None or report.rate() is None:
        return None
    return add_scores(archive, [_build_mutant_score(report)])


def _open_complete(path: Path, options: AttackOptions) -> Archive | None:
    """Return the archive if a path is that of a published version, and all its tasks are selected."""
    archive = find_version(path)
    return open_archive(archive) if is_archive(archive) and not (options.tasks or options.tags) else None


def _build_attack_score(outcome: AttackOutcome, unjudged: int) -> PublishedScore:
    return PublishedScore(
        agent=f"{ATTACK_PREFIX}{outcome.strategy.name}",
        total=outcome.attacked,
        passed=len(outcome.passed),
        ungraded=len(outcome.ungraded),
        broken=len(outcome.broken),
        unexpected=len(outcome.unexpected),
        unjudged=unjudged,
        grading=GRADING_VERSION,
        at=now().isoformat(timespec="seconds"),
        run=outcome.run,
        digest=_compute_digest(outcome.heads),
    )


def _build_mutant_score(report: MutationReport) -> PublishedScore:
    counts = report.count()
    return PublishedScore(
        agent=MUTANTS,
        total=counts["caught"] + counts["survived"] + counts["broken"],
        passed=counts["survived"],
        broken=counts["broken"],
        unexpected=counts["survived"],
        left_out=report.left_out,
        grading=GRADING_VERSION,
        at=now().isoformat(timespec="seconds"),
        run=report.results[0].run if report.results else "",
        digest=_compute_digest(each.head for each in report.results),
    )
