"""Acknowledgments: building and parsing them (HL7 v2.5.1 §2.9)."""

from collections.abc import Sequence
from datetime import datetime
from typing import Literal, NamedTuple

from clerkship.formats.hl7.charset import choose_codec, replace_unencodable
from clerkship.formats.hl7.escape import Delimiters, escape
from clerkship.formats.hl7.message import (
    ERROR_CONDITIONS,
    BadMessage,
    Flaw,
    Hl7Message,
    Segment,
    build_field,
    build_segment,
)
from clerkship.formats.hl7.tables import DEFAULT_VERSION, VERSIONS, resolve_version

AckMode = Literal["original", "enhanced"]
_DEFAULT_CHARSET = "UNICODE UTF-8"
"""The charset of the acknowledgment of a message whose charset is unknown."""
_FIRST_WITH_ERR_FIELDS = VERSIONS.index("2.5")
_FIRST_WITHOUT_MSA_3 = VERSIONS.index("2.7")


def ack_mode(message: Hl7Message) -> AckMode:
    """Return the acknowledgment mode: enhanced if MSH-15 or MSH-16 is valued."""
    return "enhanced" if message.header.raw(15) or message.header.raw(16) else "original"


def is_ack_wanted(condition: str, accepted: bool) -> bool:
    """Return whether an acknowledgment is wanted under this condition (table 0155). An empty condition means never."""
    return {"AL": True, "NE": False, "": False, "ER": not accepted, "SU": accepted}.get(condition, True)


def build_ack(
    message: Hl7Message, code: str, flaws: Sequence[Flaw] = (), *, control_id: str, at: datetime, text: str = ""
) -> Hl7Message:
    """Build the acknowledgment of a message, addressed to its sender, in its version, delimiters and charset."""
    version = resolve_version(message.version) or DEFAULT_VERSION
    number = VERSIONS.index(version)
    delimiters = message.delimiters
    values = {1: code, 2: message.header.raw(10)}
    if text and number < _FIRST_WITHOUT_MSA_3:  # MSA-3 is withdrawn from 2.7 on
        values[3] = escape(text, delimiters)
    if text and not flaws and number >= _FIRST_WITHOUT_MSA_3 and code[1:] != "A":
        flaws = [Flaw("207", text)]
    errors = (
        _build_errors(flaws, delimiters)
        if number >= _FIRST_WITH_ERR_FIELDS
        else _build_errors_before_2_5(flaws, delimiters)
    )
    header = _build_header(message, version, control_id, at)
    return Hl7Message(_replace_unencodable([header, build_segment("MSA", values, delimiters), *errors]))


def _build_header(message: Hl7Message, version: str, control_id: str, at: datetime) -> Segment:
    source, delimiters = message.header, message.delimiters
    kind = "ACK" if version == "2.3" else build_field("ACK", message.trigger, "ACK", delimiters=delimiters)
    sender, receiver = [source.raw(3), source.raw(4)], [source.raw(5), source.raw(6)]
    stated = source.raw(12) if resolve_version(message.version) else version
    written = [
        *receiver,
        *sender,
        _format_time(at),
        "",
        kind,
        escape(control_id, delimiters),
        source.raw(11) or "P",
        stated,
    ]
    header = Segment(["MSH", delimiters.field, delimiters.encoding, *written], delimiters)
    return (
        header.with_field(18, source.raw(18) if choose_codec(source.raw(18)) else _DEFAULT_CHARSET)
        if source.raw(18)
        else header
    )


def _replace_unencodable(segments: list[Segment]) -> list[Segment]:
    """Replace characters that the charset of MSH-18 does not have. Quoted values may contain them."""
    codec = choose_codec(segments[0].raw(18))
    if codec is None:
        return segments
    other = " " if "?" in segments[0].delimiters else "?"
    return [
        Segment(
            [*segment.fields[:1], *(replace_unencodable(codec, value, other) for value in segment.fields[1:])],
            segment.delimiters,
        )
        for segment in segments
    ]


def _format_time(at: datetime) -> str:
    """Format a time as `20260302090000+0000`. Ten times faster than strftime."""
    written = at.isoformat(timespec="seconds")
    return written[:19].replace("-", "").replace("T", "").replace(":", "") + written[19:].replace(":", "")


def _build_errors(flaws: Sequence[Flaw], delimiters: Delimiters) -> list[Segment]:
    """Build ERR segments from version 2.5 on: one for each flaw, with location, code, severity and text."""
    return [
        build_segment(
            "ERR",
            {
                2: build_field(*_error_location(flaw), delimiters=delimiters),
                3: build_field(flaw.code, ERROR_CONDITIONS.get(flaw.code, ""), "HL70357", delimiters=delimiters),
                4: "E",
                8: escape(flaw.text, delimiters),
            },
            delimiters,
        )
        for flaw in flaws
    ]


def _error_location(flaw: Flaw) -> list[str]:
    if not flaw.segment:
        return []
    numbers = (flaw.sequence, flaw.field, flaw.repetition, flaw.component)
    return [flaw.segment, *("" if number is None else str(number) for number in numbers)]


def _build_errors_before_2_5(flaws: Sequence[Flaw], delimiters: Delimiters) -> list[Segment]:
    """Build the ERR segment before version 2.5: one field, with a repetition for each flaw."""
    if not flaws:
        return []
    written = [
        delimiters.component.join(
            [
                escape(flaw.segment, delimiters),
                str(flaw.sequence),
                "" if flaw.field is None else str(flaw.field),
                (delimiters.subcomponent or " ").join(
                    escape(part, delimiters) for part in (flaw.code, flaw.text, "HL70357")
                ),
            ]
        )
        for flaw in flaws
    ]
    return [build_segment("ERR", {1: (delimiters.repetition or " ").join(written)}, delimiters)]


class Ack(NamedTuple):
    """The content of an acknowledgment."""

    code: str
    """AA, AE or AR; CA, CE or CR for accept acknowledgments in enhanced mode."""
    control_id: str
    """MSH-10 of the acknowledged message."""
    text: str
    errors: tuple[Flaw, ...]


def parse_ack(message: Hl7Message) -> Ack:
    """Parse an acknowledgment. Raises `BadMessage` if it has no MSA segment."""
    msa = message.first("MSA")
    if msa is None:
        raise BadMessage("an acknowledgment has an MSA segment; this message has none")
    errors = [flaw for segment in message.all("ERR") for flaw in _parse_errors(segment)]
    return Ack(msa.text(1), msa.text(2), msa.text(3), tuple(errors))


def _parse_errors(segment: Segment) -> list[Flaw]:
    if segment.raw(3) or segment.raw(2):
        number = _parse_number(segment.text(2, 2)) or 1
        place = [_parse_number(segment.text(2, part)) for part in (3, 4, 5)]
        text = segment.text(8) or segment.text(7) or segment.text(3, 2)
        return [Flaw(segment.text(3, 1), text, segment.text(2, 1), number, *place)]
    return [
        Flaw(
            segment.text(1, 4, 1, at=at),
            segment.text(1, 4, 2, at=at),
            segment.text(1, 1, at=at),
            _parse_number(segment.text(1, 2, at=at)) or 1,
            _parse_number(segment.text(1, 3, at=at)),
        )
        for at in range(1, len(segment.repetitions(1)) + 1)
    ]


def _parse_number(text: str) -> int | None:
    return int(text) if text.isascii() and text.isdigit() and len(text) < 10 else None
