"""A model as a run records it: enough to use the same model again, without its key."""

from typing import Final

from pydantic import JsonValue

from clerkship.model.frozen import Frozen
from clerkship.model.run_options import NO_MODEL
from clerkship.model.usage import Prices

DEFAULT_MODEL_TIMEOUT: Final = 120.0
"""Seconds for one answer of a model that sets no limit."""


class ModelChoice(Frozen):
    """A model, and the settings for its requests."""

    who: str
    """`openai:model@address`, `azure:deployment@address`, `anthropic:model`, `gemini:model`, another provider with an
    address, `scripted:file`, or `none`, which skips everything that needs a model."""
    embeddings: str = ""
    """The embedding model, as `model@address`; empty for the one in the settings."""
    parameters: dict[str, JsonValue] = {}
    """Parameters of each request. `${NAME}` in them is replaced only when a request is sent."""
    timeout: float | None = None
    """Seconds to wait for one answer; None for the setting."""
    max_tokens: int | None = None
    """Maximum number of tokens of one answer; None for what the parameters say, or the setting."""
    at_once: int | None = None
    """Maximum number of concurrent requests."""
    key_from: str = ""
    """The environment variable with the API key; empty for the provider's default."""
    api_version: str = ""
    """Version of the Azure API; empty for the API without versions."""
    prices: Prices | None = None
    """Prices of the model, if they are known."""

    @property
    def is_none(self) -> bool:
        """Whether no model is used."""
        return self.who == NO_MODEL
