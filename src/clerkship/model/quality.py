"""Ratings of a conversation by a model, which never change the verdict; and the number of votes of a judge."""

from statistics import fmean
from typing import Annotated, Literal

from pydantic import AfterValidator, Field, JsonValue

from clerkship.model.frozen import Frozen, Whole
from clerkship.model.run_options import MAX_VOTES

BUILT_IN_SCALES = ("helpfulness", "repair_quality", "coherence", "tone")
"""The built-in ratings from 1 to 5."""
TASK_COMPLETION = "task_completion"


def _check_odd(votes: int) -> int:
    if votes % 2 == 0:
        raise ValueError("expected an odd number of votes, so that there is always a majority")
    return votes


Votes = Annotated[Whole, Field(ge=1, le=MAX_VOTES), AfterValidator(_check_odd)]


def _check_metric_name(name: str) -> str:
    if not name[:1].isalpha() or not name.replace("_", "a").replace("-", "a").isalnum() or not name.isascii():
        raise ValueError("expected a letter, then letters, digits, `_` and `-`")
    return name


def check_not_blank(text: str) -> str:
    """Return the text. Raise ValueError if it is blank."""
    if not text.strip():
        raise ValueError("expected text that is not empty")
    return text


class Metric(Frozen):
    """A metric that an author defines."""

    name: Annotated[
        str,
        Field(max_length=60),
        AfterValidator(_check_metric_name),
        Field(description="name of the metric, such as brevity"),
    ]
    description: Annotated[
        str,
        AfterValidator(check_not_blank),
        Field(description="what is rated, and what makes a high or a low score"),
    ]
    scale: Annotated[Literal["1-5", "yes/no"], Field(description="`1-5` or `yes/no`")] = "1-5"


def _check_metric_names(metrics: tuple[Metric, ...]) -> tuple[Metric, ...]:
    names = [metric.name for metric in metrics]
    for name in names:
        if name in (*BUILT_IN_SCALES, TASK_COMPLETION):
            raise ValueError(f"`{name}` is a built-in metric: choose another name")
        if names.count(name) > 1:
            raise ValueError(f"two metrics are called `{name}`")
    return metrics


Metrics = Annotated[tuple[Metric, ...], AfterValidator(_check_metric_names)]


class MetricRating(Frozen):
    """The rating of one metric: a score from 1 to 5, or passed or not; with the reason."""

    score: int | None = None
    passed: bool | None = None
    reason: str = ""


class Quality(Frozen):
    """All ratings of one trial, or the reason why there are none."""

    ratings: dict[str, MetricRating] = {}
    summary: str = ""
    error: str = ""
    model: str = ""
    prompt: str = ""
    """Hash of the prompt."""
    parameters: dict[str, JsonValue] = {}
    """Parameters of the request, before variables are replaced."""

    @property
    def bot_quality(self) -> float | None:
        """The mean of the built-in scales that were rated; None if none was."""
        scores = [
            rating.score for name in BUILT_IN_SCALES if (rating := self.ratings.get(name)) and rating.score is not None
        ]
        return round(fmean(scores), 2) if scores else None
