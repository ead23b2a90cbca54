"""List, describe, compare, verify and withdraw published versions."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated

from clerkship.engine.catalog import RegisteredCatalog
from clerkship.kit.command_option import Option
from clerkship.kit.wall import now
from clerkship.model.errors import InputError, InputProblem
from clerkship.model.run import TaskRun
from clerkship.recording.cassette import cassette_path
from clerkship.service.attacking import describe_missing_verdict, ignore_trial
from clerkship.service.planning.options import Concurrency, Judge, KeepRecordings, PersonModel, Seed
from clerkship.service.planning.plan import RunPlan, plan_run
from clerkship.service.planning.request import RunRequest
from clerkship.service.published_card import VersionCard, build_card
from clerkship.service.published_scores import NOP, ORACLE, build_run_score, describe_unexpected
from clerkship.service.running import TrialObserver, execute
from clerkship.service.stored_runs import require_unchanged
from clerkship.settings import Settings
from clerkship.store.contract import Store
from clerkship.suite_files.published.archive import Archive, open_archive
from clerkship.suite_files.published.comparing import VersionDifference, list_differences
from clerkship.suite_files.published.places import find_version, is_archive, list_archives
from clerkship.suite_files.published.results import (
    MAX_REASON_LENGTH,
    PublishedScore,
    Withdrawal,
    add_scores,
    find_withdrawal,
    restore,
    withdraw,
)
from clerkship.suite_files.published.signing import describe_signature

FollowAgent = Callable[[str, int], TrialObserver]
"""Called when an agent starts, with the number of tasks; returns the observer of its trials."""


@dataclass(frozen=True)
class ListedVersion:
    """A published version that can be named here."""

    archive: Archive
    withdrawn: Withdrawal | None


def open_version(path: Path) -> Archive:
    """Open a published version by name, digest or path. Raise InputError if there is none, or if it is damaged."""
    archive = find_version(path)
    if not is_archive(archive):
        hint = "give a name such as chart@1, a digest, or the path of a .clerkship file; clerkship published list"
        raise InputError.of(f"`{path}` is not a published version", hint=hint)
    return open_archive(archive)


def list_versions() -> tuple[list[ListedVersion], list[InputProblem]]:
    """Return the published versions that can be named here, and what is wrong with those that cannot be read."""
    versions: list[ListedVersion] = []
    problems: list[InputProblem] = []
    for path in list_archives():
        try:
            archive = open_archive(path)
            versions.append(ListedVersion(archive, find_withdrawal(archive)))
        except InputError as error:
            problems += error.problems
    return versions, problems


def describe_version(path: Path, settings: Settings) -> VersionCard:
    """Return the card of a published version."""
    archive = open_version(path)
    return build_card(archive, str(describe_signature(archive, settings)))


def compare_versions(before: Path, after: Path) -> list[VersionDifference]:
    """Return the differences of two published versions; none if they have the same content."""
    return list_differences(open_version(before), open_version(after))


@dataclass(frozen=True, kw_only=True)
class VerifyRequest:
    """Which version to verify, and how its tasks are run."""

    path: Annotated[
        Path, Option(help="Published version: a name such as chart@1, a digest, or a file.", metavar="VERSION")
    ]
    concurrency: Concurrency = None
    seed: Seed = None
    judge: Judge = None
    person: PersonModel = None
    tape: KeepRecordings = None


@dataclass(frozen=True)
class VerifiedAgent:
    """What `oracle` or `nop` got on a version."""

    score: PublishedScore
    unexpected: dict[str, str]
    """Tasks whose result is not as it must be, with the reason."""
    broken: dict[str, str]
    """Tasks without a verdict, with the reason."""


@dataclass(frozen=True)
class VersionVerification:
    """The result of verifying a version whose entries are all as its manifest says."""

    archive: Archive
    signature: str
    agents: tuple[VerifiedAgent, ...] = ()
    warnings: tuple[InputProblem, ...] = ()
    recorded: Path | None = None
    """The file in which the scores were recorded; None if it was interrupted."""

    def exit_code(self) -> int:
        """Return 0 if all is as it must be, 1 if a result is not, 2 if one is missing, 130 if interrupted."""
        if self.recorded is None:
            return 130
        if any(agent.broken for agent in self.agents):
            return 2
        return 1 if any(agent.unexpected for agent in self.agents) else 0


@dataclass(frozen=True, kw_only=True)
class Verifier:
    """Verifies versions; the runs of `oracle` and `nop` are stored."""

    settings: Settings
    catalog: RegisteredCatalog
    store: Store
    follow: FollowAgent = lambda agent, total: ignore_trial

    def verify(self, request: VerifyRequest) -> VersionVerification:
        """Check the signature and every entry of a version, run `oracle` and `nop` on it, and record their scores.

        Raise InputError if it is damaged. `oracle` needs the solutions, which a version for agents does not have.
        """
        archive = open_version(request.path)
        verification = VersionVerification(archive, str(describe_signature(archive, self.settings)))
        archive.check()
        for agent in (NOP,) if archive.manifest.for_agents else (ORACLE, NOP):
            plan = self._plan(agent, archive, request)
            result = execute(plan, self.store, self.catalog, [self.follow(agent, len(plan.snapshots))])
            seals = result.checked_again(self.store).seals
            if seals is not None:
                require_unchanged(seals, "verify it again, with another `--store`")
            if result.run.status == "cancelled":
                return verification
            checked = _check_agent(agent, plan, self.store.task_runs(result.run.id))
            verification = replace(
                verification,
                agents=(*verification.agents, checked),
                warnings=tuple(dict.fromkeys((*verification.warnings, *plan.warnings))),
            )
        return replace(verification, recorded=add_scores(archive, [each.score for each in verification.agents]))

    def _plan(self, agent: str, archive: Archive, request: VerifyRequest) -> RunPlan:
        options = {key: value for key, value in vars(request).items() if key != "path"}
        if all(options[key] is None for key in ("tape", "judge", "person")) and _has_cassettes(archive):
            options["tape"] = "replay"
        return plan_run(RunRequest(path=archive.path, agent=agent, **options), self.settings, self.catalog)


def _has_cassettes(archive: Archive) -> bool:
    manifest = archive.manifest
    return any(cassette_path(Path(task.file)).as_posix() in manifest.recordings for task in manifest.tasks)


def _check_agent(agent: str, plan: RunPlan, runs: Sequence[TaskRun]) -> VerifiedAgent:
    snapshots = {snapshot.task.name: snapshot for snapshot in plan.snapshots}
    unexpected = {run.task: describe_unexpected(agent, run, snapshots[run.task]) for run in runs}
    broken = {run.task: describe_missing_verdict(run) for run in runs}
    return VerifiedAgent(
        build_run_score(agent, runs, snapshots),
        {task: reason for task, reason in unexpected.items() if reason},
        {task: reason for task, reason in broken.items() if reason},
    )


def withdraw_version(path: Path, reason: str) -> Archive:
    """Withdraw a version, so that it can no longer be run by its name. Raise InputError without a reason."""
    archive, reason = open_version(path), reason.strip()
    if not 0 < len(reason) <= MAX_REASON_LENGTH:
        message = f"a withdrawal needs a reason, of at most {MAX_REASON_LENGTH} characters"
        raise InputError.of(message, hint="write --reason TEXT; it is shown to all who name the version")
    withdraw(archive, Withdrawal(reason=reason, at=now().isoformat(timespec="seconds")))
    return archive


def restore_version(path: Path) -> Archive:
    """Undo the withdrawal of a version. Raise InputError if it is not withdrawn."""
    archive = open_version(path)
    if find_withdrawal(archive) is None:
        raise InputError.of(f"{archive.manifest.name} is not withdrawn", file=str(archive.path))
    restore(archive)
    return archive
