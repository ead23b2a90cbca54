"""Writing: transaction sets, and the envelopes around them."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal

from clerkship.formats.x12.charset import X12Charset, clean_value, unusable_pattern
from clerkship.formats.x12.envelope_checks import FUNCTIONAL_CODES, is_set_number
from clerkship.formats.x12.header import SUPPORTED_CONTROL_VERSION
from clerkship.formats.x12.problems import show_value
from clerkship.formats.x12.segment import DEFAULT_X12_DELIMITERS, X12Delimiters, X12Segment
from clerkship.formats.x12.transaction_set import TransactionSet

X12Component = str | int | None
X12Composite = tuple[X12Component, ...]
X12Element = X12Component | X12Composite | list[X12Component | X12Composite]
"""A value; a tuple for the components of a composite; a list for repetitions."""
MAX_CONTROL_NUMBER = 999_999_999
MAX_PARTY_LENGTH = 15
"""ISA06, ISA08, GS02 and GS03 have at most 15 characters."""


_SEGMENT_ID = re.compile(r"[A-Z][A-Z0-9]{1,2}")
_ENVELOPE_IDS = frozenset({"ISA", "TA1", "GS", "ST", "SE", "GE", "IEA"})


class SetWriter:
    """Collects the segments of one transaction set, and writes ST and SE around them.

    Values are cleaned by `clean_value`: a separator or a character outside the character set becomes a space.
    """

    def __init__(
        self,
        code: str,
        control_number: str = "0001",
        version: str = "",
        *,
        delimiters: X12Delimiters = DEFAULT_X12_DELIMITERS,
        charset: X12Charset = "extended",
    ) -> None:
        if not is_set_number(control_number):
            raise ValueError(f"the control number is {show_value(control_number)} (expected: 4 to 9 letters or digits)")
        self.delimiters = delimiters
        self.charset = charset
        self._control_number = control_number
        self._segments: list[list[str]] = []
        self._levels: dict[int, list[str]] = {}
        """HL01 -> the elements of the HL segment that states whether it has children."""
        self._level_count = 0
        self._segments.append(encode_segment("ST", (code, control_number, version), delimiters, charset))

    def add(self, id: str, *elements: X12Element) -> None:
        """Add a segment. Trailing empty elements and components are left out: X12 forbids them.

        Raises `ValueError` if the id is not one of a segment within a set.
        """
        if not _SEGMENT_ID.fullmatch(id) or id in _ENVELOPE_IDS:
            raise ValueError(f"{show_value(id)} is not the id of a segment in a set (expected: such as NM1)")
        self._segments.append(encode_segment(id, elements, self.delimiters, self.charset))

    def copy(self, segment: X12Segment) -> None:
        """Add a segment of another interchange, with the separators of this set."""
        self.add(segment.id, *decode_elements(segment))

    def add_level(self, code: str, parent: int = 0, *, states_children: bool = True) -> int:
        """Add an HL segment and return its number (HL01), to be given as the parent of levels below it.

        HL04 becomes 1 as soon as there is a level below. With `states_children=False` there is no HL04.
        """
        if parent and not 0 < parent <= self._level_count:
            raise ValueError(f"the parent level {parent} does not exist (there are {self._level_count} levels)")
        self._level_count += 1
        self.add("HL", self._level_count, parent or None, code, 0 if states_children else None)
        if states_children:
            self._levels[self._level_count] = self._segments[-1]
        if parent in self._levels:
            self._levels[parent][4] = "1"
        return self._level_count

    def build(self) -> TransactionSet:
        """Return the set with its SE segment. The writer can be used further."""
        element = self.delimiters.element
        texts = [element.join(values) for values in self._segments]
        texts.append(element.join(("SE", str(len(texts) + 1), self._control_number)))
        return TransactionSet(texts, self.delimiters)


def encode_segment(
    id: str, elements: Sequence[X12Element], delimiters: X12Delimiters, charset: X12Charset = "extended"
) -> list[str]:
    """Return the id and the encoded elements of a segment, without empty elements at its end."""
    needs_cleaning = unusable_pattern(delimiters, charset).search
    values = [id]
    for element in elements:
        if not element and element != 0:
            values.append("")
        elif isinstance(element, str) and not needs_cleaning(element) and " " not in (element[0], element[-1]):
            values.append(element)  # as nearly all values are
        else:
            values.append(_encode_element(element, delimiters, charset))
    while len(values) > 1 and not values[-1]:
        values.pop()
    return values


def _encode_element(element: X12Element, delimiters: X12Delimiters, charset: X12Charset) -> str:
    if isinstance(element, str):
        return clean_value(element, delimiters, charset)
    if isinstance(element, list):
        repeats = [_encode_element(repeat, delimiters, charset) for repeat in element]
        return delimiters.repetition.join(repeats).rstrip(delimiters.repetition)
    if isinstance(element, tuple):
        components = [_encode_element(component, delimiters, charset) for component in element]
        return delimiters.component.join(components).rstrip(delimiters.component)
    return "" if element is None else str(element)


def decode_elements(segment: X12Segment) -> list[X12Element]:
    """Return the elements of a segment, split into repetitions and components."""
    return [_decode_element(raw, segment.delimiters) for raw in segment.elements[1:]]


def _decode_element(raw: str, delimiters: X12Delimiters) -> X12Element:
    parts = raw.split(delimiters.repetition)
    repeats = [tuple(part.split(delimiters.component)) if delimiters.component in part else part for part in parts]
    return [*repeats] if len(repeats) > 1 else repeats[0]


@dataclass(frozen=True)
class OutgoingGroup:
    """A functional group to be written."""

    control_number: int
    version: str
    """GS08, such as `005010X279A1`."""
    sets: Sequence[TransactionSet]
    functional_code: str = ""
    """GS01; by default the code for the first set."""
    sender: str = ""
    """GS02; by default the sender of the interchange."""
    receiver: str = ""


@dataclass(frozen=True)
class OutgoingEnvelope:
    """What the ISA and IEA segments of an interchange state."""

    sender: str
    receiver: str
    control_number: int
    created: datetime
    sender_qualifier: str = "ZZ"
    receiver_qualifier: str = "ZZ"
    usage: Literal["T", "P"] = "T"
    wants_ta1: bool = False
    version: str = SUPPORTED_CONTROL_VERSION
    delimiters: X12Delimiters = DEFAULT_X12_DELIMITERS
    charset: X12Charset = "extended"
    line_break: str = field(default="")
    """Written after each segment terminator."""


def render_interchange(
    envelope: OutgoingEnvelope,
    groups: Sequence[OutgoingGroup] = (),
    acknowledgments: Sequence[X12Segment] = (),
) -> str:
    """Write an interchange: ISA, the TA1 segments, the groups, IEA.

    A set or TA1 with other separators is written with those of the envelope.
    """
    element, end = envelope.delimiters.element, envelope.delimiters.segment + envelope.line_break
    segments = [element.join(_isa_elements(envelope))]
    segments += [_render_segment(segment, envelope) for segment in acknowledgments]
    for group in groups:
        segments += _render_group(group, envelope)
    segments.append(element.join(("IEA", str(len(groups)), f"{_number(envelope.control_number):09}")))
    return end.join(segments) + end


def _isa_elements(envelope: OutgoingEnvelope) -> list[str]:
    def fixed(value: str, width: int) -> str:
        return clean_value(value, envelope.delimiters, envelope.charset)[:width].ljust(width)

    return [
        *("ISA", "00", " " * 10, "00", " " * 10),
        *(fixed(envelope.sender_qualifier, 2), fixed(envelope.sender, MAX_PARTY_LENGTH)),
        *(fixed(envelope.receiver_qualifier, 2), fixed(envelope.receiver, MAX_PARTY_LENGTH)),
        *(f"{envelope.created:%y%m%d}", f"{envelope.created:%H%M}"),
        *(envelope.delimiters.repetition, fixed(envelope.version, 5), f"{_number(envelope.control_number):09}"),
        *("1" if envelope.wants_ta1 else "0", envelope.usage, envelope.delimiters.component),
    ]


def _render_group(group: OutgoingGroup, envelope: OutgoingEnvelope) -> list[str]:
    delimiters, number = envelope.delimiters, str(_number(group.control_number))
    code = group.functional_code or (FUNCTIONAL_CODES.get(group.sets[0].code, "") if group.sets else "")
    parties = [group.sender or envelope.sender, group.receiver or envelope.receiver]
    header = [clean_value(each, delimiters, envelope.charset)[:MAX_PARTY_LENGTH] for each in (code, *parties)]
    created = [f"{envelope.created:%Y%m%d}", f"{envelope.created:%H%M}"]
    version = clean_value(group.version, delimiters, envelope.charset)
    segments = [delimiters.element.join(["GS", *header, *created, number, "X", version])]
    for transaction in group.sets:
        if transaction.delimiters == delimiters:
            segments += transaction.segment_texts
        else:
            segments += [_render_segment(segment, envelope) for segment in transaction.segments]
    return [*segments, delimiters.element.join(("GE", str(len(group.sets)), number))]


def _render_segment(segment: X12Segment, envelope: OutgoingEnvelope) -> str:
    if segment.delimiters == envelope.delimiters:
        return segment.render()
    elements = decode_elements(segment)
    return envelope.delimiters.element.join(encode_segment(segment.id, elements, envelope.delimiters, envelope.charset))


def _number(control_number: int) -> int:
    if not 0 < control_number <= MAX_CONTROL_NUMBER:
        raise ValueError(f"the control number {control_number} is not between 1 and {MAX_CONTROL_NUMBER}")
    return control_number
