"""Attack a suite: run every attack strategy over its tasks, and report the tasks that a strategy passes."""

import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, fields, replace
from pathlib import Path

from clerkship.checks.attacks.contract import Attacker, AttackKnowledge, AttackStrategy
from clerkship.checks.attacks.reference import ReferenceStrategy
from clerkship.checks.attacks.registry import OwnStrategy, list_strategies
from clerkship.engine.catalog import RegisteredCatalog
from clerkship.engine.models import NO_JUDGE
from clerkship.model.errors import InputError
from clerkship.model.names import did_you_mean
from clerkship.model.run import TaskRun
from clerkship.model.snapshot import Snapshot
from clerkship.model.store_place import StorePlace
from clerkship.report.outcome import CriteriaCount
from clerkship.sandbox.attack import SandboxAttack
from clerkship.service.checking import load_domain
from clerkship.service.planning.options import (
    Concurrency,
    DomainPath,
    Judge,
    KeepRecordings,
    PersonModel,
    Seed,
    Selection,
)
from clerkship.service.planning.plan import RunPlan, build_run, plan_run
from clerkship.service.planning.request import RunRequest, split_case
from clerkship.service.running import TrialObserver, execute
from clerkship.service.stored_runs import require_unchanged
from clerkship.settings import Settings
from clerkship.store.contract import Store
from clerkship.store.opening import open_store
from clerkship.store.sqlite import SqliteStore

UNSOLVED = "its solution does not pass"


@dataclass(frozen=True, kw_only=True)
class AttackOptions(Selection):
    """Which tasks to attack, and with which models. These options are also options of a run."""

    concurrency: Concurrency = None
    seed: Seed = None
    domain: DomainPath = None
    judge: Judge = None
    person: PersonModel = None
    tape: KeepRecordings = None


@dataclass(frozen=True, kw_only=True)
class AttackRequest(AttackOptions):
    """Which tasks to attack, and how."""

    path: Path
    only: tuple[str, ...] = ()
    """Names of strategies; all if empty."""
    max_variants: int | None = None
    """How many wrong solutions and how many other ways of a task are run; by default all."""
    store: StorePlace | None = None
    """Where to store the runs; without it, they are deleted."""


@dataclass(frozen=True)
class AttackOutcome:
    """The results of one strategy, by task; with `wrong` and `ways`, by task and variant."""

    strategy: AttackStrategy
    run: str = ""
    """The id of the first run; empty if the strategy applies to no task."""
    passed: tuple[str, ...] = ()
    failed: tuple[str, ...] = ()
    ungraded: tuple[str, ...] = ()
    broken: dict[str, str] = field(default_factory=dict)
    """Tasks without a verdict, with the reason."""
    not_attacked: dict[str, str] = field(default_factory=dict)
    """Tasks that the strategy does not apply to, with the reason."""
    unexpected: dict[str, str] = field(default_factory=dict)
    """Tasks whose result is not as it must be, with the reason: for most strategies, those that passed."""
    runs: dict[str, str] = field(default_factory=dict)
    """The ids of the runs with an unexpected result, by task."""
    heads: tuple[str, ...] = ()
    """The heads of the logs of all trials."""

    def add(self, other: "AttackOutcome") -> "AttackOutcome":
        """Return the outcome of both, of which the other is of a later round."""
        return replace(
            self,
            passed=(*self.passed, *other.passed),
            failed=(*self.failed, *other.failed),
            ungraded=(*self.ungraded, *other.ungraded),
            broken=self.broken | other.broken,
            unexpected=self.unexpected | other.unexpected,
            runs=self.runs | other.runs,
            heads=(*self.heads, *other.heads),
        )

    @property
    def attacked(self) -> int:
        """The number of attacked tasks."""
        return len(self.passed) + len(self.failed) + len(self.ungraded) + len(self.broken)


@dataclass(frozen=True)
class AttackReport:
    """The results of all strategies."""

    name: str
    outcomes: tuple[AttackOutcome, ...]
    unjudged: tuple[str, ...] = ()
    """Tasks with criteria that a model must judge, if no judge was configured."""
    untouched: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """By strategy, the kinds of sandbox in the suite that it cannot attack."""
    cancelled: bool = False

    def findings(self) -> list[tuple[str, str]]:
        """Return each strategy with a task on which its result is not as it must be."""
        return [(outcome.strategy.name, task) for outcome in self.outcomes for task in outcome.unexpected]

    def problems(self) -> list[str]:
        """Return one sentence for each finding and failure; tests expect none."""
        problems = []
        for outcome in self.outcomes:
            name = outcome.strategy.name
            problems += [f"{name}: {task!r}: {reason}" for task, reason in outcome.unexpected.items()]
            problems += [f"{name} has no verdict on {task!r}: {reason}" for task, reason in outcome.broken.items()]
        return [*problems, *(["the attack was interrupted"] if self.cancelled else [])]

    def exit_code(self) -> int:
        """Return 0 if all results are as they must be, 1 if one is not, 2 if one is missing, 130 if interrupted."""
        if self.cancelled:
            return 130
        if any(outcome.broken for outcome in self.outcomes):
            return 2
        return 1 if self.findings() else 0


WatchFactory = Callable[[AttackStrategy, int], TrialObserver]
"""Called when a strategy starts, with the number of tasks; returns the observer of its trials."""


def attack(
    request: AttackRequest,
    settings: Settings,
    catalog: RegisteredCatalog,
    follow: WatchFactory = lambda strategy, total: ignore_trial,
) -> AttackReport:
    """Run the attack strategies over the tasks."""
    domain = load_domain(split_case(request.path)[0], request.domain)
    attacks = list_attacks(catalog)
    chosen = choose_strategies(request.only, attacks)
    knowledge = AttackKnowledge(attacks, catalog.assertion, domain)
    with open_attack_store(request.store, settings) as store:
        campaign = AttackRunner(request, settings, catalog, knowledge, store, follow)
        return campaign.run(chosen)


def list_attacks(catalog: RegisteredCatalog) -> dict[str, SandboxAttack]:
    """Return the attack on each kind of sandbox."""
    return {kind: spec.attack for kind, spec in catalog.simulators.items()}


def choose_strategies(only: Sequence[str], attacks: Mapping[str, SandboxAttack]) -> tuple[AttackStrategy, ...]:
    """Return the strategies of these names, or all if none is named."""
    known = {strategy.name: strategy for strategy in list_strategies(attacks)}
    for name in only:
        if name not in known:
            raise InputError.of(f"unknown strategy `{name}`", hint=did_you_mean(name, known))
    return tuple(known[name] for name in only) or tuple(known.values())


@dataclass
class AttackRunner:
    """Runs the strategies, one run each."""

    request: AttackRequest
    settings: Settings
    catalog: RegisteredCatalog
    knowledge: AttackKnowledge
    store: Store
    follow: WatchFactory
    unjudged: dict[str, None] = field(default_factory=dict)
    cancelled: bool = False
    first: RunPlan | None = None

    def run(self, strategies: Sequence[AttackStrategy]) -> AttackReport:
        """Run the strategies one after the other. If one needs the reference solutions, run those first."""
        plan = self.prepare(strategies[0])
        kinds_used = {spec.kind for snapshot in plan.snapshots for spec in snapshot.environment.simulators.values()}
        strategies = [each for each in strategies if not isinstance(each, OwnStrategy) or each.kind in kinds_used]
        if any(strategy.needs_solution for strategy in strategies):
            self.find_unsolved_tasks()
        outcomes = [self._attack(strategy) for strategy in strategies if not self.cancelled]
        attacks = {kind: self.knowledge.attack(kind) for kind in sorted(kinds_used)}
        untouched = {
            strategy.name: kinds
            for strategy in strategies
            if (kinds := tuple(kind for kind, attack in attacks.items() if strategy.untouched(attack)))
        }
        return AttackReport(plan.run.name, tuple(outcomes), tuple(self.unjudged), untouched, self.cancelled)

    def prepare(self, strategy: AttackStrategy) -> RunPlan:
        """Load the files, and collect the people in their datasets."""
        plan = self.plan(Attacker(strategy, self.knowledge))
        plan.models.close()
        self.knowledge = replace(self.knowledge, has_judge=plan.models.judge is not None)
        for attack in self.knowledge.attacks.values():
            for dataset in plan.datasets.values():
                self.knowledge.people.extend(attack.people(dataset))
        return plan

    def find_unsolved_tasks(self) -> None:
        """Find the tasks whose solution does not pass: a strategy cannot start from it."""
        strategy = ReferenceStrategy()
        plan = self.plan(Attacker(strategy, self.knowledge))
        runs, _ = self.execute(plan, strategy, self.follow(strategy, len(plan.snapshots)))
        self.knowledge.unsolved.update({run.task: UNSOLVED for run in runs if run.verdict in ("fail", "partial")})

    def _attack(self, strategy: AttackStrategy) -> AttackOutcome:
        """Run the rounds of a strategy."""
        snapshots = self.snapshots()
        rounds = strategy.rounds(snapshots)[: self.request.max_variants]
        total = sum(not each.unfit(snapshot, self.knowledge) for each in rounds for snapshot in snapshots)
        observer = self.follow(strategy, total)
        outcome = self._run_round(rounds[0], observer)
        for later in rounds[1:]:
            if not self.cancelled:
                outcome = outcome.add(self._run_round(later, observer))
        return outcome

    def _run_round(self, strategy: AttackStrategy, observer: TrialObserver) -> AttackOutcome:
        attacker = Attacker(strategy, self.knowledge)
        plan = self.plan(attacker)
        labels = {snapshot.task.name: strategy.label(snapshot) for snapshot in plan.snapshots}
        runs, unfit = self.execute(plan, strategy, observer)
        reasons = {run.task: describe_missing_verdict(run) for run in runs}
        missed = {run.task: why for run in runs if (why := attacker.missed(run.task)) and not reasons[run.task]}
        attacks = [run for run in runs if run.task not in missed]
        graded = [run for run in attacks if not reasons[run.task]]
        unexpected = {run.task: why for run in graded if (why := attacker.explain_unexpected(run))}
        finished = [run for run in attacks if run.status == "completed"]
        skipped = [run.task for run in finished if CriteriaCount.of(run.criteria).skipped]
        self.unjudged.update(dict.fromkeys(skipped))

        def list_labels(*verdicts: str) -> tuple[str, ...]:
            return tuple(labels[run.task] for run in graded if run.verdict in verdicts)

        return AttackOutcome(
            strategy,
            run=runs[0].run if runs else "",
            passed=list_labels("pass"),
            failed=list_labels("fail", "partial"),
            ungraded=list_labels("ungraded"),
            broken={labels[run.task]: reasons[run.task] for run in attacks if reasons[run.task]},
            not_attacked=unfit | missed,
            unexpected={labels[task]: why for task, why in unexpected.items()},
            runs={labels[run.task]: run.run for run in graded if run.task in unexpected},
            heads=tuple(run.head for run in attacks),
        )

    def execute(
        self, plan: RunPlan, strategy: AttackStrategy, observer: TrialObserver
    ) -> tuple[list[TaskRun], dict[str, str]]:
        """Run a strategy over the tasks it applies to; return its trials, and why it does not apply to others."""
        reasons = {one.task.name: strategy.unfit(one, self.knowledge) for one in plan.snapshots}
        unfit = {task: why for task, why in reasons.items() if why}
        fitting = tuple(one for one in plan.snapshots if one.task.name not in unfit)
        if not fitting:
            plan.models.close()
            return [], unfit
        result = execute(_restrict_plan(plan, fitting), self.store, self.catalog, [observer])
        trials = self.store.task_runs(result.run.id)
        seals = result.checked_again(self.store).seals
        if seals is not None:
            require_unchanged(seals, "run `clerkship suite attack` again, with another `--store`")
        self.cancelled = self.cancelled or result.run.status == "cancelled"
        return trials, unfit

    def snapshots(self) -> tuple[Snapshot, ...]:
        """Return the tasks."""
        assert self.first is not None  # `run` plans first
        return self.first.snapshots

    def plan(self, attacker: Attacker) -> RunPlan:
        """Plan a run with an attacker. Files are read once, unless models must be opened for each run."""
        if self.first is None:
            self.first = self._load(attacker)
            return self.first
        models = self.first.models
        uses_models = models.judge is not None or models.person is not None or self.request.tape is not None
        return self._load(attacker) if uses_models else _copy_plan(self.first, attacker)

    def _load(self, attacker: Attacker) -> RunPlan:
        options = {item.name: getattr(self.request, item.name) for item in fields(AttackOptions)}
        request = RunRequest(path=self.request.path, agent=attacker, needs_variants=True, **options)
        plan = plan_run(request, self.settings, self.catalog)
        if plan.models.judge is None:  # criteria that a model must judge are skipped
            plan = replace(plan, models=replace(plan.models, judge_choice=NO_JUDGE.judge_choice))
        return plan


def _copy_plan(plan: RunPlan, attacker: Attacker) -> RunPlan:
    """Return the same plan with another attacker, under a new run id."""
    new = build_run(plan.plan, plan.snapshots, attacker.name, name=plan.run.name)
    changes = {"id": new.id, "solver": attacker.name, "started_at": new.started_at}
    return replace(plan, solver=attacker, run=plan.run.model_copy(update=changes))


def _restrict_plan(plan: RunPlan, snapshots: tuple[Snapshot, ...]) -> RunPlan:
    """Return the plan for some of its tasks."""
    restricted = plan.plan.model_copy(update={"snapshots": tuple(snapshot.hash for snapshot in snapshots)})
    run = plan.run.model_copy(update={"plan": restricted.hash, "total": len(snapshots)})
    return replace(plan, plan=restricted, run=run, snapshots=snapshots)


def describe_missing_verdict(run: TaskRun) -> str:
    """Return why a trial has no usable verdict, or an empty text."""
    if run.status not in ("completed", "timed_out"):
        return run.error or run.status
    if run.verdict == "inconclusive":
        return next((one.detail for one in run.criteria if one.status == "error"), "inconclusive")
    return ""


def ignore_trial(task_run: TaskRun) -> None:
    """Observe nothing."""


@contextmanager
def open_attack_store(path: StorePlace | None, settings: Settings) -> Iterator[Store]:
    """Open the store at a path, or a temporary one."""
    if path is not None:
        with open_store(settings, path, create=True) as store:
            yield store
        return
    with (
        tempfile.TemporaryDirectory(prefix="clerkship-attack-") as folder,
        SqliteStore(Path(folder, "store.db")) as store,
    ):
        yield store
