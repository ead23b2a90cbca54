"""Validation errors about parts of a field, each reported at its own line instead of the field's."""

from collections.abc import Iterable
from typing import Any

from pydantic import ValidationError
from pydantic_core import InitErrorDetails, PydanticCustomError

FieldPath = tuple[int | str, ...]


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
