"""Negative acknowledgments of the MLLP listener itself, for messages that reach no sandbox."""

from datetime import UTC, datetime

from clerkship.formats.hl7.ack import ack_mode, build_ack, is_ack_wanted
from clerkship.formats.hl7.message import (
    BadMessage,
    Flaw,
    Hl7Message,
    Segment,
    build_segment,
    decode_message,
    encode_message,
    parse_message,
)
from clerkship.kit.wall import now

INTERNAL_ERROR, TABLE_VALUE_NOT_FOUND = "207", "103"
"""HL7 table 0357."""
MAX_HEADER_BYTES = 65_536
MSH_PREVIEW_BYTES = 1000
_MIN_MSH_BYTES = len(b"MSH|^")
MAX_TEXT_LENGTH = 400
_HEADER_SEGMENTS = (b"MSH", b"FHS", b"BHS")


def read_facility(data: bytes) -> str:
    """Return the receiving facility (MSH-6.1). For a batch, that of its headers, else of its first message."""
    if data.startswith(b"MSH") and len(data) > _MIN_MSH_BYTES:  # the usual case
        fields = data[:MSH_PREVIEW_BYTES].split(data[3:4], 6)
        if len(fields) > 6 and b"\r" not in fields[5] and (name := fields[5].split(data[4:5], 1)[0].strip()):
            return name.decode("latin-1")
    for line in _find_header_lines(data):
        fields = line.split(line[3:4], 6)
        if len(fields) > 5 and (name := fields[5].split(line[4:5] or b"^", 1)[0].strip()):
            return name.decode("latin-1")
    return ""


def _find_header_lines(data: bytes) -> list[bytes]:
    """Return the MSH, FHS and BHS among the first lines."""
    start = data[:MAX_HEADER_BYTES]
    if start.startswith((b"\xff\xfe", b"\xfe\xff")):
        start = start.decode("utf-16", errors="replace").encode("latin-1", errors="replace")
    first = start.removeprefix(b"\xef\xbb\xbf").lstrip()
    lines = first.replace(b"\n", b"\r").split(b"\r", 8)[:8]
    return [line for line in lines if line.startswith(_HEADER_SEGMENTS) and len(line) > len(b"MSH|")]


def read_header(data: bytes) -> Hl7Message | None:
    """Return the MSH of a message, or of the first in a batch; None if it cannot be parsed."""
    text = decode_message(data[:MAX_HEADER_BYTES])
    start = text.find("MSH")
    while start > 0 and text[start - 1] not in "\r\n\ufeff \t":
        start = text.find("MSH", start + 1)
    try:
        message = parse_message(text[start:] if start > 0 else text)
    except BadMessage:
        return None
    return Hl7Message(message.segments[:1])


def build_reject(message: Hl7Message, text: str, code: str = INTERNAL_ERROR, field: int | None = None) -> bytes:
    """Build an AR, or a CR if the sender requests accept acknowledgments; empty if it requests neither.

    Rejects are for errors unrelated to the content and format of a message: HL7 v2.5.1 §2.9.2.2 names a system that
    is down, an internal error, a full queue. The sender may send the same message again later.
    """
    ack_code = _choose_code(message)
    if not ack_code:
        return b""
    flaw = Flaw(code, to_ascii(text), "MSH", 1, field)
    ack = build_ack(
        message, ack_code, [flaw], control_id=f"NAK{message.control_id}"[:20], at=_read_time(message), text=flaw.text
    )
    return encode_message(ack.render)[0]


def build_reject_without_header(text: str) -> bytes:
    """Build an AR for data that has no MSH; it refers to no message."""
    fields = {3: "CLERKSHIP", 7: now().strftime("%Y%m%d%H%M%S"), 9: "ACK", 10: "NAK", 11: "P", 12: "2.5.1"}
    segments: list[Segment] = [
        build_segment("MSH", fields),
        build_segment("MSA", {1: "AR"}),
        build_segment("ERR", {3: f"{INTERNAL_ERROR}^Application internal error^HL70357", 4: "E", 8: to_ascii(text)}),
    ]
    return Hl7Message(segments).render.encode()


def to_ascii(text: str) -> str:
    """Replace characters that some clients cannot read."""
    return text.encode("ascii", errors="replace").decode()[:MAX_TEXT_LENGTH]


def _choose_code(message: Hl7Message) -> str:
    if ack_mode(message) == "original":
        return "AR"
    accept, application = message.header.text(15) or "NE", message.header.text(16) or "NE"
    if accept != "NE":
        return "CR" if is_ack_wanted(accept, False) else ""
    return "AR" if is_ack_wanted(application, False) else ""


def _read_time(message: Hl7Message) -> datetime:
    """Return the sender's time (MSH-7): the listener has no simulated time."""
    digits = message.header.text(7)[:14]
    try:
        return datetime.strptime(digits.ljust(14, "0"), "%Y%m%d%H%M%S").replace(tzinfo=UTC)
    except ValueError:
        return now()
