"""The faults of the agent's model calls. The model proxy has their effects, in the form of each provider."""

from datetime import timedelta
from random import Random  # noqa: TID251  (the type alone; the generator is handed in)
from typing import Annotated, ClassVar, Literal

from pydantic import Field

from clerkship.model.duration import Duration
from clerkship.model.frozen import Whole
from clerkship.sandbox.faults.contract import ModelFault


class SlowModelFault(ModelFault):
    """The answer of a model takes longer.

    The delay is in simulated time, and over HTTP on a paced clock in real time too.
    """

    name: ClassVar[str] = "model.slow"
    by: Duration
    jitter: Annotated[
        Duration, Field(description="a random addition of at most this much, which depends on the seed")
    ] = timedelta(0)

    def choose_delay(self, rng: Random) -> timedelta:
        """Return how much longer an answer takes."""
        if not self.jitter:
            return self.by
        return self.by + timedelta(milliseconds=round(self.jitter / timedelta(milliseconds=1) * rng.random()))


class RateLimitedModelFault(ModelFault):
    """The provider answers 429 instead of the model, with Retry-After, in its own form of an error.

    Clients of providers wait and try again, in real time.
    """

    name: ClassVar[str] = "model.rate_limited"
    retry_after: Annotated[
        Duration, Field(description="when to retry: Retry-After in whole seconds, and `retry-after-ms`")
    ] = timedelta(seconds=1)


class ModelErrorFault(ModelFault):
    """The provider answers with an error instead of the model, in its own form: its servers fail or are overloaded."""

    name: ClassVar[str] = "model.error"
    status: Annotated[
        Literal[500, 502, 503, 504, 529] | None,
        Field(description="by default 500 of OpenAI, 529 of Anthropic, 503 of Gemini; only Anthropic has 529"),
    ] = None


class TruncatedAnswerFault(ModelFault):
    """The answer ends at the limit of tokens: its last text, or the arguments of its last tool call, are cut.

    It says so as the provider does: `length`, `incomplete`, `max_tokens` or `MAX_TOKENS`. The model has answered, and a
    recording has the whole answer. A streamed answer arrives at once.
    """

    name: ClassVar[str] = "model.truncated"
    affects_embeddings: ClassVar[bool] = False
    keep: Annotated[
        Whole | None, Field(ge=0, description="characters that are left of the last text; half of it if not given")
    ] = None


class RefusingModelFault(ModelFault):
    """The model refuses, in the form of its provider. It is not asked.

    OpenAI: a `refusal`; Anthropic: the stop reason `refusal`; Gemini: the finish reason `SAFETY`.
    """

    name: ClassVar[str] = "model.refuses"
    affects_embeddings: ClassVar[bool] = False
    text: Annotated[str, Field(description="what it says; only OpenAI's API has a text for it")] = (
        "I'm sorry, but I can't help with that."
    )
