"""Mutate a suite: derive wrong solutions from its reference solutions, and report those that its criteria let pass."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Literal

from clerkship.checks.attacks.contract import Attacker, AttackKnowledge
from clerkship.checks.attacks.variants import list_failed
from clerkship.checks.mutants.operators import MAX_MUTANTS, Mutant, derive_mutants
from clerkship.checks.mutants.recording import Recording, RecordingStrategy
from clerkship.checks.mutants.strategy import MutantStrategy
from clerkship.checks.mutants.values import OTHER_TEXT, RecordValues
from clerkship.engine.catalog import RegisteredCatalog
from clerkship.events.event import parse_line
from clerkship.kit.rng import derive_seed
from clerkship.model.errors import InputError
from clerkship.model.names import did_you_mean
from clerkship.model.run import TaskRun
from clerkship.model.snapshot import Snapshot
from clerkship.model.store_place import StorePlace
from clerkship.model.variant import Variant
from clerkship.service.attacking import (
    UNSOLVED,
    AttackOptions,
    AttackRequest,
    AttackRunner,
    WatchFactory,
    describe_missing_verdict,
    ignore_trial,
    open_attack_store,
)
from clerkship.service.checking import load_domain
from clerkship.service.planning.request import split_case
from clerkship.settings import Settings

MIN_RATE = 0.98
NO_MUTANTS = "nothing could be mutated: no task has a solution that passes"
CRASHED = "the agent failed"
REPLACING = ("entity", "value")
"""Mistakes by which something else is said than the solution says."""
MutantOutcome = Literal["caught", "survived", "no effect", "broken"]


@dataclass(frozen=True, kw_only=True)
class MutateRequest(AttackOptions):
    """Which tasks to mutate, and how."""

    path: Path
    only: tuple[str, ...] = ()
    """Names of mutants, with `*` as a wildcard, or kinds of mistakes; all if empty."""
    all: bool = False
    """Whether all mutants are run, and not only the first MAX_MUTANTS of each task."""
    min_rate: float = MIN_RATE
    """The rate of caught mutants below which the suite fails."""
    store: StorePlace | None = None
    """File to store the runs in; without it, they are deleted."""


@dataclass(frozen=True)
class MutantResult:
    """The result of one mutant."""

    task: str
    kind: str
    variant: Variant
    outcome: MutantOutcome
    caught_by: tuple[str, ...] = ()
    """The labels of the criteria that failed."""
    warned_by: tuple[str, ...] = ()
    """The labels of the monitors that only warned."""
    reason: str = ""
    """Why there is no verdict, or how the agent failed."""
    run: str = ""
    head: str = ""
    """The head of the log of its trial."""


@dataclass(frozen=True)
class MutationReport:
    """The results of all mutants."""

    name: str
    min_rate: float
    results: tuple[MutantResult, ...] = ()
    criteria: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """The labels of the criteria of each task."""
    not_mutated: dict[str, str] = field(default_factory=dict)
    """Tasks without mutants, with the reason."""
    left_out: int = 0
    """Mutants that were not drawn."""
    cancelled: bool = False

    def count(self, results: Sequence[MutantResult] | None = None) -> Counter[MutantOutcome]:
        """Return the number of mutants by outcome; of all of them by default."""
        return Counter(result.outcome for result in (self.results if results is None else results))

    def rate(self, results: Sequence[MutantResult] | None = None) -> float | None:
        """Return the rate of caught mutants among those with an effect; None if there are none."""
        counts = self.count(results)
        total = counts["caught"] + counts["survived"]
        return counts["caught"] / total if total else None

    def exit_code(self) -> int:
        """Return 0 if enough mutants were caught, 1 if not, 2 if nothing could be said of one, 130 if interrupted."""
        if self.cancelled:
            return 130
        rate = self.rate()
        if rate is None or self.count()["broken"]:
            return 2
        return 0 if rate >= self.min_rate else 1


def mutate(
    request: MutateRequest,
    settings: Settings,
    catalog: RegisteredCatalog,
    follow: WatchFactory = lambda strategy, total: ignore_trial,
) -> MutationReport:
    """Derive mutants from the reference solutions of tasks, and run them."""
    options = {item.name: getattr(request, item.name) for item in fields(AttackOptions)}
    attack = AttackRequest(path=request.path, store=request.store, **options)
    domain = load_domain(split_case(request.path)[0], request.domain)
    attacks = {kind: spec.attack for kind, spec in catalog.simulators.items()}
    knowledge = AttackKnowledge(attacks, catalog.assertion, domain)
    with open_attack_store(request.store, settings) as store:
        runner = AttackRunner(attack, settings, catalog, knowledge, store, follow)
        return _Mutation(request, runner).run()


class _Mutation:
    def __init__(self, request: MutateRequest, runner: AttackRunner) -> None:
        self._request, self._runner = request, runner
        self._values: dict[tuple[str, ...], RecordValues] = {}

    def run(self) -> MutationReport:
        """Run the solutions, record them, and run their mutants: the first one of each task, then the second, …"""
        runner, recorder = self._runner, RecordingStrategy()
        plan = runner.prepare(recorder)
        not_mutated = self._record(recorder)
        derived = {one.task.name: self._derive(one, recorder.recordings) for one in runner.snapshots()}
        chosen = {task: self._choose(mutants) for task, mutants in derived.items()}
        if self._request.only and not any(chosen.values()):
            names = [mutant.variant.name for mutants in derived.values() for mutant in mutants]
            raise InputError.of(f"no mutant `{self._request.only[0]}`", hint=did_you_mean(self._request.only[0], names))
        results = self._run_mutants(chosen, recorder.recordings)
        return MutationReport(
            plan.run.name,
            self._request.min_rate,
            tuple(sorted(results, key=lambda result: list(derived).index(result.task))),
            {one.task.name: tuple(each.label for each in one.task.criteria) for one in runner.snapshots()},
            not_mutated,
            sum(map(len, derived.values())) - sum(map(len, chosen.values())),
            runner.cancelled,
        )

    def _record(self, recorder: RecordingStrategy) -> dict[str, str]:
        """Record the solutions that pass; return why some tasks have no recording."""
        runner = self._runner
        plan = runner.plan(Attacker(recorder, runner.knowledge))
        runs, unfit = runner.execute(plan, recorder, runner.follow(recorder, len(plan.snapshots)))
        for run in runs:
            if run.verdict in ("fail", "partial"):
                unfit[run.task] = UNSOLVED
                del recorder.recordings[run.task]
            else:
                recorder.recordings[run.task].read_log(runner.store.log(run), runner.catalog.events)
        return unfit

    def _derive(self, snapshot: Snapshot, recordings: Mapping[str, Recording]) -> list[Mutant]:
        name, runner = snapshot.task.name, self._runner
        if name not in recordings:
            return []
        seed = derive_seed(self._request.seed or 0, "mutants", name)
        note = runner.knowledge.note_for(snapshot)
        return derive_mutants(recordings[name], self._find_values(snapshot), note, seed)

    def _find_values(self, snapshot: Snapshot) -> RecordValues:
        """Return the values in the datasets of a task, read once for all tasks with the same environment."""
        assert self._runner.first is not None  # `run` plans first
        environment, datasets = snapshot.environment, self._runner.first.datasets
        key = (environment.name, *sorted(snapshot.datasets.values()))
        if key not in self._values:
            own = [dataset for dataset in datasets.values() if dataset.hash in snapshot.datasets.values()]
            config = {name: simulator.config for name, simulator in environment.simulators.items()}
            self._values[key] = RecordValues(own, config)
        return self._values[key]

    def _choose(self, mutants: Sequence[Mutant]) -> list[Mutant]:
        only = self._request.only
        if only:
            return [each for each in mutants if any(_is_meant(each, name) for name in only)]
        return list(mutants if self._request.all else mutants[:MAX_MUTANTS])

    def _run_mutants(
        self, mutants: Mapping[str, Sequence[Mutant]], recordings: Mapping[str, Recording]
    ) -> list[MutantResult]:
        runner, results = self._runner, []
        requests = {task: recording.requests for task, recording in recordings.items()}
        strategy = MutantStrategy(mutants, requests)
        observer = runner.follow(strategy, sum(map(len, mutants.values())))
        for number in range(max(map(len, mutants.values()), default=0)):
            if runner.cancelled:
                break
            strategy = MutantStrategy(mutants, requests, number)
            attacker = Attacker(strategy, runner.knowledge)
            for run in runner.execute(runner.plan(attacker), strategy, observer)[0]:
                results.append(self._judge(run, mutants[run.task][number], recordings[run.task]))
        return results

    def _judge(self, run: TaskRun, mutant: Mutant, recording: Recording) -> MutantResult:
        reason, failed = describe_missing_verdict(run), list_failed(run)
        outcome: MutantOutcome = "caught"
        if reason:
            outcome = "broken"
        elif run.verdict == "pass":
            outcome = "no effect" if self._has_same_effects(run, mutant, recording) else "survived"
        if run.agent_error:
            failed.append(CRASHED)
            reason = reason or run.agent_error.partition("\n")[0]
        warned = tuple(each.label for each in run.criteria if each.passed is False and each.is_warning)
        return MutantResult(
            run.task, mutant.kind, mutant.variant, outcome, tuple(failed), warned, reason, run.run, run.head
        )

    def _has_same_effects(self, run: TaskRun, mutant: Mutant, recording: Recording) -> bool:
        """Return whether a mutant did what the solution did. To be late is a mistake in itself."""
        if mutant.kind == "late":
            return False
        records, events = [parse_line(line) for line in self._runner.store.log(run)], self._runner.catalog.events
        return recording.has_same_effects(records, events) or (
            _can_be_corrected(mutant, recording)
            and recording.has_same_outcome(records, events)
            and (mutant.kind not in REPLACING or recording.has_same_entries(records))
        )


def _is_meant(mutant: Mutant, name: str) -> bool:
    """Return whether a name is that of a mutant, or of its kind, or a pattern of its name."""
    return name in (mutant.kind, mutant.variant.name) or fnmatchcase(mutant.variant.name, name)


def _can_be_corrected(mutant: Mutant, recording: Recording) -> bool:
    """Return whether the mistake is none if the outcome is the same: it is in what was said, and adds nothing to it.

    A machine may be told anything that is corrected later. People may be told it twice, in another order or later, but
    nothing that is not true.
    """
    if mutant.kind not in REPLACING:
        return mutant.kind in ("drop", "repeat", "swap")
    is_empty = all(OTHER_TEXT in change.set.values() for change in mutant.variant.changes)
    return recording.changes_only_talk(mutant.variant) and (is_empty or not recording.has_people)
