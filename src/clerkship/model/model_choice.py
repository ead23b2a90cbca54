"""A model as a run records it: enough to use the same model again, without its key."""

from typing import Final

from pydantic import JsonValue

from clerkship.model.frozen import Frozen
from clerkship.model.usage import Prices

NO_MODEL: Final = "none"


class ModelChoice(Frozen):
    """A model, and the settings for its requests."""

    who: str
    """`openai:model@address`, `azure:deployment@address`, `anthropic:model`, any other sort with an address,
    `scripted:file`, or `none`: what needs a model is skipped."""
    embeddings: str = ""
    """The model that makes vectors of texts, as `model@address`; the settings' if not given."""
    parameters: dict[str, JsonValue] = {}
    """What goes into each request as it is; `${NAME}` is put in only then."""
    timeout: float | None = None
    """Seconds for one answer."""
    at_once: int | None = None
    """Questions under way at one time."""
    key_from: str = ""
    """The environment variable with its key, where that is not the usual one."""
    api_version: str = ""
    """Of Azure's interface, where it is not the newer one without."""
    prices: Prices | None = None
    """What it takes, where that is known."""

    @property
    def skips(self) -> bool:
        """Whether no model is used."""
        return self.who == NO_MODEL
