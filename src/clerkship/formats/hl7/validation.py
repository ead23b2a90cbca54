"""Validation against the standard: version, message type and trigger event, order of segments, fields."""

import re
from collections.abc import Iterator
from functools import lru_cache
from itertools import islice
from typing import Literal, NamedTuple

from clerkship.formats.hl7.batch import split_messages
from clerkship.formats.hl7.charset import find_codec
from clerkship.formats.hl7.data_types import (
    NULL,
    VALUE_FORMATS,
    DataType,
    ValueFormat,
    find_data_type,
    find_mismatches,
    matches_type,
    quote_value,
)
from clerkship.formats.hl7.escape import Delimiters
from clerkship.formats.hl7.message import BadMessage, Flaw, Hl7Message, Segment, parse_message
from clerkship.formats.hl7.structure import find_structure
from clerkship.formats.hl7.tables import DEFAULT_VERSION, VERSIONS, VersionTables, load_tables, resolve_version

ComponentFormats = tuple[tuple[int, ValueFormat], ...]
"""Components of a field by number, each with its format."""
_NUMBER_WITH_COMPARATOR = re.compile(r" *(?:<=|>=|<|>)? *[+-]?(?:\d+(?:\.\d*)?|\.\d+) *", re.ASCII)
_NUMBER = ValueFormat(_NUMBER_WITH_COMPARATOR.fullmatch, "a number")
"""Laboratories also send `<5` as NM, although the standard provides SN for it."""


_TIME = VALUE_FORMATS["DTM"]
CHECKED_TIMES: dict[str, dict[int, ComponentFormats]] = {
    "PID": {7: ((1, _TIME),)},
    "OBR": {7: ((1, _TIME),)},
    "OBX": {14: ((1, _TIME),)},
    "SCH": {11: ((4, _TIME), (5, _TIME))},
}
"""Times that receivers act on: birth, observation, start and end of an appointment."""
_CHECKED_OBSERVATIONS: dict[str, ComponentFormats] = {
    "NM": ((1, _NUMBER),),
    "SN": ((2, _NUMBER), (4, _NUMBER)),
    "DT": ((1, VALUE_FORMATS["DT"]),),
    "TM": ((1, VALUE_FORMATS["TM"]),),
    "DTM": ((1, _TIME),),
    "TS": ((1, _TIME),),
}
"""Formats of OBX-5 by the data type in OBX-2."""


def find_unreadable(message: Hl7Message) -> Iterator[Flaw]:
    """Find times and numbers that cannot be parsed."""
    counts: dict[str, int] = {}
    for segment in message.segments:
        name = segment.name
        counts[name] = sequence = counts.get(name, 0) + 1
        for field, formats in CHECKED_TIMES.get(name, {}).items():
            yield from _find_unreadable_values(segment, sequence, field, formats)
        if name == "OBX":
            yield from _find_unreadable_values(segment, sequence, 5, _CHECKED_OBSERVATIONS.get(segment.text(2), ()))


def _find_unreadable_values(segment: Segment, sequence: int, field: int, formats: ComponentFormats) -> Iterator[Flaw]:
    if not formats or not segment.raw(field):
        return
    for repetition in range(1, len(segment.repetitions(field)) + 1):
        for component, form in formats:
            value = segment.text(field, component, 1, at=repetition).strip(" ")
            if value and value != NULL and not form.matches(value):
                text = f"{segment.name}-{field}: {quote_value(value)} is not {form.description}"
                yield Flaw("102", text, segment.name, sequence, field, repetition, component)


__all__ = ["MAX_FLAWS", "Flaw", "ValidationLevel", "validate_file", "validate_message"]

ValidationLevel = Literal["strict", "lenient"]
"""`strict`: the whole standard; `lenient`: only what real-world feeds comply with."""
MAX_FLAWS = 20
"""Limit on reported flaws of one message."""
_OBSERVATION_TYPES = """
AD CE CF CK CN CNE CP CWE CX DR DT DTM ED EI FT HD ID IS MA MO NA NM NR PL PN PPN RI RP SI SN ST TM TN TS TX XAD XCN XON
XPN XTN
"""
_VALUE_TYPES = frozenset(_OBSERVATION_TYPES.split())
"""Table 0125 of all versions, and other types used in practice."""
_DELIMITER_FIELDS = 2
"""MSH-1 and MSH-2 contain the delimiters."""


class FieldRule(NamedTuple):
    """The checks for a field that is present."""

    repeats: bool
    data_type: DataType | None


class SegmentRules(NamedTuple):
    """The checks for a segment."""

    required: tuple[int, ...]
    fields: tuple[tuple[int, FieldRule], ...]
    """In order; fields without checks are left out."""


def validate_message(message: Hl7Message, level: ValidationLevel = "strict") -> list[Flaw]:
    """Return the flaws of a message in order, at most `MAX_FLAWS`; an empty list if it is valid.

    On the level `lenient`, only flaws that no receiver could work with; `list_findings` returns the others.
    """
    flaws = _find_flaws(message) if level == "strict" else _find_refused(message)
    return list(islice(flaws, MAX_FLAWS))


def list_findings(message: Hl7Message) -> list[Flaw]:
    """Return the flaws of a message on the level `strict`. One without a version is checked as `DEFAULT_VERSION`."""
    return list(islice(_find_flaws(message, DEFAULT_VERSION), MAX_FLAWS))


def validate_file(data: bytes | str, level: ValidationLevel = "strict") -> list[Flaw]:
    """Return the flaws of a file with one or more messages: those around the messages, then those of each message."""
    return list(islice(_find_file_flaws(data, level), MAX_FLAWS))


def _find_file_flaws(data: bytes | str, level: ValidationLevel) -> Iterator[Flaw]:
    batch = split_messages(data)
    if level == "strict" or not batch.messages:
        yield from batch.flaws
    if not batch.messages and not batch.flaws:
        yield Flaw("100", "there is no message: no segment is MSH")
    for number, text in enumerate(batch.messages, 1):
        which = f"message {number}: " if len(batch.messages) > 1 else ""
        try:
            flaws = validate_message(parse_message(text), level)
        except BadMessage as bad:
            flaws = [Flaw("102", str(bad), "MSH", 1, 2)]
        yield from (flaw._replace(text=which + flaw.text) for flaw in flaws)


def _find_refused(message: Hl7Message) -> Iterator[Flaw]:
    """Find what the level `lenient` refuses."""
    version = resolve_version(message.version or DEFAULT_VERSION)
    if version is None:
        yield _version_flaw(message.version)
        return
    structure, type_flaw = _find_structure_name(message, load_tables(version))
    if type_flaw is not None and structure is None:
        yield type_flaw
    yield from find_unreadable(message)


def _find_flaws(message: Hl7Message, default_version: str = "") -> Iterator[Flaw]:
    header = message.header
    version = resolve_version(message.version or default_version)
    if version is None:
        yield _version_flaw(message.version)
        return
    structure, type_flaw = _find_structure_name(message, load_tables(version))
    if type_flaw is not None:
        yield type_flaw
    if structure is not None and not header.fields[9].isupper():
        yield from _case_flaws(header)
    yield from _processing_flaws(header)
    if structure is None:
        yield from _field_flaws(header, 1, version)
        return
    names = [segment.name for segment in message.segments]
    for misplaced in find_structure(version, structure).find_deviations(names, MAX_FLAWS):
        count = names[: misplaced.at + 1].count(misplaced.name)
        yield Flaw("100", misplaced.text, misplaced.name[:3], max(1, count))
    if header.raw(18):
        yield from _charset_flaws(header)
    yield from _segment_flaws(message, version)


def _processing_flaws(head: Segment) -> Iterator[Flaw]:
    """Check the processing id against table 0103: production, debugging, training."""
    stated = head.text(11, 1)
    if stated and stated not in ("P", "D", "T"):
        yield Flaw("202", f"MSH-11: {quote_value(stated)} is not valid (expected: P, D or T)", "MSH", 1, 11, 1, 1)


def _case_flaws(head: Segment) -> Iterator[Flaw]:
    for component, code in ((1, "200"), (2, "201")):
        stated = head.text(9, component)
        if stated != stated.upper():
            text = f"MSH-9.{component}: {quote_value(stated)} is not in upper case (expected: {stated.upper()})"
            yield Flaw(code, text, "MSH", 1, 9, 1, component)


def _version_flaw(stated: str) -> Flaw:
    if not stated:
        return Flaw("101", "MSH-12 (HL7 version) is missing", "MSH", 1, 12)
    text = f"version {quote_value(stated)} is unknown (expected: {', '.join(VERSIONS)})"
    return Flaw("203", text, "MSH", 1, 12, 1, 1)


def _find_structure_name(message: Hl7Message, table: VersionTables) -> tuple[str | None, Flaw | None]:
    """Return the structure for the message type and trigger event, and the flaw in how they are stated."""
    message_type, event = message.type, message.trigger
    version, events = table["version"], table["events"]
    if not message_type:
        return None, Flaw("101", "MSH-9 (message type) is missing", "MSH", 1, 9)
    if message_type not in events:
        others = ", ".join(events)
        text = f"message type {quote_value(message_type)} is unknown in version {version} (expected: {others})"
        return None, Flaw("200", text, "MSH", 1, 9, 1, 1)
    if message_type == "ACK":
        return "ACK", None
    structure = events[message_type].get(event)
    if structure is None:
        text = f"trigger event {quote_value(event)} of {message_type} is unknown in version {version}"
        if not event:
            text = f"MSH-9.2 (trigger event of {message_type}) is missing"
        return None, Flaw("201", text, "MSH", 1, 9, 1, 2)
    return structure, _structure_flaw(message, structure)


def _structure_flaw(message: Hl7Message, structure: str) -> Flaw | None:
    stated = message.header.text(9, 3)
    if stated in ("", structure, f"{message.type}_{message.trigger}"):
        return None
    text = f"MSH-9.3 says {quote_value(stated)}; {message.type}^{message.trigger} has the structure {structure}"
    return Flaw("103", text, "MSH", 1, 9, 1, 3)


def _charset_flaws(head: Segment) -> Iterator[Flaw]:
    for repetition, name in enumerate(head.texts(18), 1):
        if name and find_codec(name) is None:
            text = f"MSH-18: the charset {quote_value(name)} is unknown (expected: a name of table 0211)"
            yield Flaw("103", text, "MSH", 1, 18, repetition)


def _segment_flaws(message: Hl7Message, version: str) -> Iterator[Flaw]:
    counts: dict[str, int] = {}
    for segment in message.segments:
        name = segment.name
        if name[:1] != "Z":
            counts[name] = number = counts.get(name, 0) + 1
            yield from _field_flaws(segment, number, version)


def _field_flaws(segment: Segment, sequence: int, version: str) -> Iterator[Flaw]:
    rules = find_segment_rules(version, segment.name)
    if rules is None:
        return
    fields, delimiters = segment.fields, segment.delimiters
    count = len(fields)
    for number in rules.required:
        if number >= count or (not fields[number][:1].isalnum() and _is_empty(fields[number], delimiters)):
            text = f"{segment.name}-{number} is missing: it is required in version {version}"
            yield Flaw("101", text, segment.name, sequence, number)
    separator = delimiters.repetition
    for number, rule in rules.fields:
        if number >= count:
            break
        value = fields[number]
        if value and (
            (separator and separator in value)
            or (rule.data_type is not None and not matches_type(value, rule.data_type, delimiters))
        ):
            yield from _value_flaws(segment, sequence, number, rule)
    if segment.name == "OBX":
        yield from _observation_flaws(segment, sequence, version)


def _is_empty(raw: str, delimiters: Delimiters) -> bool:
    return not raw[:1].isalnum() and not raw.strip(
        f"{delimiters.repetition}{delimiters.component}{delimiters.subcomponent}"
    )


def _value_flaws(segment: Segment, sequence: int, number: int, rule: FieldRule) -> Iterator[Flaw]:
    raw, delimiters = segment.fields[number], segment.delimiters
    repetitions = [raw]
    if delimiters.repetition and delimiters.repetition in raw:
        repetitions = raw.split(delimiters.repetition)
        if not rule.repeats:
            text = f"{segment.name}-{number} may not repeat, but its repetitions are {len(repetitions)}"
            yield Flaw("102", text, segment.name, sequence, number, 2)
    if rule.data_type is None:
        return
    for repetition, value in enumerate(repetitions, 1):
        if value:
            for component, text, code in find_mismatches(
                value, rule.data_type, delimiters.component, delimiters.subcomponent
            ):
                if _is_empty(value, delimiters):
                    break
                place = f"{segment.name}-{number}" if component is None else f"{segment.name}-{number}.{component}"
                yield Flaw(code, f"{place}: {text}", segment.name, sequence, number, repetition, component)


def _observation_flaws(segment: Segment, sequence: int, version: str) -> Iterator[Flaw]:
    """Check that OBX-5 is of the type that OBX-2 names (§7.4.2.2)."""
    value, stated = segment.raw(5), segment.raw(2)
    stated = stated if stated in _VALUE_TYPES else segment.text(2)
    if not stated:
        if value and not _is_empty(value, segment.delimiters) and segment.text(11) != "X":
            yield Flaw("101", "OBX-2 is missing: it is required with OBX-5", "OBX", sequence, 2)
        return
    if stated not in _VALUE_TYPES and stated not in load_tables(version)["types"]:
        yield Flaw("103", f"OBX-2: there is no data type {quote_value(stated)}", "OBX", sequence, 2)
    elif value:
        data_type = find_data_type(version, stated)
        if data_type is not None and (
            _repeats(value, segment) or not matches_type(value, data_type, segment.delimiters)
        ):
            yield from _value_flaws(segment, sequence, 5, FieldRule(True, data_type))


def _repeats(value: str, segment: Segment) -> bool:
    separator = segment.delimiters.repetition
    return bool(separator) and separator in value


def find_segment_rules(version: str, name: str) -> SegmentRules | None:
    """Return the checks for a segment in a version; None if the segment is unknown."""
    return _build_segment_rules(version, name) if name in load_tables(version)["segments"] else None


@lru_cache(maxsize=1000)
def _build_segment_rules(version: str, name: str) -> SegmentRules:
    listed = load_tables(version)["segments"][name]
    start = _DELIMITER_FIELDS + 1 if name == "MSH" else 1
    required = tuple(number for number, data_type in enumerate(listed, 1) if "!" in data_type and number >= start)
    rules = (
        (number, _build_field_rule(version, data_type)) for number, data_type in enumerate(listed, 1) if number >= start
    )
    return SegmentRules(required, tuple((number, rule) for number, rule in rules if rule is not None))


def _build_field_rule(version: str, listed: str) -> FieldRule | None:
    many, data_type = "*" in listed, find_data_type(version, listed.rstrip("!*"))
    return None if not listed or (many and data_type is None) else FieldRule(many, data_type)
