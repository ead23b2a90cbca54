"""Decide which model each role of a run asks, and whether it is asked, recorded or replayed."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import orjson

from clerkship.actors.contract import Solver
from clerkship.actors.person_played import NO_PERSON
from clerkship.actors.recorded import RECORDED, RecordedSolver
from clerkship.engine.catalog import Registered
from clerkship.engine.model_build import build_model, model_name, settled
from clerkship.engine.models import ModelSelection
from clerkship.llm.contract import Model
from clerkship.llm.place import USUAL, known
from clerkship.llm.scripted import is_scripted
from clerkship.llm.switchboard import Switchboard
from clerkship.llm.unavailable import UnavailableModel
from clerkship.model.conftest import Conftest, Evaluation, Simulation
from clerkship.model.model_choice import ModelChoice
from clerkship.model.names import did_you_mean
from clerkship.model.problem import InputError, Problem
from clerkship.model.redaction import Redactor
from clerkship.model.run import Asking, BenchmarkRun
from clerkship.model.snapshot import Snapshot
from clerkship.model.usage import Role
from clerkship.model.variables import UnknownVariable, expand, names_in
from clerkship.recording.cassette import Embedding, Exchange, Turn, cassette_of
from clerkship.recording.redaction import CassetteRedactor, worth_hiding
from clerkship.recording.session import ModelIdentity, RecordingSession
from clerkship.settings import Settings, secrets, variables

_JUDGE_ROLES: tuple[Role, ...] = ("judge", "metrics", "person_check")


class ModelNeeds(NamedTuple):
    """What tasks need models for."""

    judge: bool = True
    person: bool = False
    rated: bool = False
    """Whether some tasks define metrics; a run can do without them."""
    skippable: bool = True
    """Whether one can do without a judge; a calibration cannot."""

    @property
    def without_judge(self) -> str:
        """What to do if there is no judge."""
        return "give --judge, or --no-judge to skip them" if self.skippable else "give --judge"


def needs_of(snapshots: Iterable[Snapshot], catalog: Registered) -> ModelNeeds:
    """Return what tasks need models for."""
    tasks = [snapshot.task for snapshot in snapshots]
    names = {call.name for task in tasks for call in task.assertions()}
    people = [task.scenario.person for task in tasks if task.scenario is not None and task.scenario.person is not None]
    played = [person for person in people if person.needs_model]
    return ModelNeeds(
        judge=any(catalog.assertion(name).judged for name in names) or any(one.check == "model" for one in played),
        person=bool(played),
        rated=any(task.metrics for task in tasks),
    )


@dataclass(frozen=True)
class ModelRequest:
    """What was asked for: on the command line, by the run that is done again, by the files."""

    judge: str | None = None
    """The judge that was named; `none` skips what needs one."""
    person: str | None = None
    """The model that was named to play people."""
    asking: Asking = field(default_factory=Asking)
    run: BenchmarkRun | None = None
    """The run whose models are used again; what it was told of models goes before `asking`."""
    conftest: Conftest | None = None


@dataclass(frozen=True)
class CassetteConfig:
    """Where the cassettes of a run are, and how they are used."""

    root: Path
    """The folder that sources of tasks are relative to."""
    trials: int | None = None
    """How often each task is run at most: recordings of later trials do not tell which model was recorded."""
    restarts_damaged: bool = False
    """Whether a damaged cassette is recorded anew; only where all of it is asked again."""


class _Candidates(NamedTuple):
    """Where one model of a run may come from, the first that names one first."""

    title: str
    """`judge` or `person`, as in the command line's options."""
    roles: tuple[Role, ...]
    named: str | None
    needed: bool
    kept: ModelChoice | None
    setting: str
    block: Evaluation | Simulation | None
    """The block of a conftest."""
    otherwise: str
    """What to do if there is none."""

    def choice(self) -> ModelChoice | None:
        """Return the first choice before the conftest's."""
        if self.named is not None:
            return ModelChoice(who=self.named)
        if not self.needed:
            return None
        return self.kept or (ModelChoice(who=self.setting) if self.setting else None)


def resolve_models(
    request: ModelRequest,
    settings: Settings,
    needs: ModelNeeds | None = None,
    snapshots: Sequence[Snapshot] = (),
    cassettes: CassetteConfig | None = None,
) -> ModelSelection:
    """Return the models of a run. The command line goes before the run that is done again, that before the settings,
    those before a conftest; a replay takes the model that was recorded if none of them names one.

    A conftest's model that is not available is no error here: the criteria that ask it are.
    """
    return _Resolver(request, settings, cassettes, snapshots).resolve(needs or ModelNeeds(), snapshots)


class _Resolver:
    def __init__(
        self,
        request: ModelRequest,
        settings: Settings,
        cassettes: CassetteConfig | None,
        snapshots: Sequence[Snapshot],
    ) -> None:
        self._request, self._settings, self._cassettes = request, settings, cassettes
        self._asking = request.asking if request.run is None else request.run.asking
        self._endpoints = Switchboard(settings.endpoint_calls or None)
        self._session = self._open_session(snapshots)

    def resolve(self, needs: ModelNeeds, snapshots: Sequence[Snapshot]) -> ModelSelection:
        """Choose both models, and tell the recording who they are."""
        judge, person = self._candidates(needs)
        judge_model, judge_choice = self._resolve(judge)
        person_model, person_choice = self._resolve(person)
        session = self._session
        for candidates, choice in ((judge, judge_choice), (person, person_choice)):
            if choice is not None and not choice.skips:
                session.identities = {**session.identities, **dict.fromkeys(candidates.roles, self._identity(choice))}
        if session.replays:
            judge_choice, person_choice = self._as_recorded(judge_choice), self._as_recorded(person_choice)
        found = ModelSelection(judge_model, person_model, judge_choice, person_choice, self._asking, session)
        session.roles = {snapshot.task.name: found.roles(snapshot.task) for snapshot in snapshots}
        return found

    def _candidates(self, needs: ModelNeeds) -> tuple[_Candidates, _Candidates]:
        request, run, conftest = self._request, self._request.run, self._request.conftest
        judged = needs.judge or needs.rated or _asks_judge(self._asking)
        judge = _Candidates(
            "judge",
            _JUDGE_ROLES,
            request.judge,
            judged,
            run.judge if run is not None else None,
            self._settings.judge,
            conftest.evaluation if conftest is not None else None,
            needs.without_judge,
        )
        person = _Candidates(
            "person",
            ("person",),
            request.person,
            needs.person,
            run.person if run is not None else None,
            self._settings.person,
            conftest.simulation if conftest is not None else None,
            NO_PERSON,
        )
        return judge, person

    def _resolve(self, candidates: _Candidates) -> tuple[Model | None, ModelChoice | None]:
        choice = candidates.choice()
        if choice is not None:
            return self._build(choice)
        if not candidates.needed:
            return None, None
        model: Model | None = None
        if candidates.block is not None:
            try:
                return self._build(_from_conftest(candidates.block))
            except InputError as error:
                reason = f"the conftest's {candidates.title} is not available: {error}; or {candidates.otherwise}"
                model = UnavailableModel(candidates.block.llm.name, reason)
        return self._recorded(candidates) if self._session.replays else (model, None)

    def _build(self, choice: ModelChoice) -> tuple[Model | None, ModelChoice]:
        """Build a model: in a replay none that can be asked; where only what is missing is asked, one that need not be
        available."""
        settings, session = self._settings, self._session
        if choice.skips:
            return None, choice
        if session.replays:
            choice = _named(choice, settings)
            return UnavailableModel(choice.who, replayable=True), choice
        choice = settled(_expanded(choice), settings)
        try:
            return build_model(choice, settings, self._endpoints), choice
        except InputError as error:
            if session.mode != "refresh" or is_scripted(choice.who):  # a missing script is a mistake, not a missing key
                raise
            return UnavailableModel(model_name(choice, settings), str(error), replayable=True), choice

    def _recorded(self, candidates: _Candidates) -> tuple[Model, ModelChoice | None]:
        """Return the one model that was recorded, asked as the conftest says; one without recordings if none was."""
        choice = self._recorded_choice(candidates)
        if choice is not None and candidates.block is not None:
            embeddings = {"embeddings": choice.embeddings or self._settings.embeddings}
            choice = choice.model_copy(update=embeddings | _conftest_options(candidates.block))
        return UnavailableModel(choice.who if choice is not None else "nobody", replayable=True), choice

    def _recorded_choice(self, candidates: _Candidates) -> ModelChoice | None:
        entries = self._session.entries(self._cassettes.trials if self._cassettes is not None else None)
        asked = [entry for entry in entries if isinstance(entry, Exchange) and entry.role in candidates.roles]
        found = {(entry.model, orjson.dumps(entry.parameters, option=orjson.OPT_SORT_KEYS)) for entry in asked}
        if len(found) > 1:
            names = ", ".join(sorted({model for model, _ in found}))
            hint = f"say which with --{candidates.title}"
            raise InputError.of(f"recorded with more than one model: {names}", hint=hint)
        if not found:
            return None
        [(name, parameters)] = found
        made = [entry.model for entry in entries if isinstance(entry, Embedding) and entry.role in candidates.roles]
        embeddings = next((model.removeprefix(f"{name} ") for model in made if model.startswith(name)), "")
        return ModelChoice(who=name, parameters=orjson.loads(parameters), embeddings=embeddings)

    def _open_session(self, snapshots: Sequence[Snapshot]) -> RecordingSession:
        mode, cassettes = self._asking.tape, self._cassettes
        if self._asking.tapes_agent and mode not in ("record", "refresh"):
            raise InputError.of(
                "--record-agent takes down what an agent answers", hint="give --record or --refresh too"
            )
        if mode is None or cassettes is None:
            return RecordingSession()
        values = variables()
        return RecordingSession(
            mode,
            {snapshot.task.name: cassette_of(cassettes.root / snapshot.source) for snapshot in snapshots},
            redactor=CassetteRedactor(
                {name: values.get(name, "") for name in sorted(_names_in(self._request.conftest))},
                worth_hiding(secrets(self._settings)),
            ),
            variables={
                one.task.name: {name: values[name] for name in one.variables() & {*values}} for one in snapshots
            },
            restarts_damaged=cassettes.restarts_damaged,
        )

    def _identity(self, choice: ModelChoice) -> ModelIdentity:
        """Return the name that cassettes have. The settings' own address is where a model is asked, not who it is."""
        by = self._by_name()
        name = choice.who.removesuffix(f"@{self._settings.openai_base_url}")
        return ModelIdentity(by.text(name), choice.parameters, by.text(choice.embeddings))

    def _as_recorded(self, choice: ModelChoice | None) -> ModelChoice | None:
        """Return a replayed model under the name that cassettes have, so that the record is the same anywhere."""
        if choice is None or choice.skips:
            return choice
        identity = self._identity(choice)
        about = {"who": identity.name, "parameters": dict(identity.parameters), "embeddings": identity.embeddings}
        return choice.model_copy(update=about | {"api_version": self._by_name().text(choice.api_version)})

    def _by_name(self) -> Redactor:
        return Redactor(self._session.redactor.names, variants=False)


def _asks_judge(asking: Asking) -> bool:
    """Tell whether a judge is asked for more than criteria."""
    return asking.metrics or asking.checks_person or "metrics" in asking.prompts


def _from_conftest(block: Evaluation | Simulation) -> ModelChoice:
    """Return the model that a conftest names, as a run keeps it."""
    llm, sort = block.llm, known(block.llm.provider)
    if sort not in USUAL and llm.api_base is None:
        raise InputError.of(
            f"the provider `{llm.provider}` is not available",
            hint=f"there is {', '.join(USUAL)}; with an `api_base` of OpenAI's sort any will do",
        )
    written = {"model": llm.name, "at": llm.api_base, "version": llm.api_version}
    found = _expand(written, "")
    address = f"@{found['at']}" if found["at"] else ""
    return ModelChoice(
        who=f"{sort}:{found['model']}{address}",
        parameters=llm.parameters,
        **(_conftest_options(block) | {"api_version": found["version"] or ""}),
    )


def _conftest_options(block: Evaluation | Simulation) -> dict[str, Any]:
    """Return how a conftest has its model asked; the same on every machine."""
    return {
        "timeout": block.llm.timeout,
        "at_once": block.max_concurrent_llm_calls,
        "key_from": block.llm.key_from,
        "api_version": block.llm.api_version or "",
        "prices": block.llm.prices,
    }


def _names_in(conftest: Conftest | None) -> set[str]:
    """Return the variables that name a conftest's models, or their addresses."""
    blocks = (conftest.evaluation, conftest.simulation) if conftest is not None else ()
    llms = [block.llm for block in blocks if block is not None]
    texts = [text for llm in llms for text in (llm.name, llm.api_base or "", llm.api_version or "")]
    return {name for text in texts for name in names_in(text)}


def _named(choice: ModelChoice, settings: Settings) -> ModelChoice:
    """Return a model under its full name, as a replay keeps it. A replayed run's has variables in its address, and is
    no address before they are expanded."""
    if "${" in choice.who:
        return choice
    embeddings = choice.embeddings or settings.embeddings
    return choice.model_copy(update={"who": model_name(choice, settings), "embeddings": embeddings})


def _expanded(choice: ModelChoice) -> ModelChoice:
    """Expand the variables that a replayed run keeps in a model's name."""
    names = {"who": choice.who, "embeddings": choice.embeddings, "api_version": choice.api_version}
    if "${" not in "".join(names.values()):
        return choice
    return choice.model_copy(update=_expand(names, f"model `{choice.who}`: "))


def _expand(texts: Mapping[str, Any], what: str) -> Any:
    def unset(path: list[int | str], unknown: UnknownVariable) -> None:
        raise InputError.of(f"{what}{unknown}", hint=unknown.hint)

    return expand(texts, variables(), unset)


def missing_models(models: ModelSelection, needs: ModelNeeds) -> tuple[Problem, ...]:
    """Return what is known before a run of criteria that cannot be judged, people that cannot be played, and cassettes.

    Raise InputError if the judge is skipped and asked at once: that would look like an answer.
    """
    asking, skipped, found = models.asking, models.skips_judged, list[Problem]()
    flags = {"--check-person": asking.checks_person, "--metrics": asking.metrics}
    named = " and ".join(flag for flag, given in flags.items() if given)
    if named and skipped:
        raise InputError.of(f"{named} needs a judge, and --no-judge leaves none", hint="leave one of them out")
    if needs.judge and not skipped:
        what = "some criteria need a model to judge them" if needs.skippable else "a model is to judge"
        found += _missing(models.judge, what, needs.without_judge)
    elif asking.checks_person and not skipped:
        found += _missing(models.judge, "--check-person needs a judge", "give --judge")
    if (needs.rated or asking.metrics) and models.judge is None and not skipped:
        found.append(Problem(message="nobody is there to rate conversations by metrics", hint="give --judge"))
    found += missing_person(models) if needs.person else ()
    away = [one for one in (models.judge, models.person) if isinstance(one, UnavailableModel) and one.replayable]
    reasons = dict.fromkeys(one.reason for one in away if one.reason)
    found += [Problem(message=f"{reason}: only what was recorded is answered") for reason in reasons]
    return (*found, *models.session.warnings)


def missing_person(models: ModelSelection) -> list[Problem]:
    """Return why people that a model plays cannot be played, if they cannot."""
    return _missing(models.person, "some people must be played by a model", NO_PERSON)


def _missing(model: Model | None, what: str, otherwise: str) -> list[Problem]:
    if isinstance(model, UnavailableModel):
        return [] if model.replayable else [Problem(message=model.reason)]
    return [Problem(message=f"{what}, and none is configured", hint=otherwise)] if model is None else []


def resolve_agent(solver: Solver, models: ModelSelection, snapshots: Sequence[Snapshot]) -> Solver:
    """Return the agent of a run, and tell the recording if it is recorded or replayed; raise InputError if it cannot
    be."""
    session = models.session
    if isinstance(solver, RecordedSolver):
        if not session.replays:
            raise InputError.of(f"agent `{solver.name}` plays what was recorded", hint="give --replay")
        solver = RecordedSolver(_recorded_agent(solver.whose, session))
        session.solver = solver.whose
    elif session.mode is not None and models.asking.tapes_agent:
        at_work = [one for one in snapshots if one.task.scenario is None or one.task.scenario.starts != "person"]
        if at_work:
            raise InputError(_unrecordable(snapshot) for snapshot in at_work)
        session.solver = solver.name
    return solver


def _unrecordable(snapshot: Snapshot) -> Problem:
    return Problem(
        file=snapshot.source,
        message=f"{snapshot.task.name!r} gives the agent work (on_task), and that cannot be recorded",
        hint="choose conversations with --task or --tag, or leave --record-agent out",
    )


def _recorded_agent(wanted: str, session: RecordingSession) -> str:
    """Return the name of the one agent that is recorded, or of the one that is wanted."""
    known = sorted({entry.solver for entry in session.entries() if isinstance(entry, Turn)})
    if not known:
        raise InputError.of("no agent is recorded for these tasks", hint="--record --record-agent does that")
    if wanted in known or (not wanted and len(known) == 1):
        return wanted or known[0]
    if wanted:
        raise InputError.of(f"agent `{wanted}` is not recorded", hint=did_you_mean(wanted, known))
    hint = f"say which with --agent {RECORDED}:{known[0]}"
    raise InputError.of(f"more than one agent is recorded: {', '.join(known)}", hint=hint)
