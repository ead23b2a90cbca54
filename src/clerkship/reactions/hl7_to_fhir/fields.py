"""Read fields by repetition and component, unescaped; HL7's null reads as empty, and can be tested for."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import orjson

from clerkship.formats.hl7.data_types import NULL
from clerkship.formats.hl7.escape import DEFAULT_DELIMITERS, Delimiters, unescape
from clerkship.formats.hl7.message import Segment, get_part

_TABLES: dict[str, dict[str, Any]] = orjson.loads((Path(__file__).parent / "tables.json").read_bytes())


def code_table(number: str) -> Mapping[str, str]:
    """Return a table that gives one code, text or address for each code."""
    return _TABLES[number]


def term_table(number: str) -> Mapping[str, Sequence[str]]:
    """Return a table that gives a code and its display for each code."""
    return _TABLES[number]


class Repetition(NamedTuple):
    """One repetition of a field."""

    raw: str
    where: str
    """The name of the field for error messages: `PID-3`."""
    delimiters: Delimiters = DEFAULT_DELIMITERS

    def text(self, component: int = 1, subcomponent: int | None = None) -> str:
        """Return a component or subcomponent; empty if it is missing or HL7's null."""
        value = get_part(self.raw, self.delimiters.component, component)
        if subcomponent is not None:
            value = get_part(value, self.delimiters.subcomponent, subcomponent)
        return _decode(value, self.delimiters)

    @property
    def whole(self) -> str:
        """Return the whole repetition as one text."""
        return _decode(self.raw, self.delimiters)


def _decode(text: str, delimiters: Delimiters) -> str:
    return "" if text == NULL else unescape(text, delimiters).strip()


def read_repetitions(segment: Segment | None, field: int) -> list[Repetition]:
    """Return the repetitions of a field that are neither empty nor null."""
    if segment is None:
        return []
    where = f"{segment.name}-{field}"
    repetitions = [Repetition(raw, where, segment.delimiters) for raw in segment.repetitions(field)]
    return [
        repetition
        for repetition in repetitions
        if repetition.raw.strip(segment.delimiters.encoding.replace("\\", "") + " ") not in ("", NULL)
    ]


def read_repetition(segment: Segment | None, field: int) -> Repetition | None:
    """Return the first repetition of a field that is neither empty nor null."""
    return next(iter(read_repetitions(segment, field)), None)


def read_text(segment: Segment | None, field: int) -> str:
    """Return the first component of a field."""
    repetition = read_repetition(segment, field)
    return repetition.text() if repetition is not None else ""


def is_null(segment: Segment | None, field: int) -> bool:
    """Return whether a field is HL7's null."""
    return segment is not None and segment.raw(field) == NULL
