"""The usage of models: requests, tokens and cost."""

from typing import Annotated, Literal

from pydantic import Field

from clerkship.model.frozen import Frozen, Number

Dollars = Annotated[Number, Field(ge=0, le=1_000_000)]

Role = Literal["judge", "metrics", "person", "person_check", "draft"]
"""The purpose of a request: judge a criterion, rate metrics, play the person, check how the person was played, draft
scenarios."""


class Usage(Frozen):
    """Numbers of requests and tokens, and the cost if it is known."""

    calls: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cost: Annotated[float | None, Field(description="dollars; null if a price is not known")] = 0.0

    def __add__(self, other: "Usage") -> "Usage":
        """Return the sum. Its cost is unknown if one of the costs is."""
        return Usage(
            calls=self.calls + other.calls,
            prompt_tokens=self.prompt_tokens + other.prompt_tokens,
            completion_tokens=self.completion_tokens + other.completion_tokens,
            cost=None if self.cost is None or other.cost is None else self.cost + other.cost,
        )


NO_USAGE = Usage()


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
