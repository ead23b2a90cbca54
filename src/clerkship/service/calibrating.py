"""Calibrate a judge: have it judge labelled conversations, and compare its verdicts with the labels."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated

from clerkship.engine.catalog import RegisteredCatalog
from clerkship.engine.labelled import EVENTS, JudgedConversation, build_events, build_snapshot, judge_label
from clerkship.engine.model_resolver import (
    CassetteConfig,
    ModelNeeds,
    ModelRequest,
    find_missing_models,
    open_recording,
    resolve_models,
)
from clerkship.engine.models import ModelSelection
from clerkship.engine.regrade import parse_log
from clerkship.kit.command_option import Option
from clerkship.kit.stop_signals import StopFlag, handle_stop_signals
from clerkship.kit.wall import now
from clerkship.llm.contract import Model, UnavailableModel, is_instant
from clerkship.llm.trial_model import UsageCounter
from clerkship.model.calibration import Agreement, Calibration, JudgeIdentity, Label
from clerkship.model.errors import ClerkshipError, InputError, InputProblem
from clerkship.model.run import CriterionRun, ModelOptions
from clerkship.model.snapshot import Snapshot
from clerkship.model.store_place import StorePlace, get_store_folder
from clerkship.model.usage import Role, Usage
from clerkship.monitors import conduct_judged
from clerkship.recording.cassette import cassette_path, content_key
from clerkship.recording.session import RecordingReport
from clerkship.report.calibration import compute_kappa, count_noun
from clerkship.service.planning.options import (
    MaxTokens,
    ModelTimeout,
    RecordingModeOption,
    check_model_limits,
    check_votes,
)
from clerkship.service.stored_runs import require_unchanged
from clerkship.service.task_view import show_task
from clerkship.settings import Settings
from clerkship.store.contract import Store
from clerkship.suite_files.calibration import LabelledItem, LabelledSet, check_writable, load_labelled, save_calibration
from clerkship.suite_files.conftest import find_conftest_near, load_conftest

CONDUCT_LINES = Path(conduct_judged.__file__).with_name("conduct_lines.yml")
"""The labelled lines that come with the monitor `conduct_judged`."""
STOP_INTERVAL = 0.1
"""Seconds between two checks whether the calibration was stopped."""


@dataclass(frozen=True)
class CalibrationCheckpoint:
    """The file with the answers of an unfinished calibration, beside the store."""

    path: Path
    answers: int = 0
    """Answers of an interrupted calibration that are used."""

    def delete(self) -> None:
        """Delete the file: the calibration is complete."""
        self.path.unlink(missing_ok=True)


def rename_sources(snapshots: Iterable[Snapshot], source: str) -> tuple[Snapshot, ...]:
    """Return snapshots that all belong to one file, whose cassette has their recordings."""
    return tuple(snapshot.model_copy(update={"source": source}) for snapshot in snapshots)


def find_checkpoint(models: ModelSelection, judge: JudgeIdentity, file: Path, store: StorePlace) -> Path | None:
    """Return the path of the checkpoint of a judge and a labelled set; None if none is needed.

    A recording keeps the answers itself, and a judge that answers at once needs no checkpoint.
    """
    if models.session.mode is not None or models.judge is None or is_instant(models.judge):
        return None
    key = content_key([judge.model_dump(mode="json"), str(file.resolve())])
    return cassette_path(get_store_folder(store) / f"calibration-{key}.yml")


def open_checkpoint(
    path: Path, models: ModelSelection, request: ModelRequest, settings: Settings, snapshots: Sequence[Snapshot]
) -> tuple[ModelSelection, CalibrationCheckpoint]:
    """Return models whose answers are kept in a checkpoint, and the checkpoint.

    Answers that were invalid are asked for again.
    """
    asking = request.asking.model_copy(update={"tape": "refresh"})
    config = CassetteConfig(path.parent.parent, restarts_damaged=True)
    source = path.with_suffix(".yml").name
    session = open_recording(replace(request, asking=asking), settings, rename_sources(snapshots, source), config)
    session.identities = models.session.identities
    session.forget_failures()
    return replace(models, session=session), CalibrationCheckpoint(path, len(session.entries()))


@dataclass(frozen=True, kw_only=True)
class CalibrationRequest:
    """A labelled set, and the judge to calibrate with it."""

    path: Annotated[
        Path | None,
        Option(
            help="Conversations that people have labelled, as YAML. [default: 300 lines about conduct]", metavar="FILE"
        ),
    ] = None
    judge: Annotated[
        str | None,
        Option(
            ("--judge",),
            "The judge: openai:model, openai:model@address, scripted:file. [default: as for `run`]",
            "WHO",
        ),
    ] = None
    votes: Annotated[
        int, Option(("--votes",), "How often each label is judged: an odd number; the majority decides.", "N")
    ] = 1
    save: Annotated[
        Path | None, Option(("--save",), "Also save it to a file to commit, such as eval/calibration.json.", "FILE")
    ] = None
    concurrency: Annotated[
        int | None,
        Option(("--concurrency", "-c"), "Number of labels judged at the same time. [default: 4]", "N", min=1),
    ] = None
    max_tokens: MaxTokens = None
    model_timeout: ModelTimeout = None
    restarts: Annotated[
        bool, Option(("--restart",), "Do not use the answers of a calibration that was interrupted.")
    ] = False
    tape: RecordingModeOption = None

    @property
    def file(self) -> Path:
        """The labelled set: by default the lines that come with the monitor `conduct_judged`."""
        return CONDUCT_LINES if self.path is None else self.path


@dataclass(frozen=True)
class CalibrationPlan:
    """A labelled set with its conversations and the judge, all checked."""

    labelled: LabelledSet
    conversations: dict[str, JudgedConversation]
    models: ModelSelection
    judge: JudgeIdentity
    concurrency: int
    checkpoint: CalibrationCheckpoint | None = None
    warnings: tuple[InputProblem, ...] = ()


@dataclass(frozen=True)
class Judgement:
    """A label with the judge's verdict on it."""

    conversation: str
    label: Label
    result: CriterionRun

    @property
    def agreement(self) -> Agreement:
        """The agreement table of this one label."""
        if self.result.status != "judged":
            return Agreement(errors=1)
        match self.label.passed, self.result.passed:
            case True, True:
                return Agreement(both_passed=1)
            case False, False:
                return Agreement(both_failed=1)
            case True, False:
                return Agreement(false_fails=1)
            case _:
                return Agreement(false_passes=1)


JudgementObserver = Callable[[Judgement], None]


@dataclass(frozen=True)
class CalibrationResult:
    """The result of a calibration."""

    calibration: Calibration
    judgements: tuple[Judgement, ...]
    used: dict[Role, Usage]
    total: int
    """Number of labels; there are fewer judgements if the calibration was interrupted."""
    tape: RecordingReport | None = None

    @property
    def is_interrupted(self) -> bool:
        """Whether some labels were not judged because of a signal."""
        return len(self.judgements) < self.total

    def disagreements(self) -> list[Judgement]:
        """Return the judgements that differ from their labels, false passes first: those hide failures."""
        wrong = [one for one in self.judgements if one.agreement.false_passes or one.agreement.false_fails]
        return sorted(wrong, key=lambda one: not one.agreement.false_passes)

    def unjudged(self) -> list[Judgement]:
        """Return the judgements without a verdict."""
        return [one for one in self.judgements if one.agreement.errors]

    def missed(self, at_least: float | None, max_false_passes: int | None) -> list[str]:
        """Return a sentence for each target that was not reached."""
        overall = self.calibration.overall
        missed: list[str] = []
        value = compute_kappa(overall)
        if at_least is not None and value is not None and value < at_least:
            missed.append(f"κ is {value:.2f} (expected: at least {at_least:g})")
        if max_false_passes is not None and overall.false_passes > max_false_passes:
            wrong = count_noun(overall.false_passes, "false pass", "false passes")
            missed.append(f"{wrong} (expected: at most {max_false_passes})")
        return missed

    def unsettled(self, at_least: float | None, max_false_passes: int | None) -> str:
        """Return why the result is inconclusive, or an empty text.

        It is inconclusive if no label got a verdict. With a target, it is also inconclusive if a verdict is missing,
        or if kappa cannot be computed from the labels.
        """
        overall = self.calibration.overall
        if not overall.judged:
            return "no label got a verdict"
        if (at_least is not None or max_false_passes is not None) and overall.errors:
            return f"{overall.errors} of {len(self.judgements)} labels got no verdict"
        if at_least is not None and compute_kappa(overall) is None:
            return "κ cannot be computed: it needs labels that pass and labels that fail"
        return ""

    def exit_code(self, at_least: float | None = None, max_false_passes: int | None = None) -> int:
        """Return 0 if all targets were reached, 1 if not, 2 if the result is inconclusive, 130 if interrupted."""
        if self.is_interrupted:
            return 130
        if self.unsettled(at_least, max_false_passes):
            return 2
        return 1 if self.missed(at_least, max_false_passes) else 0


def plan_calibration(
    request: CalibrationRequest, settings: Settings, catalog: RegisteredCatalog, store: Store
) -> CalibrationPlan:
    """Load the labelled set and the runs it names, and choose the judge. Raise InputError."""
    if request.save is not None:
        check_writable(request.save)
    if request.path is None and request.tape is not None:
        raise InputError.of(
            "recordings are written beside the labelled set, and the one of this package is not yours to write to",
            hint=f"copy it, and give the copy: {CONDUCT_LINES}",
        )
    labelled = load_labelled(request.file, EVENTS)
    conversations, problems = dict[str, JudgedConversation](), list[InputProblem]()
    for item in labelled.items:
        try:
            conversations[item.conversation.name] = _load_conversation(item, request.file.name, catalog, store)
        except ClerkshipError as error:
            spot = item.location
            problems.append(InputProblem(file=spot.file, line=spot.line, column=spot.column, message=str(error)))
    if problems:
        raise InputError(problems)
    models_request, needs = _build_model_request(request), ModelNeeds(judge=True, skippable=False)
    snapshots = rename_sources((each.snapshot for each in conversations.values()), request.file.name)
    cassettes = CassetteConfig(request.file.parent, restarts_damaged=request.tape == "record")
    models = resolve_models(models_request, settings, needs, snapshots, cassettes)
    problems, judge = list(find_missing_models(models, needs)), models.judge_identity()
    if judge is None or not _is_usable(models.judge):
        raise InputError(problems or [InputProblem(message="there is no judge to calibrate", hint="give --judge")])
    checkpoint, path = None, find_checkpoint(models, judge, request.file, store.place)
    if path is not None:
        if request.restarts:
            path.unlink(missing_ok=True)
        models, checkpoint = open_checkpoint(path, models, models_request, settings, snapshots)
    concurrency = request.concurrency or settings.concurrency
    return CalibrationPlan(labelled, conversations, models, judge, concurrency, checkpoint, tuple(problems))


def _build_model_request(request: CalibrationRequest) -> ModelRequest:
    file = find_conftest_near(Path(CONDUCT_LINES.name) if request.path is None else request.path)
    conftest, prompts = load_conftest(file) if file is not None else (None, {})
    check_model_limits(request.max_tokens, request.model_timeout)
    options = ModelOptions(
        prompts=prompts,
        votes=check_votes(request.votes),
        tape=request.tape,
        max_tokens=request.max_tokens,
        model_timeout=request.model_timeout,
    )
    return ModelRequest(request.judge, asking=options, conftest=conftest)


def _is_usable(judge: Model | None) -> bool:
    """Return whether a judge can answer, itself or from a recording."""
    return judge is not None and (not isinstance(judge, UnavailableModel) or judge.replayable)


def _load_conversation(item: LabelledItem, source: str, catalog: RegisteredCatalog, store: Store) -> JudgedConversation:
    labelled = item.conversation
    if labelled.run is None or labelled.task is None:
        return JudgedConversation(build_snapshot(item, source), build_events(item), "person_done")
    view = show_task(store, labelled.run, labelled.task, labelled.trial or 1)
    require_unchanged(view.seals)
    if not view.intact:
        raise InputError.of(f"the log of {view.task_run.task!r} in {view.task_run.run} was changed after it was graded")
    events = parse_log(store.log(view.task_run), catalog.events, store.blob)
    ordered = sorted(events, key=lambda event: (event.at, event.seq))
    simulators = view.snapshot.environment.simulators
    observers = frozenset(name for name, one in simulators.items() if not catalog.simulator(one.kind).converses)
    observers = observers.union(view.snapshot.environment.domains)
    return JudgedConversation(view.snapshot, ordered, view.task_run.ending, view.task_run.trial, observers)


def calibrate(plan: CalibrationPlan, tell: Iterable[JudgementObserver] = ()) -> CalibrationResult:
    """Judge each label, several at a time. Observers are called in order of completion; results are in the order of the
    file.

    On Ctrl-C, SIGTERM or SIGHUP the result has the labels that were judged so far, and their answers are kept.
    """
    labels, tally, session = plan.labelled.labels(), UsageCounter(), plan.models.session
    stopped, results = StopFlag(), dict[int, Judgement]()
    with handle_stop_signals(stopped.set):
        try:
            for number, judgement in _judge_labels(plan, tally, stopped):
                results[number] = judgement
                for observe in tell:
                    observe(judgement)
                session.save_if_due()
        finally:
            session.save()
    judgements = tuple(results[number] for number in sorted(results))
    calibration = _build_calibration(plan, judgements)
    is_complete = len(judgements) == len(labels)
    if plan.checkpoint is not None and is_complete and not calibration.overall.errors:
        plan.checkpoint.delete()
    recording = _finish_recording(plan, is_complete=is_complete) if plan.checkpoint is None else None
    return CalibrationResult(calibration, judgements, tally.used(), len(labels), recording)


def _judge_labels(plan: CalibrationPlan, tally: UsageCounter, stopped: StopFlag) -> Iterator[tuple[int, Judgement]]:
    """Yield each judgement with the number of its label, until all are judged or the calibration is stopped."""
    labels = plan.labelled.labels()
    pool = ThreadPoolExecutor(plan.concurrency, thread_name_prefix="calibrate")
    try:
        numbers = {pool.submit(_judge_label, plan, item, label, tally): n for n, (item, label) in enumerate(labels)}
        waiting = set(numbers)
        while waiting and not stopped.is_set:
            finished, waiting = wait(waiting, STOP_INTERVAL, return_when=FIRST_COMPLETED)
            yield from ((numbers[future], future.result()) for future in finished)
    finally:  # do not wait for running requests after Ctrl-C
        pool.shutdown(wait=False, cancel_futures=True)
        plan.models.close()


def _finish_recording(plan: CalibrationPlan, *, is_complete: bool) -> RecordingReport | None:
    session = plan.models.session
    if session.mode is None:
        return None
    owners = {(each.snapshot.task.name, each.trial) for each in plan.conversations.values()}
    for owner in owners if is_complete else ():
        session.trial_completed(owner)
    return session.finish(whole=is_complete, known={task for task, _ in owners})


def _judge_label(plan: CalibrationPlan, item: LabelledItem, label: Label, tally: UsageCounter) -> Judgement:
    result = judge_label(label.criterion, plan.conversations[item.conversation.name], plan.models, tally)
    return Judgement(item.conversation.name, label, result)


def _build_calibration(plan: CalibrationPlan, judgements: Sequence[Judgement]) -> Calibration:
    by_criterion: dict[str, Agreement] = {}
    for one in judgements:
        name = one.label.criterion.strip()
        by_criterion[name] = by_criterion.get(name, Agreement()) + one.agreement
    return Calibration(
        judge=plan.judge,
        file=plan.labelled.file.name,
        labels=plan.labelled.digest,
        at=now().isoformat(timespec="seconds"),
        overall=sum(by_criterion.values(), Agreement()),
        criteria=by_criterion,
    )


def save_result(calibrated: CalibrationResult, store: Store, file: Path | None = None) -> None:
    """Save a calibration in the store, for the reports of its runs, and in a file, for other machines.

    A calibration without any verdict, or one that was interrupted, is not saved: it would hide an earlier one. For the
    same reason, that of the lines about conduct is saved in a file only.
    """
    if not calibrated.calibration.overall.judged or calibrated.is_interrupted:
        return
    if calibrated.calibration.file != CONDUCT_LINES.name:
        store.save_calibration(calibrated.calibration)
    if file is not None:
        save_calibration(file, calibrated.calibration)
