"""Decide which model each role of a run uses, and whether it is asked, recorded or replayed."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import orjson

from clerkship.actors.contract import NO_PERSON_HINT, Solver
from clerkship.actors.registry import RECORDED, RecordedSolver
from clerkship.engine.catalog import RegisteredCatalog
from clerkship.engine.model_build import (
    apply_settings,
    build_hosts,
    build_model,
    expand_variables,
    model_name,
    open_model_proxy,
)
from clerkship.engine.models import ModelSelection, rates_task
from clerkship.llm.contract import Model, UnavailableModel
from clerkship.llm.model_reference import DEFAULT_ADDRESSES, canonical_provider
from clerkship.llm.scripted import is_scripted
from clerkship.model.conftest import Conftest, EvaluationConfig, SimulationConfig
from clerkship.model.errors import InputError, InputProblem
from clerkship.model.model_choice import ModelChoice
from clerkship.model.monitor_settings import ALL
from clerkship.model.names import did_you_mean
from clerkship.model.redaction import MIN_SECRET_LENGTH, Redactor, build_redactor
from clerkship.model.run import BenchmarkRun, ModelOptions
from clerkship.model.snapshot import Snapshot
from clerkship.model.usage import Role
from clerkship.model.variables import find_variable_names
from clerkship.recording.cassette import RecordedEmbedding, RecordedQuestion, RecordedTurn, cassette_path
from clerkship.recording.session import CassetteRedactor, RecordingSession
from clerkship.settings import Settings, find_secrets, get_template_variables

if TYPE_CHECKING:
    from clerkship.llm.hosts import ModelHosts

_JUDGE_ROLES: tuple[Role, ...] = ("judge", "metrics", "person_check")


class ModelNeeds(NamedTuple):
    """What tasks need models for."""

    judge: bool = True
    """Whether some criteria or person checks need a judge."""
    person: bool = False
    """Whether some people must be played by a model."""
    rated: bool = False
    """Whether some tasks define metrics. A missing judge is then only a warning."""
    monitored: bool = False
    """Whether some monitors ask a judge. Without one they are skipped."""
    skippable: bool = True
    """Whether `--no-judge` is allowed. It is not for a calibration."""

    @property
    def no_judge_hint(self) -> str:
        """What to do if there is no judge, for an error message."""
        return "give --judge, or --no-judge to skip them" if self.skippable else "give --judge"


def find_model_needs(snapshots: Iterable[Snapshot], catalog: RegisteredCatalog) -> ModelNeeds:
    """Return what tasks need models for."""
    known = tuple(snapshots)
    tasks = [snapshot.task for snapshot in known]
    settings = [settings for each in known for settings in (each.environment.monitors, each.task.monitors) if settings]
    names = {call.name for task in tasks for call in task.assertions()}
    people = [person for task in tasks for person in task.people]
    played = [person for person in people if person.needs_model]
    return ModelNeeds(
        judge=any(catalog.assertion(name).judged for name in names)
        or any(person.check == "model" for person in played),
        person=bool(played),
        rated=any(task.metrics for task in tasks),
        monitored=any(catalog.monitor(name).judged for each in settings for name in each if name != ALL),
    )


@dataclass(frozen=True)
class ModelRequest:
    """The models that the command line, the repeated run and the files ask for."""

    judge: str | None = None
    """The name of the judge; `none` skips what needs one."""
    person: str | None = None
    """The name of the model that plays people."""
    asking: ModelOptions = field(default_factory=ModelOptions)
    run: BenchmarkRun | None = None
    """The run whose models are used again; its options take precedence over `asking`."""
    conftest: Conftest | None = None


@dataclass(frozen=True)
class CassetteConfig:
    """Where the cassettes of a run are, and how they are used."""

    root: Path
    """The folder to which sources of tasks are relative."""
    trials: int | None = None
    """The number of trials per task. Recordings of trials with a higher number are not used to find the model."""
    restarts_damaged: bool = False
    """Whether a damaged cassette is replaced. Only possible if the run asks for all of its answers again."""


class _ModelRequirement(NamedTuple):
    """What a run requires of one of its two models."""

    title: Literal["judge", "person"]
    roles: tuple[Role, ...]
    config: EvaluationConfig | SimulationConfig | None
    """The configuration of this model in a conftest."""
    needed: bool
    hint: str
    """What to do if there is no such model, for an error message."""


def resolve_models(
    request: ModelRequest,
    settings: Settings,
    needs: ModelNeeds | None = None,
    snapshots: Sequence[Snapshot] = (),
    cassettes: CassetteConfig | None = None,
) -> ModelSelection:
    """Return the models of a run.

    The order of precedence is: command line, repeated run, settings, conftest. If none of them names a model, a
    replay uses the one that was recorded. An unavailable model of a conftest is no error here: the criteria that ask
    it will be errors. If a conftest names an available judge, scenarios are rated by metrics unless the options decide.
    """
    needs, asking = needs or ModelNeeds(), request.asking if request.run is None else request.run.asking
    conftest = request.conftest or Conftest()
    session = _open_session(asking, conftest, settings, snapshots, cassettes)
    resolver = _ModelResolver(request, asking, settings, session, cassettes.trials if cassettes is not None else None)
    is_rated_by_default = request.run is None and _is_rated_by_default(asking, conftest, session, snapshots)
    judged = needs.judge or needs.monitored or asking.checks_person or _may_rate(asking, needs)
    hint = needs.no_judge_hint if judged else "give --judge"
    judge, judge_choice = resolver.resolve(
        _ModelRequirement("judge", _JUDGE_ROLES, conftest.evaluation, judged or is_rated_by_default, hint)
    )
    not_rated = judge.reason if is_rated_by_default and isinstance(judge, UnavailableModel) else ""
    if is_rated_by_default and _is_available(judge):
        asking, not_rated = asking.model_copy(update={"metrics": "scenarios"}), ""
    elif not judged and judge_choice is None:
        judge = None
    person, person_choice = resolver.resolve(
        _ModelRequirement("person", ("person",), conftest.simulation, needs.person, NO_PERSON_HINT)
    )
    selection = ModelSelection(
        judge, person, judge_choice, person_choice, asking, session, not_rated, partial(open_model_proxy, settings)
    )
    session.roles = {snapshot.task.name: selection.roles(snapshot.task) for snapshot in snapshots}
    return selection


def _may_rate(asking: ModelOptions, needs: ModelNeeds) -> bool:
    """Return whether the options or the files of a run ask for ratings."""
    if asking.metrics == "own":
        return needs.rated or "metrics" in asking.prompts
    return asking.metrics != "none"


def _is_rated_by_default(
    asking: ModelOptions, conftest: Conftest, session: RecordingSession, snapshots: Sequence[Snapshot]
) -> bool:
    """Return whether scenarios are rated because a conftest names a judge.

    A replay rates only if ratings were recorded, so that cassettes without them stay complete.
    """
    scenarios = asking.model_copy(update={"metrics": "scenarios"})
    has_scenarios = any(rates_task(scenarios, snapshot.task) for snapshot in snapshots)
    if asking.metrics != "own" or conftest.evaluation is None or not has_scenarios:
        return False
    recorded = (entry for entry in session.entries() if isinstance(entry, RecordedQuestion))
    return not session.replays or any(entry.role == "metrics" for entry in recorded)


def _is_available(model: Model | None) -> bool:
    return model is not None and (not isinstance(model, UnavailableModel) or model.replayable)


def open_recording(
    request: ModelRequest, settings: Settings, snapshots: Sequence[Snapshot], cassettes: CassetteConfig
) -> RecordingSession:
    """Open the recording of some tasks, without choosing their models."""
    return _open_session(request.asking, request.conftest or Conftest(), settings, snapshots, cassettes)


def _open_session(
    asking: ModelOptions,
    conftest: Conftest,
    settings: Settings,
    snapshots: Sequence[Snapshot],
    cassettes: CassetteConfig | None,
) -> RecordingSession:
    if asking.tapes_agent and asking.tape not in ("record", "refresh"):
        hint = "add --record or --refresh"
        raise InputError.of("--record-agent works only together with a recording of models", hint=hint)
    if asking.tape is None or cassettes is None:
        return RecordingSession()
    values = get_template_variables()
    names = {snapshot.task.name: snapshot.variables() for snapshot in snapshots}
    known = {name: values.get(name, "") for name in sorted(_find_variables(conftest))}
    return RecordingSession(
        asking.tape,
        {snapshot.task.name: cassette_path(cassettes.root / snapshot.source) for snapshot in snapshots},
        redactor=CassetteRedactor(
            known, build_redactor(find_secrets(settings), shortest=MIN_SECRET_LENGTH, label="[secret]")
        ),
        variables={task: {name: values[name] for name in used & values.keys()} for task, used in names.items()},
        restarts_damaged=cassettes.restarts_damaged,
    )


class _ModelResolver:
    def __init__(
        self,
        request: ModelRequest,
        asking: ModelOptions,
        settings: Settings,
        session: RecordingSession,
        trials: int | None,
    ) -> None:
        self._request, self._settings, self._session, self._trials = request, settings, session, trials
        limits = {"max_tokens": asking.max_tokens, "timeout": asking.model_timeout}
        self._limits = {name: limit for name, limit in limits.items() if limit is not None}
        """Limits from options; they take precedence over those of a conftest."""

    @cached_property
    def _hosts(self) -> "ModelHosts":
        """The hosts that the models share."""
        return build_hosts(self._settings)

    def resolve(self, requirement: _ModelRequirement) -> tuple[Model | None, ModelChoice | None]:
        """Return a model, and its description for the run's record. Sets the description in cassettes too."""
        model, choice = self._find(requirement)
        if choice is None or choice.is_none:
            return model, choice
        identity = self._identity(choice)
        self._session.identities = {**self._session.identities, **dict.fromkeys(requirement.roles, identity)}
        return model, identity if self._session.replays else choice

    def _find(self, requirement: _ModelRequirement) -> tuple[Model | None, ModelChoice | None]:
        if (choice := self._find_named(requirement)) is not None:
            return self._build(choice)
        if not requirement.needed:
            return None, None
        model: Model | None = None
        if requirement.config is not None:
            try:
                return self._build(_from_conftest(requirement.config))
            except InputError as error:
                reason = f"the conftest's {requirement.title} is not available: {error}; or {requirement.hint}"
                model = UnavailableModel(requirement.config.llm.name, reason)
        return self._find_recorded(requirement) if self._session.replays else (model, None)

    def _find_named(self, requirement: _ModelRequirement) -> ModelChoice | None:
        """Return the model that the command line, the repeated run or the settings name."""
        name: str | None = getattr(self._request, requirement.title)
        if name is None and requirement.needed:
            earlier: ModelChoice | None = getattr(self._request.run, requirement.title, None)
            if earlier is not None:
                return earlier
            name = getattr(self._settings, requirement.title) or None
        return ModelChoice(who=name) if name is not None else None

    def _build(self, choice: ModelChoice) -> tuple[Model | None, ModelChoice]:
        """Build a model, or a placeholder that has only recorded answers.

        A replay always uses the placeholder. A refresh, which asks only for missing answers, uses it if the model is
        not available: perhaps no answer is missing.
        """
        settings, session = self._settings, self._session
        if choice.is_none:
            return None, choice
        choice = choice.model_copy(update=self._limits)
        if session.replays:
            choice = _full_name(choice, settings)
            return UnavailableModel(choice.who, replayable=True), choice
        choice = apply_settings(_expand_choice(choice), settings)
        try:
            return build_model(choice, settings, self._hosts), choice
        except InputError as error:
            # A missing script is always an error, unlike a missing key.
            if session.mode != "refresh" or is_scripted(choice.who):
                raise
            return UnavailableModel(model_name(choice, settings), str(error), replayable=True), choice

    def _find_recorded(self, requirement: _ModelRequirement) -> tuple[Model, ModelChoice | None]:
        """Return a placeholder for the recorded model, with the options of the conftest; also if none was recorded."""
        choice = self._recorded_choice(requirement)
        if choice is not None and requirement.config is not None:
            embeddings = {"embeddings": choice.embeddings or self._settings.embeddings}
            choice = choice.model_copy(update=embeddings | _conftest_options(requirement.config))
        return UnavailableModel(choice.who if choice is not None else "unknown", replayable=True), choice

    def _recorded_choice(self, requirement: _ModelRequirement) -> ModelChoice | None:
        entries = self._session.entries(self._trials)
        questions = [
            entry for entry in entries if isinstance(entry, RecordedQuestion) and entry.role in requirement.roles
        ]
        models = {(entry.model, orjson.dumps(entry.parameters, option=orjson.OPT_SORT_KEYS)) for entry in questions}
        if len(models) > 1:
            names = ", ".join(sorted({model for model, _ in models}))
            raise InputError.of(
                f"recorded with more than one model: {names}", hint=f"choose one with --{requirement.title}"
            )
        if not models:
            return None
        [(name, parameters)] = models
        embedding_models = [
            entry.model for entry in entries if isinstance(entry, RecordedEmbedding) and entry.role in requirement.roles
        ]
        embeddings = next((model.removeprefix(f"{name} ") for model in embedding_models if model.startswith(name)), "")
        return ModelChoice(who=name, parameters=orjson.loads(parameters), embeddings=embeddings)

    def _identity(self, choice: ModelChoice) -> ModelChoice:
        """Return the description of a model in cassettes.

        The address from the settings is removed: it is not part of which model it is, and may differ between
        machines. Values of variables in a conftest are replaced by their names.
        """
        who = choice.who.removesuffix(f"@{self._settings.openai_base_url}")
        names = {"who": who, "embeddings": choice.embeddings, "api_version": choice.api_version}
        return choice.model_copy(update=Redactor(self._session.redactor.names, variants=False).data(names))


def _from_conftest(config: EvaluationConfig | SimulationConfig) -> ModelChoice:
    """Return the model that a conftest names, in the form that a run stores."""
    llm, provider = config.llm, canonical_provider(config.llm.provider)
    if provider not in DEFAULT_ADDRESSES and llm.api_base is None:
        raise InputError.of(
            f"the provider `{llm.provider}` is not available",
            hint=f"use {', '.join(DEFAULT_ADDRESSES)}, or give the `api_base` of an OpenAI-compatible endpoint",
        )
    options = {"model": llm.name, "at": llm.api_base, "version": llm.api_version}
    expanded = expand_variables(options, llm.name)
    address = f"@{expanded['at']}" if expanded["at"] else ""
    return ModelChoice(
        who=f"{provider}:{expanded['model']}{address}",
        parameters=llm.parameters,
        **(_conftest_options(config) | {"api_version": expanded["version"] or ""}),
    )


def _conftest_options(config: EvaluationConfig | SimulationConfig) -> dict[str, Any]:
    """Return the options of a conftest's model that contain no variables, so that a replay can use them too."""
    return {
        "timeout": config.llm.timeout,
        "at_once": config.max_concurrent_llm_calls,
        "key_from": config.llm.key_from,
        "api_version": config.llm.api_version or "",
        "prices": config.llm.prices,
    }


def _find_variables(conftest: Conftest) -> set[str]:
    """Return the variables in the names and addresses of a conftest's models."""
    llms = [config.llm for config in (conftest.evaluation, conftest.simulation) if config is not None]
    texts = [text for llm in llms for text in (llm.name, llm.api_base or "", llm.api_version or "")]
    return {name for text in texts for name in find_variable_names(text)}


def _full_name(choice: ModelChoice, settings: Settings) -> ModelChoice:
    """Return a model with its full name, in the form that a replay stores.

    A name with variables is returned unchanged: it cannot be parsed before they are expanded.
    """
    if "${" in choice.who:
        return choice
    embeddings = choice.embeddings or settings.embeddings
    return choice.model_copy(update={"who": model_name(choice, settings), "embeddings": embeddings})


def _expand_choice(choice: ModelChoice) -> ModelChoice:
    """Expand the variables in the name of a model. The record of a replay has them unexpanded."""
    names = {"who": choice.who, "embeddings": choice.embeddings, "api_version": choice.api_version}
    if "${" not in "".join(names.values()):
        return choice
    return choice.model_copy(update=expand_variables(names, choice.who))


def find_missing_models(models: ModelSelection, needs: ModelNeeds) -> tuple[InputProblem, ...]:
    """Return the problems with judges, played people and cassettes that are known before a run.

    Raises InputError if an option needs a judge and `--no-judge` is given too.
    """
    asking, skipped, problems = models.asking, models.skips_judged, list[InputProblem]()
    flags = {"--check-person": asking.checks_person, "--metrics": asking.metrics == "all"}
    options = " and ".join(flag for flag, is_given in flags.items() if is_given)
    if options and skipped:
        raise InputError.of(f"{options} needs a judge, and --no-judge turns it off", hint="leave one of them out")
    if needs.judge and not skipped:
        need = "some criteria need a model to judge them" if needs.skippable else "a model is to judge"
        problems += _describe_missing(models.judge, need, needs.no_judge_hint)
    elif asking.checks_person and not skipped:
        problems += _describe_missing(models.judge, "--check-person needs a judge", "give --judge")
    if _may_rate(asking, needs) and models.judge is None and not skipped:
        problems.append(
            InputProblem(message="no judge is configured to rate conversations by metrics", hint="give --judge")
        )
    if models.not_rated and not needs.judge:
        message = f"scenarios are not rated by metrics: {models.not_rated}"
        problems.append(InputProblem(message=message, hint="or turn ratings off with --no-metrics"))
    problems += find_missing_person(models) if needs.person else ()
    unavailable = [
        model for model in (models.judge, models.person) if isinstance(model, UnavailableModel) and model.replayable
    ]
    reasons = dict.fromkeys(model.reason for model in unavailable if model.reason)
    problems += [InputProblem(message=f"{reason}: only recorded answers are available") for reason in reasons]
    return (*problems, *models.session.warnings)


def find_missing_person(models: ModelSelection) -> list[InputProblem]:
    """Return why a model cannot play the people, if it cannot."""
    return _describe_missing(models.person, "some people must be played by a model", NO_PERSON_HINT)


def _describe_missing(model: Model | None, need: str, hint: str) -> list[InputProblem]:
    if isinstance(model, UnavailableModel):
        return [] if model.replayable else [InputProblem(message=model.reason)]
    return [InputProblem(message=f"{need}, and none is configured", hint=hint)] if model is None else []


def resolve_agent(solver: Solver, models: ModelSelection, snapshots: Sequence[Snapshot]) -> Solver:
    """Return the agent of a run, and set up its recording or replay.

    Raises InputError if it cannot be recorded or replayed.
    """
    session = models.session
    if isinstance(solver, RecordedSolver):
        if not session.replays:
            raise InputError.of(f"agent `{solver.name}` only replays recordings", hint="give --replay")
        solver = RecordedSolver(_find_recorded_agent(solver.whose, session))
        session.solver = solver.whose
    elif session.mode is not None and models.asking.tapes_agent:
        tasks_for_agent = [
            snapshot
            for snapshot in snapshots
            if snapshot.task.scenario is None or snapshot.task.scenario.starts != "person"
        ]
        if tasks_for_agent:
            raise InputError(_build_unrecordable(snapshot) for snapshot in tasks_for_agent)
        session.solver = solver.name
    return solver


def _build_unrecordable(snapshot: Snapshot) -> InputProblem:
    return InputProblem(
        file=snapshot.source,
        message=f"{snapshot.task.name!r} starts with the agent (on_task), and only conversations can be recorded",
        hint="choose conversations with --task or --tag, or leave --record-agent out",
    )


def _find_recorded_agent(name: str, session: RecordingSession) -> str:
    """Return the name of the recorded agent: the given one, or the only one."""
    recorded = sorted({entry.solver for entry in session.entries() if isinstance(entry, RecordedTurn)})
    if not recorded:
        raise InputError.of("no agent is recorded for these tasks", hint="record one with --record --record-agent")
    if name in recorded or (not name and len(recorded) == 1):
        return name or recorded[0]
    if name:
        raise InputError.of(f"agent `{name}` is not recorded", hint=did_you_mean(name, recorded))
    hint = f"choose one with --agent {RECORDED}:{recorded[0]}"
    raise InputError.of(f"more than one agent is recorded: {', '.join(recorded)}", hint=hint)
