"""A mistake inside a field, told where it stands in the file, not where the field begins."""

from collections.abc import Iterable
from typing import Any

from pydantic import ValidationError
from pydantic_core import InitErrorDetails, PydanticCustomError

FieldPath = tuple[int | str, ...]


def build_located_error(mistakes: Iterable[tuple[FieldPath, str]]) -> ValidationError:
    """What a validator raises so that each mistake keeps its own line."""
    details = [
        InitErrorDetails(type=PydanticCustomError("misplaced", "{text}", {"text": text}), loc=place, input=None)
        for place, text in mistakes
    ]
    return ValidationError.from_exception_data("misplaced", details)


def existing_part(data: Any, place: FieldPath) -> FieldPath:
    """As much of a place as there is in some data: what is missing is told where it is missing from."""
    for depth, step in enumerate(place):
        there = isinstance(data, dict) and step in data
        if not there and not (isinstance(data, list) and isinstance(step, int) and step < len(data)):
            return place[:depth]
        data = data[step]
    return place
