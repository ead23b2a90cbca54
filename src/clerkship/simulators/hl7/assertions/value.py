"""What is expected at a path of a message. An empty field is not there."""

from typing import Annotated, Any

from pydantic import AfterValidator

from clerkship.assertions.field_rows import compare_texts
from clerkship.hl7.message import Hl7Message
from clerkship.hl7.path import parse_path
from clerkship.model.frozen import Frozen
from clerkship.model.run import FieldCheck
from clerkship.model.scenario import Expected


def _checked(path: str) -> str:
    parse_path(path)
    return path


PathText = Annotated[str, AfterValidator(_checked)]
"""A path into a message, such as `PID.5.1` or `OBX[2].5`; a wrong one is the author's mistake, told at its line."""


class Hl7Field(Frozen):
    """A path into a message, and a literal or a matcher for what is there; `[*]` is any of several."""

    path: PathText
    expected: Expected

    def compare(self, message: Hl7Message, seq: int | None = None) -> FieldCheck:
        """What is there beside it."""
        return compare(message, self.path, self.expected, seq)


def compare(message: Hl7Message, path: str, expected: Any, seq: int | None = None) -> FieldCheck:
    """One expectation beside what is there."""
    return compare_texts(path, expected, values_at(message, path), seq)


def values_at(message: Hl7Message, path: str) -> list[str]:
    """What is at a path; what is empty is not there."""
    return [value for value in message.values(path) if value]
