"""Who is asked in a run: as was wanted, as the settings say, or as the folder's own conftest does."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple

from clerkship.actors.person_played import NO_PERSON
from clerkship.engine.catalog import Registered
from clerkship.engine.model_build import build_model, model_name, settled
from clerkship.engine.models import ALONE, Models
from clerkship.llm.absent import AbsentModel
from clerkship.llm.contract import Model
from clerkship.llm.place import USUAL, known
from clerkship.llm.recalled import RecalledModel
from clerkship.llm.scripted import is_scripted
from clerkship.llm.switchboard import Switchboard
from clerkship.model.calibration import JudgeIdentity
from clerkship.model.conftest import Conftest, Llm
from clerkship.model.model_choice import ModelChoice
from clerkship.model.problem import InputError, Problem
from clerkship.model.run import Asking, BenchmarkRun
from clerkship.model.scenario import Person
from clerkship.model.snapshot import Snapshot
from clerkship.model.variables import UnknownVariable, expand
from clerkship.settings import Settings, variables

_JUDGED = "judged"
Build = Callable[[ModelChoice, Settings], Model | None]
"""Makes somebody who can be asked of a choice; nobody where that is the choice."""
_CRITERIA = "some criteria need a model to judge them"
_NO_JUDGE = "give --judge, or --no-judge to skip them"


class Needs(NamedTuple):
    """What some tasks cannot do without."""

    judge: bool = True
    person: bool = False
    rated: bool = False
    """Whether some define metrics, which are no reason to have no verdict."""
    skippable: bool = True
    """Whether one can do without a judge: who calibrates one cannot."""

    @property
    def without_judge(self) -> str:
        """What to do where there is none."""
        return _NO_JUDGE if self.skippable else "give --judge"


def needs_of(snapshots: Iterable[Snapshot], catalog: Registered) -> Needs:
    """Whether a model must be asked for some criterion, and whether for some person."""
    tasks = [snapshot.task for snapshot in snapshots]
    names = {call.name for task in tasks for call in task.assertions()}
    people = [task.scenario.person for task in tasks if task.scenario is not None and task.scenario.person is not None]
    return Needs(
        judge=any(catalog.assertion(name).judged for name in names) or any(_checked(person) for person in people),
        person=any(person.needs_model for person in people),
        rated=any(task.metrics for task in tasks),
    )


def _checked(person: Person) -> bool:
    return person.needs_model and person.check == "model"


@dataclass(frozen=True)
class Wanted:
    """What somebody asked for, of the models of a run."""

    judge: str | None = None
    """Who judges what no rule decides; `none` to skip it."""
    person: str | None = None
    """Who plays people that are not scripted."""
    asking: Asking = field(default_factory=Asking)


@dataclass(frozen=True)
class Cast:
    """Everybody who is asked in a run: ready to be, and as the run keeps it."""

    models: Models = ALONE
    judge: ModelChoice | None = None
    person: ModelChoice | None = None

    def kept(self, snapshots: Iterable[Snapshot] = ()) -> dict[str, Any]:
        """For the record of a run of these."""
        asked = {"judge": self.judge, "person": self.person, "asking": self.models.asking}
        return asked | {"judging": self.judging(snapshots)}

    def judging(self, snapshots: Iterable[Snapshot] = ()) -> JudgeIdentity | None:
        """Who judges criteria, and how; nobody where they are skipped. Where some are asked more often than others, the
        least: no verdict of the run is worth less than that."""
        if self.judge is None or self.judge.skips:
            return None
        mark = self.models.prompts["criterion"].mark
        calls = [call for snapshot in snapshots for call in snapshot.task.assertions()]
        usual = self.models.asking.votes
        said = [call.args.get("votes") for call in calls if call.name == _JUDGED and isinstance(call.args, dict)]
        said += [usual for call in calls if call.name == _JUDGED and not isinstance(call.args, dict)]
        asked = min((one if isinstance(one, int) else usual for one in said), default=usual)
        return JudgeIdentity(model=self.judge.who, parameters=self.judge.parameters, prompt=mark, votes=asked)

    def missing(self, needs: Needs) -> tuple[Problem, ...]:
        """What is known beforehand of what will have no verdict, or cannot be played."""
        self._refuse_unasked()
        found: list[Problem] = []
        if needs.judge and not self.models.skips_judged:
            found += _missing(
                self.models.judge, _CRITERIA if needs.skippable else "a model is to judge", needs.without_judge
            )
        elif self.models.asking.checks_person and not self.models.skips_judged:
            found += _missing(self.models.judge, "--check-person needs a judge", "give --judge")
        if (needs.rated or self.models.asking.metrics) and self.models.judge is None and not self.models.skips_judged:
            found.append(Problem(message="nobody is there to rate conversations by metrics", hint="give --judge"))
        return (*found, *(self.unplayed() if needs.person else ()))

    def unplayed(self) -> tuple[Problem, ...]:
        """What is known beforehand of people who must be played by a model."""
        return tuple(_missing(self.models.person, "some people must be played by a model", NO_PERSON))

    def _refuse_unasked(self) -> None:
        """To skip the judge and to ask it something in one breath is a mistake, and would look like an answer."""
        asking = self.models.asking
        flags = {"--check-person": asking.checks_person, "--metrics": asking.metrics}
        named = " and ".join(flag for flag, given in flags.items() if given)
        if named and self.models.skips_judged:
            raise InputError.of(f"{named} needs a judge, and --no-judge leaves none", hint="leave one of them out")

    def unready(self) -> tuple[Problem, ...]:
        """Who cannot be asked, and need not be where all was recorded."""
        asked = (self.models.judge, self.models.person)
        reasons = dict.fromkeys(model.reason for model in asked if isinstance(model, AbsentModel) and model.recorded)
        return tuple(Problem(message=f"{reason}: only what was recorded is answered") for reason in reasons)


def _missing(model: Model | None, what: str, instead: str) -> list[Problem]:
    if isinstance(model, AbsentModel):
        return [] if model.recorded else [Problem(message=model.reason)]
    return [Problem(message=f"{what}, and none is configured", hint=instead)] if model is None else []


def choose(
    wanted: Wanted,
    settings: Settings,
    *,
    kept: BenchmarkRun | None = None,
    conftest: Conftest | None = None,
    needs: Needs | None = None,
) -> Cast:
    """What is wanted goes before what a run had, that before the settings, those before a conftest."""
    needs = needs or Needs()
    evaluation = conftest.evaluation if conftest is not None else None
    simulation = conftest.simulation if conftest is not None else None
    asking = wanted.asking if kept is None else kept.asking
    needed = needs.judge or needs.rated or rates(asking)
    judge = _chosen(wanted.judge, kept.judge if kept is not None else None, settings.judge, needed=needed)
    if judge is None and needed and evaluation is not None:
        judge = _Named(evaluation.llm, evaluation.max_concurrent_llm_calls, "judge", needs.without_judge)
    person = _chosen(wanted.person, kept.person if kept is not None else None, settings.person, needed=needs.person)
    if person is None and needs.person and simulation is not None:
        person = _Named(simulation.llm, simulation.max_concurrent_llm_calls, "person", NO_PERSON)
    board = Switchboard(settings.endpoint_calls or None)
    build: Build = _recalled if asking.tape == "replay" else partial(build_model, board=board)
    build = partial(_if_need_be, build=build) if asking.tape == "refresh" else build
    settle = _unsettled if asking.tape == "replay" else _settled
    judge_model, judge_kept = _ready(judge, settings, build, settle)
    person_model, person_kept = _ready(person, settings, build, settle)
    parameters = judge_kept.parameters if judge_kept is not None else {}
    models = Models(judge_model, person_model, judge_kept is not None and judge_kept.skips, asking, parameters)
    return Cast(models, judge_kept, person_kept)


def rates(asking: Asking) -> bool:
    """Whether a judge is asked for more than criteria."""
    return asking.metrics or asking.checks_person or "metrics" in asking.prompts


class _Named(NamedTuple):
    """A model as a conftest has it."""

    llm: Llm
    at_once: int | None
    role: str
    instead: str

    def choice(self) -> ModelChoice:
        """As a run keeps it."""
        llm, sort = self.llm, known(self.llm.provider)
        if sort not in USUAL and llm.api_base is None:
            raise InputError.of(
                f"the provider `{llm.provider}` is not available",
                hint=f"there is {', '.join(USUAL)}; with an `api_base` of OpenAI's sort any will do",
            )

        def told(path: list[int | str], unknown: UnknownVariable) -> None:
            raise InputError.of(str(unknown), hint=unknown.hint)

        found = expand({"model": llm.name, "at": llm.api_base, "version": llm.api_version}, variables(), told)
        address = f"@{found['at']}" if found["at"] else ""
        return ModelChoice(
            who=f"{sort}:{found['model']}{address}",
            parameters=llm.parameters,
            **(manner_of(llm, self.at_once) | {"api_version": found["version"] or ""}),
        )


def manner_of(llm: Llm, at_once: int | None) -> dict[str, Any]:
    """How a conftest has a model asked, whoever it is: the same on every machine."""
    return {
        "timeout": llm.timeout,
        "at_once": at_once,
        "key_from": llm.key_from,
        "api_version": llm.api_version or "",
        "prices": llm.prices,
    }


def _chosen(wanted: str | None, kept: ModelChoice | None, setting: str, *, needed: bool) -> ModelChoice | _Named | None:
    if wanted is not None:
        return ModelChoice(who=wanted)
    if not needed:
        return None
    return kept or (ModelChoice(who=setting) if setting else None)


def _recalled(choice: ModelChoice, settings: Settings) -> Model | None:
    """Somebody who is not asked: no key is needed, no file, no network."""
    if choice.skips:
        return None
    # A replayed run keeps the names of variables in a model's address, which is no address until they are put in.
    return RecalledModel(choice.who if "${" in choice.who else model_name(choice, settings))


def _if_need_be(choice: ModelChoice, settings: Settings, build: Build) -> Model | None:
    """Where all that is asked was recorded nobody is asked, and no key is needed; else, whoever asks is told."""
    try:
        return build(choice, settings)
    except InputError as error:
        if is_scripted(choice.who):  # a file that is not there is a mistake, and no key
            raise
        return AbsentModel(model_name(choice, settings), str(error), recorded=True)


def _unsettled(choice: ModelChoice, settings: Settings) -> ModelChoice:
    """As a replay keeps it: by its name, with nothing of these settings about how it would be asked here."""
    if choice.skips or "${" in choice.who:
        return choice
    name = model_name(choice, settings)
    return choice.model_copy(update={"who": name, "embeddings": choice.embeddings or settings.embeddings})


def _settled(choice: ModelChoice, settings: Settings) -> ModelChoice:
    """As a run keeps it that asks. What was replayed has the names of variables, and is asked where they say now."""

    def told(path: list[int | str], unknown: UnknownVariable) -> None:
        raise InputError.of(f"model `{choice.who}`: {unknown}", hint=unknown.hint)

    names = {"who": choice.who, "embeddings": choice.embeddings, "api_version": choice.api_version}
    if "${" in "".join(names.values()):
        choice = choice.model_copy(update=expand(names, variables(), told))
    return settled(choice, settings)


def _ready(
    found: ModelChoice | _Named | None,
    settings: Settings,
    build: Build,
    settle: Callable[[ModelChoice, Settings], ModelChoice],
) -> tuple[Model | None, ModelChoice | None]:
    """One that a conftest names and that is not to be had is no reason not to run: whoever asks it is told."""
    if found is None:
        return None, None
    if isinstance(found, ModelChoice):
        choice = settle(found, settings)
        return build(choice, settings), choice
    try:
        choice = settle(found.choice(), settings)
        return build(choice, settings), choice
    except InputError as error:
        reason = f"the conftest's {found.role} is not available: {error}; or {found.instead}"
        return AbsentModel(found.llm.name, reason), None
