"""What the MLLP listener answers where no sandbox does: a reject in HL7's words, from the sender's own MSH."""

from datetime import UTC, datetime

from clerkship.hl7.ack import ack_mode, build_ack, is_ack_wanted
from clerkship.hl7.flaw import Flaw
from clerkship.hl7.message import (
    BadMessage,
    Hl7Message,
    Segment,
    build_segment,
    decode_message,
    encode_message,
    parse_message,
)
from clerkship.kit.wall import now

INTERNAL, NO_SUCH_VALUE = "207", "103"
"""HL7 table 0357."""
HEAD_LIMIT = 65_536
HEAD = 1000
_SHORTEST = len(b"MSH|^")
MAX_TEXT_LENGTH = 400
_HEADS = (b"MSH", b"FHS", b"BHS")


def facility_of(data: bytes) -> str:
    """MSH-6, its first component: who a message is for. Of a batch, what its headers say, or else its first message."""
    if data.startswith(b"MSH") and len(data) > _SHORTEST:  # as nearly always
        fields = data[:HEAD].split(data[3:4], 6)
        if len(fields) > 6 and b"\r" not in fields[5] and (name := fields[5].split(data[4:5], 1)[0].strip()):
            return name.decode("latin-1")
    for line in _head_lines(data):
        fields = line.split(line[3:4], 6)
        if len(fields) > 5 and (name := fields[5].split(line[4:5] or b"^", 1)[0].strip()):
            return name.decode("latin-1")
    return ""


def _head_lines(data: bytes) -> list[bytes]:
    """The lines before anything else is said that tell whom it is for."""
    start = data[:HEAD_LIMIT]
    if start.startswith((b"\xff\xfe", b"\xfe\xff")):
        start = start.decode("utf-16", errors="replace").encode("latin-1", errors="replace")
    first = start.removeprefix(b"\xef\xbb\xbf").lstrip()
    lines = first.replace(b"\n", b"\r").split(b"\r", 8)[:8]
    return [line for line in lines if line.startswith(_HEADS) and len(line) > len(b"MSH|")]


def read_head(data: bytes) -> Hl7Message | None:
    """The MSH of a message, or of the first in a batch; None if there is none to be read."""
    text = decode_message(data[:HEAD_LIMIT])
    start = text.find("MSH")
    while start > 0 and text[start - 1] not in "\r\n\ufeff \t":
        start = text.find("MSH", start + 1)
    try:
        message = parse_message(text[start:] if start > 0 else text)
    except BadMessage:
        return None
    return Hl7Message(message.segments[:1])


def reject(head: Hl7Message, text: str, code: str = INTERNAL, field: int | None = None) -> bytes:
    """AR, or CR where the sender wants an accept acknowledgement; nothing where it wants neither.

    Rejects are for what has to do neither with content nor with form: HL7 v2.5.1 §2.9.2.2 names a system that is down,
    an internal error, a full queue. Who gets one may send the same again later.
    """
    answer = _answer_code(head)
    if not answer:
        return b""
    flaw = Flaw(code, plain(text), "MSH", 1, field)
    ack = build_ack(head, answer, [flaw], control_id=f"NAK{head.control_id}"[:20], at=_time_of(head), text=flaw.text)
    return encode_message(ack.render)[0]


def reject_unread(text: str) -> bytes:
    """The same for who sent nothing that could be answered: it names no message."""
    made = {3: "CLERKSHIP", 7: now().strftime("%Y%m%d%H%M%S"), 9: "ACK", 10: "NAK", 11: "P", 12: "2.5.1"}
    segments: list[Segment] = [
        build_segment("MSH", made),
        build_segment("MSA", {1: "AR"}),
        build_segment("ERR", {3: f"{INTERNAL}^Application internal error^HL70357", 4: "E", 8: plain(text)}),
    ]
    return Hl7Message(segments).render.encode()


def plain(text: str) -> str:
    """In signs that any client can read."""
    return text.encode("ascii", errors="replace").decode()[:MAX_TEXT_LENGTH]


def _answer_code(head: Hl7Message) -> str:
    if ack_mode(head) == "original":
        return "AR"
    accept, application = head.header.text(15) or "NE", head.header.text(16) or "NE"
    if accept != "NE":
        return "CR" if is_ack_wanted(accept, False) else ""
    return "AR" if is_ack_wanted(application, False) else ""


def _time_of(head: Hl7Message) -> datetime:
    """The sender's own time: the listener knows no simulated time."""
    digits = head.header.text(7)[:14]
    try:
        return datetime.strptime(digits.ljust(14, "0"), "%Y%m%d%H%M%S").replace(tzinfo=UTC)
    except ValueError:
        return now()
