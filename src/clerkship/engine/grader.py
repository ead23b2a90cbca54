"""Grade a trial, in the same way right after it has ended and later from its stored log."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated, Any, NamedTuple

from pydantic import AfterValidator, BaseModel, BeforeValidator, Field, model_validator

from clerkship.assertions.agent_acted import find_first_action
from clerkship.assertions.judge_input import add_caution, build_judge_input, has_activity
from clerkship.engine.build import BuiltTask
from clerkship.engine.models import ModelSelection
from clerkship.engine.score import (
    Score,
    check_criteria,
    compute_score,
    implied_checks,
    is_crash,
    remove_partial_scores,
    status_of,
)
from clerkship.events.agent import MODEL_FAULTS, Noted
from clerkship.events.event import Event
from clerkship.events.evidence import Evidence
from clerkship.events.sidecar import Sidecar
from clerkship.kit.text import replace_surrogates
from clerkship.llm.contract import BadAnswer, NoModel, Question
from clerkship.llm.trial_model import TrialModel, UsageCounter
from clerkship.model.errors import ClerkshipError
from clerkship.model.frozen import Flag
from clerkship.model.quality import MetricRating, Quality
from clerkship.model.redaction import build_redactor, redact_quality
from clerkship.model.run import CriterionRun, Ending
from clerkship.model.usage import Role

MAX_METRICS = 200
"""How many metrics one answer may have."""
MAX_NAME_LENGTH = 200


def _to_metric_list(value: Any) -> Any:
    """Convert a map from names to ratings into a list; some models and some prompts produce maps."""
    if isinstance(value, dict):
        return [{**rating, "name": name} if isinstance(rating, dict) else rating for name, rating in value.items()]
    return [] if value is None else value


def _parse_score(value: Any) -> Any:
    """Parse a whole number in any notation, but not a boolean."""
    if isinstance(value, bool):
        raise ValueError("expected a whole number from 1 to 5")
    if isinstance(value, str):
        value = value.strip()
        return float(value) if value.replace(".", "", 1).isdecimal() else value
    return value


def _check_name(text: str) -> str:
    text = " ".join(text.split())
    if not text:
        raise ValueError("expected the name of a metric, got an empty text")
    return text[:MAX_NAME_LENGTH]


Name = Annotated[str, AfterValidator(_check_name), Field(description="which metric")]


# The names of nested models and all docstrings are part of the schema that cassettes are keyed by. Do not change them.
class Scaled(BaseModel):
    """A metric from 1 to 5."""

    name: Name
    reasoning: Annotated[str, Field(description="why, in a sentence")] = ""
    score: Annotated[int, BeforeValidator(_parse_score), Field(ge=1, le=5, description="from 1 to 5")]


class Decided(BaseModel):
    """A metric that is yes or no."""

    name: Name
    reasoning: Annotated[str, Field(description="why, in a sentence")] = ""
    passed: Annotated[Flag, Field(description="yes or no")]


class RatingsAnswer(BaseModel):
    """What the judge answers. Metrics that were not requested are kept too: a prompt may name its own."""

    scale_metrics: Annotated[list[Scaled], BeforeValidator(_to_metric_list)] = []
    binary_metrics: Annotated[list[Decided], BeforeValidator(_to_metric_list)] = []
    summary: Annotated[str, Field(description="the conversation in one or two sentences")] = ""

    @model_validator(mode="after")
    def _check_names(self) -> "RatingsAnswer":
        names = [each.name for each in self.scale_metrics] + [each.name for each in self.binary_metrics]
        if not names:
            raise ValueError("expected at least one metric")
        if len(names) > MAX_METRICS:
            raise ValueError(f"expected {MAX_METRICS} metrics at most")
        duplicate = next((name for name in names if names.count(name) > 1), None)
        if duplicate is not None:
            raise ValueError(f"the metric {duplicate[:60]} occurs twice")
        return self

    def by_name(self) -> dict[str, MetricRating]:
        scaled = {each.name: MetricRating(score=each.score, reason=each.reasoning) for each in self.scale_metrics}
        decided = {each.name: MetricRating(passed=each.passed, reason=each.reasoning) for each in self.binary_metrics}
        return scaled | decided


def rate_conversation(evidence: Evidence, model: TrialModel | None, variables: Mapping[str, str]) -> Quality | None:
    """Rate a conversation by every metric, and redact what the model says.

    Returns None if the agent took no part, or if there is no model.
    """
    quality = _ask_ratings(evidence, model)
    return redact_quality(quality, build_redactor(variables)) if quality is not None and variables else quality


def _ask_ratings(evidence: Evidence, model: TrialModel | None) -> Quality | None:
    if model is None or not evidence.cached(has_activity):
        return None
    prompt = evidence.prompts["metrics"]
    fields: dict[str, Any] = {"model": model.name, "prompt": prompt.version, "parameters": dict(evidence.parameters)}
    metrics = [metric.model_dump() for metric in evidence.task.metrics]
    try:
        filled = add_caution(prompt.fill(metrics=metrics, **evidence.cached(build_judge_input)))
        answer = model.ask(Question(filled.content, RatingsAnswer, filled.instructions, prompt.name))
    except (NoModel, BadAnswer, ClerkshipError) as failed:
        return Quality(error=str(failed), **fields)
    except Exception as error:  # ratings do not affect the verdict, so neither does a failure to rate
        return Quality(error=replace_surrogates(f"{type(error).__name__}: {error}"), **fields)
    return Quality(ratings=answer.data.by_name(), summary=answer.data.summary, **fields | {"model": answer.model})


class Grade(NamedTuple):
    """The checked criteria of a trial, its score and its metrics. Empty for a trial without a verdict."""

    criteria: tuple[CriterionRun, ...] = ()
    score: Score = Score(None, None, {})
    quality: Quality | None = None
    notes: tuple[str, ...] = ()


def describe_model_faults(notes: Iterable[Event]) -> tuple[str, ...]:
    """Return what went wrong with the agent's model, each once."""
    texts = (MODEL_FAULTS.get(event.payload.what) for event in notes if isinstance(event.payload, Noted))
    return tuple(dict.fromkeys(filter(None, texts)))


class Grader:
    """Grades one trial with the models of its run."""

    def __init__(self, built: BuiltTask, models: ModelSelection, trial: int) -> None:
        self._built, self._models, self._trial = built, models, trial
        self.usage = UsageCounter()

    def model_for(self, role: Role) -> TrialModel | None:
        """Return the model for a role; None if the run has no such model."""
        return self._models.model_for(role, self._built.snapshot, self._trial, self.usage)

    def evidence(
        self,
        events: Sequence[Event],
        states: Mapping[str, object],
        ending: Ending,
        answers: Sequence[Any],
        sidecar: Sidecar,
    ) -> Evidence:
        """Build the evidence for the criteria.

        `answers` is empty if the agent gave no answer. It is a sequence because None is a valid answer. The
        durations and costs of calls are from the sidecar.
        """
        built, models = self._built, self._models
        return Evidence(
            task=built.task,
            events=events,
            states=states,
            ending=ending,
            answer=answers[-1] if answers else None,
            answered=bool(answers),
            entities=built.snapshot.entities,
            model=self.model_for("judge"),
            prompts=models.prompts,
            parameters=models.parameters,
            votes=models.asking.votes,
            observers=built.observers,
            call_times=sidecar.call_times,
            model_calls=sidecar.model_calls,
            spans=sidecar.spans,
            activity_targets=built.activity_targets,
        )

    def grade(self, evidence: Evidence) -> Grade:
        """Check every criterion, whatever the ending, and rate the conversation by metrics if the run asks for it."""
        built, models, status = self._built, self._models, status_of(evidence.ending)
        checks = (*built.checks, *implied_checks(evidence, built.monitors))
        criteria = check_criteria(checks, evidence, skip_judged=models.skips_judged, variables=built.variables)
        if evidence.cached(find_first_action) is None:
            criteria = remove_partial_scores(criteria)
        is_rated = models.rates_task(built.task) and status == "completed"
        quality = rate_conversation(evidence, self.model_for("metrics"), built.variables) if is_rated else None
        noted = evidence.of_kind(Noted.kind)
        notes = describe_model_faults(noted) if noted else ()
        return Grade(criteria, compute_score(criteria, status, crashed=is_crash(evidence.ending)), quality, notes)
