"""Read the fields of a segment: text, codes, and times with their precision."""

import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta, timezone
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import orjson

from clerkship.formats.hl7.data_types import NULL
from clerkship.formats.hl7.escape import DEFAULT_DELIMITERS, Delimiters, unescape
from clerkship.formats.hl7.message import Segment, get_part
from clerkship.reactions.hl7_to_fhir.filing import drop_empty
from clerkship.simulators.fhir.outcome import refusal

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
        value, delimiters = self.raw, self.delimiters
        if component > 1 or (delimiters.component and delimiters.component in value):
            value = get_part(value, delimiters.component, component)
        if subcomponent is not None and value:
            value = get_part(value, delimiters.subcomponent, subcomponent)
        return _decode(value, delimiters) if value else ""

    def texts(self, count: int) -> list[str]:
        """Return the first components, as `text` does."""
        mark = self.delimiters.component
        parts = [_decode(part, self.delimiters) for part in (self.raw.split(mark) if mark else [self.raw])[:count]]
        return parts + [""] * (count - len(parts))

    @property
    def whole(self) -> str:
        """Return the whole repetition as one text."""
        return _decode(self.raw, self.delimiters)


def _decode(text: str, delimiters: Delimiters) -> str:
    if text == NULL:
        return ""
    mark = delimiters.escape
    return (unescape(text, delimiters) if mark and mark in text else text).strip()


@cache
def _list_blanks(delimiters: Delimiters) -> str:
    """Return the characters of which an empty repetition may consist."""
    return delimiters.encoding.replace("\\", "") + " "


def read_repetitions(segment: Segment | None, field: int) -> list[Repetition]:
    """Return the repetitions of a field that are neither empty nor null."""
    if segment is None or not (parts := segment.repetitions(field)):
        return []
    where, delimiters = f"{segment.name}-{field}", segment.delimiters
    blanks = _list_blanks(delimiters)
    return [Repetition(part, where, delimiters) for part in parts if part.strip(blanks) not in ("", NULL)]


def read_repetition(segment: Segment | None, field: int) -> Repetition | None:
    """Return the first repetition of a field that is neither empty nor null."""
    repetitions = read_repetitions(segment, field)
    return repetitions[0] if repetitions else None


def read_text(segment: Segment | None, field: int) -> str:
    """Return the first component of a field."""
    repetition = read_repetition(segment, field)
    return repetition.text() if repetition is not None else ""


def is_null(segment: Segment | None, field: int) -> bool:
    """Return whether a field is HL7's null."""
    return segment is not None and segment.raw(field) == NULL


TERMINOLOGY = "http://terminology.hl7.org/CodeSystem/"
UCUM = "http://unitsofmeasure.org"
SYSTEMS = code_table("0396")
"""HL7 table 0396 and other names that occur, where FHIR has a uri. Local systems (`L`, `99ABC`) have none."""
_TABLE = re.compile(r"HL7(\d{4})")


def find_system(name: str) -> str:
    """Return the uri of a code system such as `LN`; empty if it has none."""
    normalized = name.strip().upper()
    table = _TABLE.fullmatch(normalized)
    if table is not None:
        return f"{TERMINOLOGY}v2-{table[1]}"
    system = SYSTEMS.get(normalized, "")
    return system or (name if name.startswith(("http://", "https://", "urn:")) else "")


def build_coding(code: str, display: str, system: str) -> dict[str, Any]:
    """Build a Coding."""
    return drop_empty({"system": system, "code": code, "display": display})


def to_concept(repetition: Repetition | None, system: str = "") -> dict[str, Any] | None:
    """Convert a CE, CWE or CNE with its alternate to a CodeableConcept; `system` is for a code that names no system."""
    if repetition is None:
        return None
    code, display, name, other_code, other_display, other_name, _, _, original = repetition.texts(9)
    codings = [
        build_coding(each, text, find_system(of) or (system if not of else ""))
        for each, text, of in ((code, display, name), (other_code, other_display, other_name))
        if each
    ]
    return drop_empty({"coding": codings, "text": original or display or other_display or code}) or None


def build_hl7_concept(table: str, code: str, display: str) -> dict[str, Any]:
    """Build a CodeableConcept with a Coding of one of HL7's own systems."""
    return drop_empty({"coding": [build_coding(code, display, f"{TERMINOLOGY}{table}")], "text": display})


def map_code(table: Mapping[str, str], repetition: Repetition | None, description: str) -> str | None:
    """Look a code up in a table; None for an empty field, refused if the table does not have the code."""
    code = repetition.text() if repetition is not None else ""
    if repetition is None or not code:
        return None
    mapped = table.get(code.upper())
    if mapped is None:
        raise refusal(
            422,
            "code-invalid",
            f"{repetition.where}: `{code[:40]}` is not a valid {description} (expected: {', '.join(table)})",
        )
    return mapped


_TIME = re.compile(
    r"(?P<year>\d{4})(?:(?P<month>\d\d)(?:(?P<day>\d\d)(?:(?P<hour>\d\d)(?:(?P<minute>\d\d)"
    r"(?:(?P<second>\d\d)(?P<fraction>\.\d{1,6})?)?)?)?)?)?(?P<zone>[+-]\d{4})?",
    re.ASCII,
)
_CLOCK = re.compile(r"(\d\d)(\d\d)(?:(\d\d)(\.\d{1,6})?)?(?:[+-]\d{4})?", re.ASCII)
TIME_FORMAT = "YYYYMMDD[HHMM[SS[.S]]][+/-ZZZZ]"


class MessageTime(NamedTuple):
    """A time of a message."""

    text: str
    """The time as a FHIR dateTime."""
    at: datetime
    """The first moment of the time."""
    is_exact: bool
    """Whether the time has hours and minutes."""

    @property
    def date(self) -> str:
        """Return the date, perhaps partial."""
        return self.text[:10]


def read_time(repetition: Repetition | None, zone: int, component: int = 1) -> MessageTime | None:
    """Read a DTM, TS or DT; None for an empty field, refused if it is not a time."""
    text = repetition.text(component, 1) if repetition is not None else ""
    if repetition is None or not text:
        return None
    match = _TIME.fullmatch(text)
    time = _build_time(match, zone) if match is not None else None
    if time is None:
        raise refusal(422, "value", f"{repetition.where}: `{text[:60]}` is not a time (expected: {TIME_FORMAT})")
    return time


def _build_time(match: "re.Match[str]", zone: int) -> MessageTime | None:
    year, month, day, hour, minute, second = (
        int(match[name] or 0) for name in ("year", "month", "day", "hour", "minute", "second")
    )
    offset = _parse_offset(match["zone"], zone)
    if offset is None or year < 1:
        return None
    try:
        at = datetime(year, month or 1, day or 1, hour, minute, second, tzinfo=timezone(offset))
        at.astimezone(UTC)
    except (ValueError, OverflowError):
        return None
    if not match["hour"]:
        return MessageTime("-".join(filter(None, (match["year"], match["month"], match["day"]))), at, False)
    fraction = match["fraction"] or ""
    text = at.isoformat()
    return MessageTime(f"{text[:19]}{fraction}{text[19:]}", at, True)


def _parse_offset(text: str | None, zone: int) -> timedelta | None:
    """R4: a zone is at most fourteen hours from UTC."""
    if text is None:
        return timedelta(minutes=zone)
    hours, minutes = int(text[1:3]), int(text[3:5])
    if hours > 14 or minutes > 59 or (hours == 14 and minutes):
        return None
    sign = -1 if text[0] == "-" else 1
    return sign * timedelta(hours=hours, minutes=minutes)


def parse_clock(repetition: Repetition) -> str:
    """Convert a TM to a FHIR time, which has no zone."""
    text = repetition.text()
    match = _CLOCK.fullmatch(text)
    if match is None or int(match[1]) > 23 or int(match[2]) > 59 or int(match[3] or 0) > 59:
        raise refusal(422, "value", f"{repetition.where}: `{text[:60]}` is not a time of day (expected: HHMM[SS[.S]])")
    return f"{match[1]}:{match[2]}:{match[3] or '00'}{match[4] or ''}"


def parse_instant(instant: str) -> datetime:
    """Parse a FHIR instant; a leap second is read as the second before it."""
    return datetime.fromisoformat(instant.replace(":60", ":59"))
