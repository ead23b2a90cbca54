"""Mistakes in parts of a model, each reported at its own line; models that are checked against the environment."""

from collections.abc import Collection, Iterable
from typing import Any, NamedTuple

from pydantic import ValidationError
from pydantic_core import InitErrorDetails, PydanticCustomError

from clerkship.model.frozen import Frozen

FieldPath = tuple[int | str, ...]


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


def build_located_error(mistakes: Iterable[tuple[FieldPath, str]]) -> ValidationError:
    """Return the error for a validator to raise, so that each mistake is reported at its own place."""
    details = [
        InitErrorDetails(type=PydanticCustomError("misplaced", "{text}", {"text": text}), loc=path, input=None)
        for path, text in mistakes
    ]
    return ValidationError.from_exception_data("misplaced", details)


def existing_part(data: Any, path: FieldPath) -> FieldPath:
    """Return the longest beginning of a path that exists in the data. A missing key is reported at its parent."""
    for depth, key in enumerate(path):
        is_key = isinstance(data, dict) and key in data
        if not is_key and not (isinstance(data, list) and isinstance(key, int) and key < len(data)):
            return path[:depth]
        data = data[key]
    return path
