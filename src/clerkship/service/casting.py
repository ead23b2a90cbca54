"""Who is asked in a run: as was wanted, as the settings say, or as the folder's own conftest does."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from clerkship.actors.person_played import NO_PERSON
from clerkship.engine.build import build_model
from clerkship.engine.catalog import Registered
from clerkship.engine.models import ALONE, Models
from clerkship.llm.absent import AbsentModel
from clerkship.llm.contract import Model
from clerkship.model.conftest import Conftest, Llm
from clerkship.model.model_choice import ModelChoice
from clerkship.model.problem import InputError, Problem
from clerkship.model.run import Asking, BenchmarkRun
from clerkship.model.scenario import Person
from clerkship.model.snapshot import Snapshot
from clerkship.model.variables import UnknownVariable, expand
from clerkship.settings import Settings, variables

PROVIDERS = ("openai",)
_NO_JUDGE = "give --judge, or --no-judge to skip them"


class Needs(NamedTuple):
    """What some tasks cannot do without."""

    judge: bool = True
    person: bool = False


def needs_of(snapshots: Iterable[Snapshot], catalog: Registered) -> Needs:
    """Whether a model must be asked for some criterion, and whether for some person."""
    tasks = [snapshot.task for snapshot in snapshots]
    names = {criterion.assertion.name for task in tasks for criterion in task.criteria}
    people = [task.scenario.person for task in tasks if task.scenario is not None and task.scenario.person is not None]
    return Needs(
        judge=any(catalog.assertion(name).judged for name in names) or any(_checked(person) for person in people),
        person=any(person.needs_model for person in people),
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

    def kept(self) -> dict[str, Any]:
        """For the run's record."""
        return {"judge": self.judge, "person": self.person, "asking": self.models.asking}

    def missing(self, needs: Needs) -> tuple[Problem, ...]:
        """What is known beforehand of what will have no verdict, or cannot be played."""
        found: list[Problem] = []
        if needs.judge and not self.models.skips_judged:
            found += _missing(self.models.judge, "some criteria need a model to judge them", _NO_JUDGE)
        if needs.person:
            found += _missing(self.models.person, "some people must be played by a model", NO_PERSON)
        return tuple(found)


def _missing(model: Model | None, what: str, instead: str) -> list[Problem]:
    if isinstance(model, AbsentModel):
        return [Problem(message=model.reason)]
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
    asking = wanted.asking if kept is None else kept.asking
    needs = needs or Needs()
    evaluation = conftest.evaluation if conftest is not None else None
    simulation = conftest.simulation if conftest is not None else None
    judge = _chosen(
        wanted.judge, kept.judge if kept is not None else None, settings.judge, needed=needs.judge or _rates(asking)
    )
    if judge is None and (needs.judge or _rates(asking)) and evaluation is not None:
        judge = _Named(evaluation.llm, evaluation.max_concurrent_llm_calls, "judge", _NO_JUDGE)
    person = _chosen(wanted.person, kept.person if kept is not None else None, settings.person, needed=needs.person)
    if person is None and needs.person and simulation is not None:
        person = _Named(simulation.llm, simulation.max_concurrent_llm_calls, "person", NO_PERSON)
    judge_model, judge_kept = _ready(judge, settings)
    person_model, person_kept = _ready(person, settings)
    models = Models(judge_model, person_model, judge_kept is not None and judge_kept.skips, asking)
    return Cast(models, judge_kept, person_kept)


def _rates(asking: Asking) -> bool:
    return asking.metrics or asking.checks_person


class _Named(NamedTuple):
    """A model as a conftest has it."""

    llm: Llm
    at_once: int | None
    role: str
    instead: str

    def choice(self) -> ModelChoice:
        """As a run keeps it."""
        llm = self.llm
        if llm.provider not in PROVIDERS and llm.api_base is None:
            raise InputError.of(
                f"the provider `{llm.provider}` is not available yet",
                hint=f"there is {', '.join(PROVIDERS)}; with an `api_base` of that sort any will do",
            )

        def told(path: list[int | str], unknown: UnknownVariable) -> None:
            raise InputError.of(str(unknown), hint=unknown.hint)

        found = expand({"model": llm.model, "at": llm.api_base}, variables(), told)
        address = f"@{found['at']}" if found["at"] else ""
        return ModelChoice(
            who=f"openai:{found['model']}{address}",
            parameters=llm.parameters,
            timeout=llm.timeout,
            at_once=self.at_once,
            key_from=llm.key_from,
        )


def _chosen(wanted: str | None, kept: ModelChoice | None, setting: str, *, needed: bool) -> ModelChoice | _Named | None:
    if wanted is not None:
        return ModelChoice(who=wanted)
    if not needed:
        return None
    return kept or (ModelChoice(who=setting) if setting else None)


def _ready(found: ModelChoice | _Named | None, settings: Settings) -> tuple[Model | None, ModelChoice | None]:
    """One that a conftest names and that is not to be had is no reason not to run: whoever asks it is told."""
    if found is None:
        return None, None
    if isinstance(found, ModelChoice):
        return _built(found, settings)
    try:
        return _built(found.choice(), settings)
    except InputError as error:
        reason = f"the conftest's {found.role} is not available: {error}; or {found.instead}"
        return AbsentModel(found.llm.model, reason), None


def _built(choice: ModelChoice, settings: Settings) -> tuple[Model | None, ModelChoice]:
    model = build_model(choice, settings)
    if model is None:
        return None, choice
    about = {"who": model.name, "embeddings": choice.embeddings or settings.embeddings}
    return model, choice.model_copy(update=about)


def unused(conftest: Conftest | None) -> tuple[Problem, ...]:
    """What a conftest says and nobody heeds yet."""
    named = [key for key in conftest.prompts() if key[0] == "evaluation"] if conftest is not None else []
    return tuple(
        Problem(message=f"conftest: {block}.{key} is not used yet; the built-in prompt is") for block, key in named
    )
