"""The usage of models: requests, tokens and cost."""

import math
from collections.abc import Mapping
from typing import Annotated, Literal

from pydantic import Field, ValidationError

from clerkship.model.errors import InputError
from clerkship.model.frozen import Frozen, Number

Dollars = Annotated[Number, Field(ge=0, le=1_000_000)]

Role = Literal["agent", "judge", "metrics", "person", "person_check", "draft"]
"""The purpose of a request: work as the agent, judge a criterion, rate metrics, play the person, check how the person
was played, draft scenarios."""
RetryReason = Literal["invalid answer", "rate limit", "timeout", "server error"]
"""Why a request was sent again."""

MODEL_USAGE = "model_usage"
"""The fact of an agent, in the sidecar, with the usage of its model."""


class Usage(Frozen):
    """Numbers of requests and tokens, and the cost if it is known."""

    calls: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cost: Annotated[float | None, Field(description="dollars; null if a price is not known")] = 0.0
    retries: Annotated[dict[RetryReason, int], Field(description="requests that were sent again, by reason")] = {}

    def __add__(self, other: "Usage") -> "Usage":
        """Return the sum. Its cost is unknown if one of the costs is."""
        return Usage(
            calls=self.calls + other.calls,
            prompt_tokens=self.prompt_tokens + other.prompt_tokens,
            completion_tokens=self.completion_tokens + other.completion_tokens,
            cost=None if self.cost is None or other.cost is None else self.cost + other.cost,
            retries=_add_counts(self.retries, other.retries) if other.retries else self.retries,
        )

    def with_retries(self, retries: Mapping[RetryReason, int]) -> "Usage":
        """Return the usage with the requests that were sent again, instead of those before."""
        return self.model_copy(update={"retries": dict(sorted(retries.items()))})


def _add_counts(one: Mapping[RetryReason, int], other: Mapping[RetryReason, int]) -> dict[RetryReason, int]:
    return {reason: one.get(reason, 0) + other.get(reason, 0) for reason in sorted({*one, *other})}


def read_agent_usage(fact: object) -> Usage | None:
    """Return the usage that an agent reports when it is closed, as `model_usage`; None if it is not one.

    Its cost is not known, unless the agent reports it.
    """
    if not isinstance(fact, Mapping):
        return None
    given = {name: fact[name] for name in Usage.model_fields if name in fact}
    try:
        return Usage.model_validate({"cost": None, **given})
    except ValidationError:
        return None


NO_USAGE = Usage()


class ModelLimits(Frozen):
    """Limits of all model calls of an agent: of the run, and of each trial. 0 is no limit; None means not given."""

    max_cost: float | None = None
    max_calls: int | None = None
    max_total_tokens: int | None = None
    max_cost_per_trial: float | None = None
    max_calls_per_trial: int | None = None
    max_total_tokens_per_trial: int | None = None

    def with_others(self, others: object) -> "ModelLimits":
        """Return the limits with those of an object whose attributes have the same names. Raise InputError if wrong."""
        given = {name: getattr(others, name) for name in ModelLimits.model_fields}
        for name, limit in given.items():
            if limit is not None and not 0 <= limit < math.inf:
                raise InputError.of(f"invalid {name} {limit:g} (expected: a number of at least 0)")
        return self.model_copy(update={name: limit for name, limit in given.items() if limit is not None})

    @property
    def are_set(self) -> bool:
        """Whether there is a limit."""
        return any(limit for _, limit in self)


NO_LIMITS = ModelLimits()


class Prices(Frozen):
    """The prices of a model, in dollars per million tokens."""

    input: Dollars
    output: Dollars = 0.0
    cached_input: Annotated[Dollars | None, Field(description="for cached input; default: `input`")] = None

    def cost(self, prompt: int, completion: int, cached: int = 0) -> float:
        """Return the cost of some tokens in dollars. `cached` is the part of the prompt that was cached."""
        cached_price = self.input if self.cached_input is None else self.cached_input
        cached = min(cached, prompt)
        return ((prompt - cached) * self.input + cached * cached_price + completion * self.output) / 1_000_000
