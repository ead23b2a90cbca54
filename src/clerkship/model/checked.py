"""Models whose mistakes depend on the environment, such as a phone tree that asks a payer."""

from collections.abc import Collection, Iterable
from typing import NamedTuple

from clerkship.model.frozen import Frozen


class FoundMistake(NamedTuple):
    """A mistake in a model that was read from a file."""

    path: tuple[int | str, ...]
    """Where it is in the model."""
    message: str
    hint: str = ""


class CheckedModel(Frozen):
    """A config or step that is checked against the environment when files are loaded."""

    def find_mistakes(self, domains: Collection[str]) -> Iterable[FoundMistake]:
        """Return the mistakes, each with its place; `domains` are the kinds of the environment's domains."""
        return ()
