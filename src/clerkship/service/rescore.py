"""Rescore a stored run: grade its logs again, with the same criteria or with those of edited files."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import orjson

from clerkship.engine.build import build_tasks, find_plugins_used
from clerkship.engine.catalog import RegisteredCatalog
from clerkship.engine.model_resolver import CassetteConfig, ModelRequest, find_model_needs
from clerkship.engine.models import ModelSelection
from clerkship.engine.regrade import StoredLog, regrade
from clerkship.events.sidecar import read_measurements
from clerkship.kit.wall import now
from clerkship.model.errors import InputError
from clerkship.model.names import did_you_mean
from clerkship.model.run import BenchmarkRun, ModelOptions, TaskRun, to_metrics_scope
from clerkship.model.run_options import NO_MODEL, RecordingMode
from clerkship.model.snapshot import Plan, Snapshot
from clerkship.service.planning.freeze import FrozenTasks
from clerkship.service.planning.options import (
    AllowUngraded,
    Judge,
    MaxTokens,
    ModelTimeout,
    RecordingModeOption,
    RescoredMetrics,
    VoteCount,
    check_model_limits,
    check_votes,
)
from clerkship.service.planning.plan import build_run, choose_models, with_free_id, with_replay_identity
from clerkship.service.planning.published import compare_rescored, refuse_recording
from clerkship.service.planning.stored import get_cassette_config
from clerkship.service.running import RunResult, TrialObserver
from clerkship.service.stored_runs import end_run, load_datasets, load_snapshot, require_intact, with_current_grading
from clerkship.settings import Settings
from clerkship.store.contract import Store
from clerkship.suite_files.library import Library, LoadedTask
from clerkship.suite_files.load import load_library
from clerkship.suite_files.published.recordings import find_recordings

PERSON_PROMPT = "person"
"""The only prompt that is not used for grading."""
_COPIED_FIELDS = ("path", "fork", "isolation", "calibration", "bot_format")


_RECORDING_OPTIONS = ("--record", "--replay", "--refresh", "--record-agent")


@dataclass(frozen=True)
class RescoreOptions:
    """What differs from the original run when it is rescored."""

    judge: Judge = None
    allow_ungraded: AllowUngraded = False
    """Whether to exit with 0 even if no criterion was judged; also if the original run allows it."""
    votes: VoteCount = None
    metrics: RescoredMetrics = None
    max_tokens: MaxTokens = None
    model_timeout: ModelTimeout = None
    tape: RecordingModeOption = None
    settings: Settings = field(default_factory=Settings)

    def asked(self, run: BenchmarkRun) -> ModelOptions:
        """Return the model options: those of the run, with the changes given now.

        A replayed run is rescored from its cassettes, unless another judge is given.
        """
        before = run.asking
        votes = before.votes if self.votes is None else check_votes(self.votes)
        again: RecordingMode | None = "replay" if run.is_replayed and self.judge in (None, NO_MODEL) else None
        recording = {"tape": self.tape or again, "tapes_agent": False}
        check_model_limits(self.max_tokens, self.model_timeout)
        limits = {
            "max_tokens": self.max_tokens or before.max_tokens,
            "model_timeout": self.model_timeout or before.model_timeout,
        }
        metrics = before.metrics if self.metrics is None else to_metrics_scope(self.metrics)
        return before.model_copy(update={"votes": votes, "metrics": metrics, **recording, **limits})

    def options(self, before: tuple[str, ...], mode: RecordingMode | None) -> tuple[str, ...]:
        """Return the command-line options for the record: those of the run, with the changes given now."""
        numbers = {"--votes": self.votes, "--max-tokens": self.max_tokens, "--model-timeout": self.model_timeout}
        changed = {"--judge": self.judge, **numbers}
        options = [option for option in before if option not in _RECORDING_OPTIONS] + (
            [f"--{mode}"] if mode is not None else []
        )
        for option, value in changed.items():
            while value is not None and option in options:
                del options[options.index(option) : options.index(option) + 2]
        replaced = ["--no-judge"] * (self.judge is not None) + ["--metrics", "--no-metrics"] * (
            self.metrics is not None
        )
        options = [option for option in options if option not in replaced]
        options += [] if self.metrics is None else ["--metrics" if self.metrics else "--no-metrics"]
        options += (
            ["--no-judge"] if self.judge == NO_MODEL else ["--judge", self.judge] if self.judge is not None else []
        )
        given = [(option, str(value)) for option, value in numbers.items() if value is not None]
        return (*options, *(part for typed in given for part in typed))


_UNCHANGED = RescoreOptions()


def rescore(
    store: Store,
    reference: str,
    catalog: RegisteredCatalog,
    path: Path | None = None,
    watch: Iterable[TrialObserver] = (),
    judging: RescoreOptions = _UNCHANGED,
) -> RunResult:
    """Grade the stored logs of a run again. The result is a new run; the original verdicts do not change."""
    run, watchers = store.run(reference), tuple(watch)
    notes = require_intact(store, run.id).notes()
    library = load_library(path, catalog, cache=judging.settings.cache) if path is not None else None
    trials = _select_trials(store, run, library, path)
    tasks = _freeze(store, run, trials, library, judging, catalog)
    built = {task.snapshot.task.name: task for task in build_tasks(tasks.snapshots, tasks.datasets, catalog)}
    models = choose_models(tasks)
    new = _open_rescored(
        store, tasks, models, _build_record(run, tasks, judging, catalog, library) | {"total": len(trials)}
    )
    with store.hold(new.id):
        status, ledger = "cancelled", store.ledger(new.id)
        try:
            for task_run in trials:
                measured = read_measurements(orjson.loads(store.sidecar(task_run)))
                stored = StoredLog(list(store.log(task_run)), store.blob, measured)
                again = regrade(built[task_run.task], task_run, stored, catalog.events, models)
                again = again.model_copy(update={"run": new.id})
                ledger.add([store.save_regraded(again, task_run, ledger.last)])
                for tell in watchers:
                    tell(again)
            status = "completed"
        finally:
            models.close()
            models.session.save()
            at = new.started_at if new.is_replayed else now().isoformat()
            seals = end_run(store, new.id, status, at, ledger)
    # Only the judge was called, so recordings of people and agents are not removed as unused.
    recorded = models.session.finish(whole=False)
    return RunResult(store.run(new.id), ledger.counts(), recorded, seals=seals, notes=tuple(notes), ledger=ledger)


def _select_trials(store: Store, run: BenchmarkRun, library: Library | None, path: Path | None) -> list[TaskRun]:
    """Return the trials to grade: all, or those of tasks in the files. Raise InputError if a folder lacks a task."""
    ran = store.task_runs(run.id)
    if library is None or path is None:
        if not ran:
            raise InputError.of(f"{run.id} has no trials")
        return ran
    trials = [task_run for task_run in ran if task_run.task in library.tasks]
    if not trials:
        raise InputError.of(f"{run.id} has no trial of a task in {path}")
    if len(trials) < len(ran) and (library.published is not None or path.is_dir()):
        lost = sorted({task_run.task for task_run in ran} - {task_run.task for task_run in trials})
        hint = f"{did_you_mean(lost[0], library.tasks)} To rescore only some tasks, give a single file".strip()
        raise InputError.of(f"{path} has no task `{'`, `'.join(lost[:5])}`, which {run.id} ran", hint=hint)
    return trials


def _freeze(
    store: Store,
    run: BenchmarkRun,
    trials: Iterable[TaskRun],
    library: Library | None,
    judging: RescoreOptions,
    catalog: RegisteredCatalog,
) -> FrozenTasks:
    """Return the snapshots of the trials, with the criteria and prompts of the files if there are any."""
    criteria = library.tasks if library is not None else None
    frozen = {task_run.task: task_run.snapshot for task_run in trials}
    snapshots = tuple(_with_criteria(load_snapshot(store, address), criteria) for address in frozen.values())
    if library is not None:
        refuse_recording(library.root, judging.tape)
    asking = judging.asked(run) if library is None else _with_prompts(judging.asked(run), library)
    run = run.model_copy(update={"asking": asking})
    return FrozenTasks(
        snapshots,
        load_datasets(store, snapshots),
        find_model_needs(snapshots, catalog)._replace(person=False),
        judging.settings,
        ModelRequest(judging.judge, run=run, conftest=library.conftest if library is not None else None),
        CassetteConfig(find_recordings(library.root), run.trials) if library is not None else get_cassette_config(run),
    )


def _with_prompts(asking: ModelOptions, library: Library) -> ModelOptions:
    """Return the options with the prompts of the files, except the person's: people were played with the old one."""
    prompts = {name: text for name, text in library.prompts.items() if name != PERSON_PROMPT}
    prompts |= {PERSON_PROMPT: asking.prompts[PERSON_PROMPT]} if PERSON_PROMPT in asking.prompts else {}
    return asking.model_copy(update={"prompts": prompts})


def _build_record(
    run: BenchmarkRun,
    tasks: FrozenTasks,
    judging: RescoreOptions,
    catalog: RegisteredCatalog,
    library: Library | None,
) -> dict[str, object]:
    """Return the fields that a rescored run takes from the original run, or from the version that it is graded by."""
    return {name: getattr(run, name) for name in _COPIED_FIELDS} | {
        "made_by": "rescore",
        **compare_rescored(run, library, tasks.snapshots),
        "origin": run.id,
        "person": run.person,  # a fork of the new run uses the same person
        "plugins": find_plugins_used(tasks.snapshots, run.solver, catalog),
        "options": judging.options(run.options, judging.asked(run).tape),
        "allow_ungraded": run.allow_ungraded or judging.allow_ungraded,
    }


def _open_rescored(
    store: Store, tasks: FrozenTasks, models: ModelSelection, record: Mapping[str, object]
) -> BenchmarkRun:
    """Store the new run, and return its record."""
    stored = tasks.request.run
    assert stored is not None  # the run that is rescored
    hashes = tuple(snapshot.hash for snapshot in tasks.snapshots)
    plan = Plan(snapshots=hashes, seed=stored.seed, trials=stored.trials)
    new = build_run(plan, tasks.snapshots, stored.solver, name=stored.name, **models.run_fields(tasks.snapshots))
    new = new.model_copy(update=record)
    new = with_free_id(with_replay_identity(new, plan, tasks.snapshots, models), store)
    store.open_run(new, {part.hash: part.data for part in (plan, *tasks.snapshots)})
    return new


def _with_criteria(snapshot: Snapshot, criteria: Mapping[str, LoadedTask] | None) -> Snapshot:
    """Return the snapshot with the criteria of the current files."""
    snapshot = with_current_grading(snapshot)
    if criteria is None:
        return snapshot
    loaded = criteria[snapshot.task.name]
    by_benchmark = snapshot.gate_axes != snapshot.environment.gate_axes
    axes = snapshot.gate_axes if by_benchmark else loaded.environment.gate_axes
    written = loaded.task.gated_by(axes)
    graded_by = {name: getattr(written, name) for name in ("criteria", "metrics", "allow_inaction")}
    task = snapshot.task.model_copy(update=graded_by)
    return snapshot.model_copy(update={"task": task, "gate_axes": axes})
