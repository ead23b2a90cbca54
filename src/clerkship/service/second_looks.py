"""Runs from runs: go on with one, do one again, grade one again. From what the store keeps, not from today's files."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from clerkship.actors.contract import Solver
from clerkship.engine.build import BuiltTask, build_tasks, plugins_used
from clerkship.engine.catalog import Registered
from clerkship.engine.finished import Finished, not_started
from clerkship.engine.model_resolver import CassetteConfig, ModelRequest, needs_of, resolve_agent, resolve_models
from clerkship.engine.models import ModelSelection
from clerkship.engine.regrade import regrade
from clerkship.engine.schedule import Schedule
from clerkship.engine.spec import TrialSpec
from clerkship.kit.descriptors import check_limit
from clerkship.kit.wall import now
from clerkship.library.library import Library, LoadedTask
from clerkship.library.load import load, root_of
from clerkship.model.model_choice import NOBODY
from clerkship.model.names import did_you_mean
from clerkship.model.plan import Plan
from clerkship.model.problem import InputError
from clerkship.model.run import Asking, Attempt, BenchmarkRun, Outcome, Status, Tape
from clerkship.model.snapshot import GRADING, Snapshot
from clerkship.service.checking import build_agent, check_reachable, options_with, settings_of
from clerkship.service.frozen import datasets_of, graded_now, plan_of, snapshot_at, snapshots_of
from clerkship.service.isolating import isolate_import, level_again, level_of
from clerkship.service.prefixes import prefix_of
from clerkship.service.replays import as_replayed, free_name
from clerkship.service.running import RunPlan, RunResult, Watch, carry_out, check_votes, new_run
from clerkship.service.sealing import end_run, require, require_intact, require_resumable
from clerkship.service.sources import Sources
from clerkship.settings import Settings
from clerkship.store.contract import Store

PERSON = "person"
"""The prompt that nothing is graded by."""
KILLED = "its process ended before it did; nothing is left of its log"


def plan_rerun(
    store: Store,
    reference: str,
    catalog: Registered,
    settings: Settings,
    agent: str | Solver | None = None,
) -> RunPlan:
    """The same frozen tasks, as often and with the same seed; with the same agent, or with another."""
    run = store.run(reference)
    require(store.check_plan(run.id))
    agent = agent or run.solver
    settings = settings_of(run, settings)
    solver = build_agent(agent, settings, catalog)
    isolation = level_of(solver, settings.isolate)
    sources = Sources(run, catalog, settings)
    files = sources.hidden(isolation, solver)
    isolate_import(solver, isolation, files, store.path)
    check_reachable(solver)
    snapshots = tuple(sources.fitted(graded_now(snapshot), solver) for snapshot in snapshots_of(store, run))
    plan = plan_of(store, run).model_copy(update={"snapshots": tuple(snapshot.hash for snapshot in snapshots)})
    about = run.model_dump(include={"name", "path", "options", "concurrency", "fork", "allow_ungraded"})
    needs = needs_of(snapshots, catalog)
    models = resolve_models(ModelRequest(run=run), settings, needs, snapshots, _cassettes(run))
    solver = resolve_agent(solver, models, snapshots)
    about |= {"plugins": plugins_used(snapshots, solver.name, catalog), **models.run_fields(snapshots)}
    about |= {"calibration": run.calibration, "isolation": isolation}
    about["options"] = options_with(solver, run.options)
    new = new_run(plan, snapshots, solver.name, made_by="rerun", origin=run.id, **about)
    new = as_replayed(new, plan, snapshots, models)
    prefix = prefix_of(store, run, catalog)
    datasets = datasets_of(store, snapshots)
    return RunPlan(new, plan, snapshots, datasets, solver, settings.concurrency, models, prefix=prefix, files=files)


@dataclass(frozen=True)
class Resumed:
    """A run to go on with: what was done, what was cut short, and what is left."""

    plan: RunPlan
    left: int
    """Trials, at most: with `until_sure` it may take fewer."""
    again: tuple[Status, ...]


def plan_resume(
    store: Store,
    reference: str,
    catalog: Registered,
    settings: Settings,
    *,
    agent: str | Solver | None = None,
    retry_errored: bool = False,
) -> Resumed:
    """What it takes to finish a run that was killed or stopped."""
    run = store.run(reference)
    if run.made_by == "rescore":
        raise InputError.of(f"{run.id} graded {run.origin} again, it ran nothing", hint=f"rescore {run.origin} again")
    if run.grading != GRADING:
        raise InputError.of(
            f"{run.id} is graded by version {run.grading}, this is {GRADING}: one run has one",
            hint=f"`clerkship rerun {run.id}` does all of it anew",
        )
    require_resumable(store, run.id)
    agent = agent or run.solver
    solver = build_agent(agent, settings_of(run, settings), catalog)
    if solver.name != run.solver:
        raise InputError.of(f"{run.id} is {run.solver}'s run, not {solver.name}'s", hint="`rerun` takes another agent")
    run = run.model_copy(update={"isolation": level_again(run, solver, settings)})
    snapshots = tuple(snapshots_of(store, run))
    plugins = plugins_used(snapshots, run.solver, catalog)
    if plugins != run.plugins and not catalog.broken:  # a broken one is missed by name when the tasks are built
        raise InputError.of(
            f"{run.id} was begun with {_packages(run.plugins)}, and here is {_packages(plugins)}: one run has one",
            hint=f"`clerkship rerun {run.id}` does all of it anew",
        )
    needs = needs_of(snapshots, catalog)
    models = resolve_models(ModelRequest(run=run), settings, needs, snapshots, _cassettes(run))
    plan = RunPlan(
        run,
        plan_of(store, run),
        snapshots,
        datasets_of(store, snapshots),
        resolve_agent(solver, models, snapshots),
        settings.concurrency,
        models,
        prefix=prefix_of(store, run, catalog),
        files=Sources(run, catalog, settings).hidden(run.isolation, solver),
    )
    known = store.outcomes(run.id)
    again: tuple[Status, ...] = ("cancelled", "errored") if retry_errored else ("cancelled",)
    unsettled = sum(outcome.status in again for outcome in known)
    left = unsettled + run.missing(store.counts(run.id))
    if left:
        isolate_import(solver, run.isolation, plan.files, store.path)
        check_reachable(solver)
    return Resumed(plan, left, again)


def _cassettes(run: BenchmarkRun) -> CassetteConfig:
    """Where a kept run's cassettes are: beside its files, if these are still there."""
    path = Path(run.path)
    if run.asking.tape is not None and not path.exists():
        raise InputError.of(
            f"{run.id} has its recordings beside {run.path}, and that is not here", hint="go there first"
        )
    return CassetteConfig(root_of(path), run.trials)


def _packages(plugins: Mapping[str, str]) -> str:
    return ", ".join(f"{package} {version}" for package, version in plugins.items()) or "no plug-in"


def resume(resumed: Resumed, store: Store, catalog: Registered, watch: Iterable[Watch] = ()) -> RunResult:
    """Finish a run. A trial that had begun and was never saved is saved as an attempt that was cut short.

    The seals are checked again once no other process can resume the same run; what is added is chained to them.
    """
    plan, run = resumed.plan, resumed.plan.run
    if not resumed.left and run.status == "completed":
        return RunResult(run, store.counts(run.id))
    check_limit()
    built = plan.build(catalog)
    with store.hold(run.id) as hold:
        require_resumable(store, run.id)
        ledger = store.ledger(run.id)
        if store.run(run.id).status != "active":
            store.mark(run.id, "active", now().isoformat(), ledger)
        cut_short = _cut_short(plan, built, hold.begun, store.outcomes(run.id))
        ledger.add(store.save(cut_short, ledger.last))
        schedule = Schedule(built, plan.plan, run.id, store.outcomes(run.id), resumed.again)
        return carry_out(plan, schedule, store, hold, ledger, watch)


def _cut_short(
    plan: RunPlan, built: Iterable[BuiltTask], begun: Iterable[Attempt], known: Iterable[Outcome]
) -> list[Finished]:
    tasks = {task.snapshot.task.name: task for task in built}
    last = {(outcome.task, outcome.trial): outcome.attempt for outcome in known}
    lost = sorted({attempt for attempt in begun if attempt.attempt > last.get((attempt.task, attempt.trial), 0)})
    jobs = [TrialSpec(tasks[task], plan.run.id, plan.run.seed, trial, attempt) for task, trial, attempt in lost]
    return [not_started(job, KILLED, "cancelled") for job in jobs]


_TAPES = ("--record", "--replay", "--refresh", "--record-agent")


@dataclass(frozen=True)
class Rejudging:
    """Who judges a run that is graded again, where that is not who judged it before."""

    judge: str | None = None
    settings: Settings = field(default_factory=Settings)
    votes: int | None = None
    """How often each criterion is judged, where that is not as it was."""
    metrics: bool = False
    """Whether conversations are rated now, if they were not."""
    tape: Tape | None = None
    """Whether what the judge answers is taken down, or taken from what was."""
    allow_ungraded: bool | None = None
    """Whether it may succeed though no criterion was judged; as the run says if not given."""

    def asked(self, run: BenchmarkRun) -> Asking:
        """What the run was told of models, with what is otherwise now. What was replayed is graded from cassettes
        again: nobody is asked unless another judge is named."""
        before = run.asking
        votes = before.votes if self.votes is None else check_votes(self.votes)
        again: Tape | None = "replay" if run.replayed and self.judge in (None, NOBODY) else None
        taped = {"tape": self.tape or again, "tapes_agent": False}
        return before.model_copy(update={"votes": votes, "metrics": before.metrics or self.metrics, **taped})

    def options(self, before: tuple[str, ...], tape: Tape | None) -> tuple[str, ...]:
        """What a run was asked for, with another judge, other votes and metrics where there are; and recorded or
        replayed as this one is."""
        given = {"--judge": self.judge, "--votes": self.votes}
        kept = [option for option in before if option not in _TAPES] + ([f"--{tape}"] if tape is not None else [])
        for option, value in given.items():
            while value is not None and option in kept:
                del kept[kept.index(option) : kept.index(option) + 2]
        kept = [option for option in kept if self.judge is None or option != "--no-judge"]
        kept += ["--metrics"] if self.metrics and "--metrics" not in kept else []
        kept += ["--no-judge"] if self.judge == NOBODY else ["--judge", self.judge] if self.judge is not None else []
        return (*kept, *(("--votes", str(self.votes)) if self.votes is not None else ()))


_AS_IT_WAS = Rejudging()


def rescore(
    store: Store,
    reference: str,
    catalog: Registered,
    path: Path | None = None,
    watch: Iterable[Watch] = (),
    judging: Rejudging = _AS_IT_WAS,
) -> RunResult:
    """Grade a run's trials again over the logs that are kept: by the criteria it had, or by those of files as they are.

    What comes of it is a run of its own; the first verdicts stay where they are.
    """
    run, watchers = store.run(reference), tuple(watch)
    notes = require_intact(store, run.id).notes()
    library = load(path, catalog, cache=judging.settings.cache) if path is not None else None
    criteria = library.tasks if library is not None else None
    ran = store.task_runs(run.id)
    trials = [task_run for task_run in ran if criteria is None or task_run.task in criteria]
    if trials and len(trials) < len(ran) and path is not None and path.is_dir():
        lost = sorted({task_run.task for task_run in ran} - {task_run.task for task_run in trials})
        hint = f"{did_you_mean(lost[0], criteria or ())} A single file may be named too, for its tasks alone".strip()
        raise InputError.of(f"{path} has no task `{'`, `'.join(lost[:5])}`, which {run.id} ran", hint=hint)
    if not trials:
        raise InputError.of(f"{run.id} has no trial of a task in {path}" if path else f"{run.id} has no trials")
    frozen = {task_run.task: task_run.snapshot for task_run in trials}
    snapshots = {task: _with_criteria(snapshot_at(store, address), criteria) for task, address in frozen.items()}
    datasets = datasets_of(store, snapshots.values())
    built = dict(zip(snapshots, build_tasks(snapshots.values(), datasets, catalog), strict=True))
    plugins = plugins_used(snapshots.values(), run.solver, catalog)
    conftest = library.conftest if library is not None else None
    needs = needs_of(snapshots.values(), catalog)._replace(person=False)
    run = run.model_copy(update={"asking": judging.asked(run)})
    if library is not None:
        run = _with_prompts(run, library)
    cassettes = CassetteConfig(library.root, run.trials) if library is not None else _cassettes(run)
    request = ModelRequest(judging.judge, run=run, conftest=conftest)
    models = resolve_models(request, judging.settings, needs, tuple(snapshots.values()), cassettes)
    about = {
        "plugins": plugins,
        "options": judging.options(run.options, run.asking.tape),
        **models.run_fields(snapshots.values()),
        "allow_ungraded": run.allow_ungraded if judging.allow_ungraded is None else judging.allow_ungraded,
        "person": run.person,  # nobody is played anew, and a fork of this one goes on with the same
    }
    new = _open_rescored(store, run.model_copy(update=about), len(trials), snapshots.values(), models)
    with store.hold(new.id):
        status, ledger = "cancelled", store.ledger(new.id)
        try:
            for task_run in trials:
                lines = list(store.log(task_run))
                again = regrade(built[task_run.task], task_run, lines, catalog.events, store.blob, models)
                again = again.model_copy(update={"run": new.id})
                ledger.add([store.save_regraded(again, task_run, ledger.last)])
                for tell in watchers:
                    tell(again)
            status = "completed"
        finally:
            models.close()
            models.session.save()
            at = new.started_at if new.replayed else now().isoformat()
            seals = end_run(store, new.id, status, at, ledger)
    # Only the judge was asked here: what else is recorded is no less right than before.
    told = models.session.finish(whole=False)
    return RunResult(store.run(new.id), ledger.counts(), told, seals=seals, notes=tuple(notes), ledger=ledger)


def _with_prompts(run: BenchmarkRun, library: Library) -> BenchmarkRun:
    """Judged and rated by the prompts that the files have now; whoever was played was played by those of then."""
    before = run.asking.prompts
    prompts = {name: text for name, text in library.prompts.items() if name != PERSON}
    prompts |= {PERSON: before[PERSON]} if PERSON in before else {}
    return run.model_copy(update={"asking": run.asking.model_copy(update={"prompts": prompts})})


def _open_rescored(
    store: Store, run: BenchmarkRun, total: int, snapshots: Collection[Snapshot], models: ModelSelection
) -> BenchmarkRun:
    plan = Plan(snapshots=tuple(snapshot.hash for snapshot in snapshots), seed=run.seed, trials=run.trials)
    kept = {"name", "path", "options", "plugins", "judge", "person", "asking", "fork", "allow_ungraded", "isolation"}
    about = run.model_dump(include=kept)
    about |= {"judging": run.judging, "calibration": run.calibration}
    new = new_run(plan, snapshots, run.solver, made_by="rescore", origin=run.id, **about)
    new = new.model_copy(update={"total": total})
    new = free_name(as_replayed(new, plan, tuple(snapshots), models), store)
    store.open_run(new, {part.hash: part.data for part in (plan, *snapshots)})
    return new


def _with_criteria(snapshot: Snapshot, criteria: Mapping[str, LoadedTask] | None) -> Snapshot:
    """Freeze a task again with the criteria of today's files; what happened stays as it was."""
    snapshot = graded_now(snapshot)
    if criteria is None:
        return snapshot
    loaded = criteria[snapshot.task.name]
    by_benchmark = snapshot.gate_axes != snapshot.environment.gate_axes
    axes = snapshot.gate_axes if by_benchmark else loaded.environment.gate_axes
    written = loaded.task.gated_by(axes)
    graded_by = {name: getattr(written, name) for name in ("criteria", "metrics", "allow_inaction")}
    task = snapshot.task.model_copy(update=graded_by)
    return snapshot.model_copy(update={"task": task, "gate_axes": axes})
