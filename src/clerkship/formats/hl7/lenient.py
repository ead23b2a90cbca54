"""Lenient validation: segment names, and the times and numbers that a receiver acts on."""

import re
from collections.abc import Iterator

from clerkship.formats.hl7.data_types import NULL, VALUE_FORMATS, ValueFormat, quote_value
from clerkship.formats.hl7.flaw import Flaw
from clerkship.formats.hl7.message import Hl7Message, Segment

ComponentFormats = tuple[tuple[int, ValueFormat], ...]
"""Components of a field by number, each with its format."""
_SEGMENT_NAME = re.compile(r"[A-Z][A-Z0-9]{2}|Z.*", re.ASCII | re.DOTALL)
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
    """Find lines that are not segments, and times and numbers that cannot be parsed."""
    counts: dict[str, int] = {}
    for place, segment in enumerate(message.segments, 1):
        name = segment.name
        counts[name] = sequence = counts.get(name, 0) + 1
        if _SEGMENT_NAME.fullmatch(name) is None:
            yield Flaw("100", f"{quote_value(name)} (segment {place}) is not a segment name", name[:3], sequence)
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
