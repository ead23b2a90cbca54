"""Who judges a run: as was asked for, as the settings say, or as the folder's own conftest does."""

from collections.abc import Iterable
from dataclasses import dataclass

from clerkship.engine.build import build_model
from clerkship.engine.catalog import Registered
from clerkship.engine.score import ALONE, Judging
from clerkship.llm.absent import AbsentModel
from clerkship.model.conftest import Conftest, Evaluation
from clerkship.model.judge import Judge
from clerkship.model.problem import InputError, Problem
from clerkship.model.snapshot import Snapshot
from clerkship.model.variables import UnknownVariable, expand
from clerkship.settings import Settings, variables

PROVIDERS = ("openai",)
_INSTEAD = "give --judge, or --no-judge to skip them"


@dataclass(frozen=True)
class Chosen:
    """A judge, ready to be asked, and as a run keeps it."""

    judging: Judging = ALONE
    judge: Judge | None = None


def needs_judge(snapshots: Iterable[Snapshot], catalog: Registered) -> bool:
    """Whether a model must be asked for some criterion."""
    names = {criterion.assertion.name for snapshot in snapshots for criterion in snapshot.task.criteria}
    return any(catalog.assertion(name).judged for name in names)


def unused(conftest: Conftest | None) -> tuple[Problem, ...]:
    """What a conftest says and nobody heeds yet."""
    named = [key for key in conftest.prompts() if key[0] == "evaluation"] if conftest is not None else []
    return tuple(
        Problem(message=f"conftest: {block}.{key} is not used yet; the built-in prompt is") for block, key in named
    )


def unjudged(judging: Judging, *, needed: bool) -> tuple[Problem, ...]:
    """What is known beforehand of criteria that will have no verdict."""
    if not needed or judging.skips:
        return ()
    if isinstance(judging.model, AbsentModel):
        return (Problem(message=judging.model.reason),)
    if judging.model is None:
        return (Problem(message="some criteria need a model to judge them, and none is configured", hint=_INSTEAD),)
    return ()


def choose(
    given: str | None,
    settings: Settings,
    *,
    kept: Judge | None = None,
    conftest: Conftest | None = None,
    needed: bool = True,
) -> Chosen:
    """What was asked for goes before what a run had, that before the settings, those before a conftest."""
    if given is not None:
        return _ready(Judge(who=given), settings)
    if not needed:
        return Chosen()
    if kept is not None or settings.judge:
        return _ready(kept or Judge(who=settings.judge), settings)
    if conftest is not None and conftest.evaluation is not None:
        return _by_conftest(conftest.evaluation, settings)
    return Chosen()


def _ready(judge: Judge, settings: Settings) -> Chosen:
    model = build_model(judge, settings)
    if model is None:
        return Chosen(Judging(skips=True), judge)
    about = {"who": model.name, "embeddings": judge.embeddings or settings.embeddings}
    return Chosen(Judging(model), judge.model_copy(update=about))


def _by_conftest(evaluation: Evaluation, settings: Settings) -> Chosen:
    """As the file says; one that is not to be had is no reason not to run, and whoever asks it is told."""
    try:
        return _ready(_judge_of(evaluation), settings)
    except InputError as error:
        reason = f"the conftest's judge is not available: {error}; or {_INSTEAD}"
        return Chosen(Judging(AbsentModel(evaluation.llm.model, reason)))


def _judge_of(evaluation: Evaluation) -> Judge:
    llm = evaluation.llm
    if llm.provider not in PROVIDERS and llm.api_base is None:
        raise InputError.of(
            f"the provider `{llm.provider}` is not available yet",
            hint=f"there is {', '.join(PROVIDERS)}; with an `api_base` of that sort any will do",
        )

    def told(path: list[int | str], unknown: UnknownVariable) -> None:
        raise InputError.of(str(unknown), hint=unknown.hint)

    found = expand({"model": llm.model, "at": llm.api_base}, variables(), told)
    address = f"@{found['at']}" if found["at"] else ""
    return Judge(
        who=f"openai:{found['model']}{address}",
        parameters=llm.parameters,
        timeout=llm.timeout,
        at_once=evaluation.max_concurrent_llm_calls,
        key_from=llm.key_from,
    )
