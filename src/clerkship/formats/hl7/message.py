"""HL7 v2 messages in ER7 encoding: segments, fields, repetitions, components.

Parsing is lenient; `clerkship.formats.hl7.validation` reports what is wrong with a message.
"""

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from clerkship.formats.hl7.charset import MIME_NAMES, choose_codec, decode_with_fallback, detect_wide_codec
from clerkship.formats.hl7.escape import DEFAULT_DELIMITERS, Delimiters, escape, unescape
from clerkship.formats.hl7.tables import load_code_table
from clerkship.model.lazy import lazy_property

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


ERROR_CONDITIONS = load_code_table("0357")
"""HL7 table 0357: error code -> name."""


class Flaw(NamedTuple):
    """What is wrong, and where. Numbers count from one, as in HL7; None means the whole."""

    code: str
    text: str
    """A description for the sender."""
    segment: str = ""
    sequence: int = 1
    """Which of the segments with this name, counted from one."""
    field: int | None = None
    repetition: int | None = None
    component: int | None = None


MEDIA_TYPE = "application/hl7-v2"
"""Media type of ER7 over HTTP (HL7 over HTTP, as in HAPI)."""
MAX_SHOWN_LENGTH = 60
_LINE_ENDS = re.compile(r"\r\n|\n|\r")
_HEADER_SEGMENTS = ("MSH", "FHS", "BHS")
_DELIMITERS_BEFORE_CHARSET = 17
"""Number of field separators before MSH-18."""
DEFAULT_MSH_START = f"{DEFAULT_DELIMITERS.field}{DEFAULT_DELIMITERS.encoding}{DEFAULT_DELIMITERS.field}"
"""What follows the name of nearly every MSH segment."""


class BadMessage(Exception):
    """The data is not an HL7 message, so no HL7 acknowledgment can be built for it."""


class Segment:
    """One segment. `fields[n]` is field n as encoded; `fields[0]` is the segment name."""

    __slots__ = ("delimiters", "fields", "name")

    def __init__(self, fields: list[str], delimiters: Delimiters = DEFAULT_DELIMITERS) -> None:
        self.name = fields[0]
        self.fields = fields
        self.delimiters = delimiters

    def raw(self, field: int) -> str:
        """Return a field as encoded, including delimiters; empty if it is missing."""
        return self.fields[field] if field < len(self.fields) else ""

    def repetitions(self, field: int) -> list[str]:
        """Return the encoded repetitions of a field; an empty list if the field is empty."""
        raw = self.fields[field] if field < len(self.fields) else ""
        if not raw:
            return []
        separator = self.delimiters.repetition
        if not separator or separator not in raw or self._is_delimiter_field(field):
            return [raw]
        return raw.split(separator)

    def text(self, field: int, component: int | None = None, subcomponent: int | None = None, *, at: int = 1) -> str:
        """Return the unescaped value of a field, component or subcomponent; empty if it is missing.

        `at` selects the repetition. A field or component that has parts is returned as encoded.
        """
        raw = self.raw(field)
        if not raw:
            return ""
        separator = self.delimiters.repetition
        if separator and separator in raw and not self._is_delimiter_field(field):
            repetitions = raw.split(separator)
            return (
                self._decode_part(repetitions[at - 1], field, component, subcomponent) if at <= len(repetitions) else ""
            )
        return self._decode_part(raw, field, component, subcomponent) if at == 1 else ""

    def texts(self, field: int, component: int | None = None, subcomponent: int | None = None) -> list[str]:
        """Return the value of each repetition; see `text`."""
        return [self._decode_part(part, field, component, subcomponent) for part in self.repetitions(field)]

    def _decode_part(self, part: str, field: int, component: int | None, subcomponent: int | None) -> str:
        delimiters = self.delimiters
        if self._is_delimiter_field(field):
            return part if component is None else ""
        if component is not None:
            part = get_part(part, delimiters.component, component)
            if subcomponent is not None:
                part = get_part(part, delimiters.subcomponent, subcomponent)
        if delimiters.component in part or (delimiters.subcomponent and delimiters.subcomponent in part):
            return part
        return unescape(part, delimiters)

    def _is_delimiter_field(self, field: int) -> bool:
        return field <= 2 and self.name in _HEADER_SEGMENTS

    def with_field(self, field: int, value: str) -> "Segment":
        """Return a copy with one field replaced by an encoded value."""
        fields = [*self.fields, *[""] * (field + 1 - len(self.fields))]
        fields[field] = value
        return Segment(fields, self.delimiters)

    def render(self) -> str:
        """Return the encoded segment, without its terminator."""
        separator = self.delimiters.field
        if self.name in _HEADER_SEGMENTS:
            return f"{self.name}{separator}{separator.join(self.fields[2:])}"
        return separator.join(self.fields)


def get_part(text: str, delimiter: str, number: int) -> str:
    """Return the part with this number, counted from one; empty if it is missing."""
    parts = text.split(delimiter) if delimiter else [text]
    return parts[number - 1] if number <= len(parts) else ""


class Hl7Message:
    """A message: its segments in order. The first is MSH."""

    def __init__(self, segments: Iterable[Segment]) -> None:
        self.segments = tuple(segments)
        self.header = self.segments[0]
        self.delimiters = self.header.delimiters

    @lazy_property
    def render(self) -> str:
        """The message in ER7; each segment ends with a carriage return."""
        return "\r".join([*[segment.render() for segment in self.segments], ""])

    @lazy_property
    def type(self) -> str:
        """The message code in upper case, such as `ORU` (MSH-9.1)."""
        return self.header.text(9, 1).upper()

    @lazy_property
    def trigger(self) -> str:
        """The trigger event in upper case, such as `R01` (MSH-9.2)."""
        return self.header.text(9, 2).upper()

    @lazy_property
    def control_id(self) -> str:
        """The message control id (MSH-10), which an acknowledgment refers to."""
        return self.header.text(10)

    @lazy_property
    def version(self) -> str:
        """The HL7 version, such as `2.5.1` (MSH-12.1)."""
        return self.header.text(12, 1)

    def all(self, name: str) -> list[Segment]:
        return [segment for segment in self.segments if segment.name == name]

    def first(self, name: str) -> Segment | None:
        """Return the first segment with this name; None if there is none."""
        return next((segment for segment in self.segments if segment.name == name), None)

    def value(self, path: MessagePath | str) -> str | None:
        """Return the first value at a path; None if the segment is missing, an empty string if the field is empty."""
        return next(self.values(path), None)

    def values(self, path: MessagePath | str) -> Iterator[str]:
        """Iterate over all values at a path; there can be several if it contains `[*]`."""
        parsed = parse_path(path) if isinstance(path, str) else path
        segments = self.all(parsed.segment)
        for segment in segments if parsed.occurrence == 0 else segments[parsed.occurrence - 1 : parsed.occurrence]:
            if parsed.field is None:
                yield segment.render()
            elif parsed.repetition == 0:
                yield from segment.texts(parsed.field, parsed.component, parsed.subcomponent)
            else:
                yield segment.text(parsed.field, parsed.component, parsed.subcomponent, at=parsed.repetition)

    def with_segment(self, index: int, segment: Segment) -> "Hl7Message":
        """Return a copy with the segment at this index replaced."""
        return Hl7Message((*self.segments[:index], segment, *self.segments[index + 1 :]))


def decode_message(data: bytes) -> str:
    """Decode bytes by their byte order mark, else by MSH-18, else as UTF-8, Windows-1252 or Latin-1."""
    codec = detect_wide_codec(data)
    if codec is not None:
        return data.decode(codec, errors="replace").removeprefix("\ufeff")
    data = data.removeprefix(b"\xef\xbb\xbf")
    return decode_with_fallback(data, choose_codec(_read_charset_field(data)))


def encode_message(text: str) -> tuple[bytes, str]:
    """Encode a message, and return the bytes and the name of their charset.

    The charset is the one that MSH-18 states if it can represent the whole text, else UTF-8.
    """
    if text.partition("\r")[0].count(text[3:4] or "|") < _DELIMITERS_BEFORE_CHARSET:  # no MSH-18, as in most messages
        return text.encode(errors="replace"), "utf-8"
    charset = choose_codec(_read_charset_field(text[:2000].encode(errors="replace"))) or "utf-8"
    try:
        return text.encode(charset), MIME_NAMES.get(charset, charset)
    except UnicodeEncodeError:
        return text.encode(errors="replace"), "utf-8"


def _read_charset_field(data: bytes) -> str:
    """Return MSH-18, read from bytes whose charset is not known yet."""
    start = data.lstrip()[:2000]
    if len(start) < 9 or start[:3] not in (b"MSH", b"FHS", b"BHS"):
        return ""
    line = re.split(rb"[\r\n]", start, maxsplit=1)[0]
    fields = line.split(start[3:4])
    return fields[_DELIMITERS_BEFORE_CHARSET].decode("latin-1") if len(fields) > _DELIMITERS_BEFORE_CHARSET else ""


def parse_message(data: bytes | str) -> Hl7Message:
    """Parse one message, with any kind of line end. Raises `BadMessage` if it does not start with a valid MSH."""
    text = (decode_message(data) if isinstance(data, bytes) else data).lstrip("\ufeff\r\n \t\x00").rstrip("\x00")
    lines = [
        line for line in (_LINE_ENDS.split(text) if "\n" in text else text.split("\r")) if line and not line.isspace()
    ]
    if not lines or not lines[0].startswith("MSH"):
        raise BadMessage(
            f"a message starts with MSH, not with {text[:MAX_SHOWN_LENGTH]!r}" if text else "the message is empty"
        )
    delimiters = parse_delimiters(lines[0])
    message = Hl7Message([parse_segment(line, delimiters) for line in lines])
    if text[-1] == "\r" and "\n" not in text and text.count("\r") == len(lines):
        message.render = text  # already in normal form: no need to render it again
    return message


def parse_delimiters(head: str) -> Delimiters:
    """Return the delimiters in MSH-1 and MSH-2 (or those of FHS, BHS). Raises `BadMessage` if they are not valid."""
    separator = head[3:4]
    if separator and head.startswith(DEFAULT_MSH_START, 3):
        return DEFAULT_DELIMITERS
    encoding = head[4:].split(separator, 1)[0] if separator else ""
    characters = separator + encoding
    if (
        not separator
        or not 1 <= len(encoding) <= 5
        or len(set(characters)) != len(characters)
        or _has_text_characters(characters)
    ):
        raise BadMessage(f"{head[:3]}-1 and {head[:3]}-2 are not valid delimiters: {head[:MAX_SHOWN_LENGTH]!r}")
    return Delimiters(separator, *encoding[:5], *[""] * (4 - len(encoding)))


def _has_text_characters(characters: str) -> bool:
    return any(character.isalnum() or character.isspace() or not character.isprintable() for character in characters)


def parse_header(text: str) -> Segment:
    """Parse the first segment of a message."""
    line = text.partition("\r")[0]
    return parse_segment(line, parse_delimiters(line))


def parse_segment(line: str, delimiters: Delimiters = DEFAULT_DELIMITERS) -> Segment:
    """Parse one segment."""
    fields = line.split(delimiters.field)
    if fields[0] in _HEADER_SEGMENTS:
        fields.insert(1, delimiters.field)
    return Segment(fields, delimiters)


def build_segment(name: str, values: dict[int, str], delimiters: Delimiters = DEFAULT_DELIMITERS) -> Segment:
    """Build a segment from encoded fields by number. Encode them with `build_field`."""
    fields = [name, *[""] * max(values, default=0)]
    for number, value in values.items():
        fields[number] = value
    if name in _HEADER_SEGMENTS:
        fields[1], fields[2] = delimiters.field, delimiters.encoding
    return Segment(fields, delimiters)


def build_field(*components: str, delimiters: Delimiters = DEFAULT_DELIMITERS) -> str:
    """Encode a field from its components; empty components at the end are left out."""
    return delimiters.component.join(escape(part, delimiters) for part in components).rstrip(delimiters.component)
