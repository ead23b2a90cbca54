"""Compare a value at a path of a message. An empty field counts as missing."""

from typing import Annotated, Any

from pydantic import AfterValidator

from clerkship.assertions.field_rows import compare_texts
from clerkship.formats.hl7.message import Hl7Message
from clerkship.formats.hl7.path import parse_path
from clerkship.model.frozen import Frozen
from clerkship.model.run import FieldCheck
from clerkship.model.scenario import Expected


def _check_path(path: str) -> str:
    parse_path(path)
    return path


PathText = Annotated[str, AfterValidator(_check_path)]
"""A path into a message, such as `PID.5.1` or `OBX[2].5`; an invalid one is an error with its line."""


class Hl7Field(Frozen):
    """A path into a message, and a literal or matcher for its value; `[*]` matches any of several values."""

    path: PathText
    expected: Expected

    def compare(self, message: Hl7Message, seq: int | None = None) -> FieldCheck:
        """Compare the value at the path."""
        return compare_path(message, self.path, self.expected, seq)


def compare_path(message: Hl7Message, path: str, expected: Any, seq: int | None = None) -> FieldCheck:
    """Compare the value at a path with what is expected."""
    return compare_texts(path, expected, values_at(message, path), seq)


def values_at(message: Hl7Message, path: str) -> list[str]:
    """Return the values at a path that are not empty."""
    return [value for value in message.values(path) if value]
