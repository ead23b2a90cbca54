"""Paths into a message: `PID.5.1`, `OBX[2].5`, `PID.3[2].1`, `PID-5.1`."""

import re
from typing import NamedTuple

_PATH = re.compile(
    r"(?P<segment>[A-Z][A-Z0-9]{2})(?:\[(?P<occurrence>[1-9]\d{0,3}|\*)\])?"
    r"(?:[.-](?P<field>[1-9]\d{0,2})(?:\[(?P<repetition>[1-9]\d{0,3}|\*)\])?"
    r"(?:[.-](?P<component>[1-9]\d?)(?:[.-](?P<subcomponent>[1-9]\d?))?)?)?"
)
PATH_HELP = "write a path as PID.5.1, OBX[2].5 or PID.3[2].1: segment, field, component"


class BadMessagePath(ValueError):
    """The text is not a path into a message."""


class MessagePath(NamedTuple):
    """A location in a message. Numbers count from one, as in HL7; None means the whole, 0 means every one."""

    segment: str
    occurrence: int = 1
    field: int | None = None
    repetition: int = 1
    component: int | None = None
    subcomponent: int | None = None


def parse_path(text: str) -> MessagePath:
    """Parse a path; `[*]` selects every segment or every repetition."""
    match = _PATH.fullmatch(text.strip())
    if match is None:
        raise BadMessagePath(f"`{text[:60]}` is not a path into a message; {PATH_HELP}")
    return MessagePath(
        match["segment"],
        _parse_index(match["occurrence"]),
        int(match["field"]) if match["field"] else None,
        _parse_index(match["repetition"]),
        int(match["component"]) if match["component"] else None,
        int(match["subcomponent"]) if match["subcomponent"] else None,
    )


def _parse_index(text: str | None) -> int:
    return 1 if text is None else 0 if text == "*" else int(text)
