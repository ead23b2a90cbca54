"""Fuzz targets: functions that take any bytes and check invariants, with valid seeds."""

from contextlib import suppress
from datetime import UTC, datetime

from clerkship.formats.hl7.ack import ack_mode, build_ack, parse_ack
from clerkship.formats.hl7.batch import MAX_BATCH_FLAWS as MAX_AROUND
from clerkship.formats.hl7.batch import split_messages
from clerkship.formats.hl7.framing import Deframer
from clerkship.formats.hl7.message import BadMessage, BadMessagePath, Flaw, Hl7Message, parse_message, parse_path
from clerkship.formats.hl7.tables import resolve_version
from clerkship.formats.hl7.validation import MAX_FLAWS, validate_message
from clerkship.sandbox.request import Refusal
from clerkship.simulators.files import paths

AT = datetime(2026, 3, 2, tzinfo=UTC)
_HEAD = "MSH|^~\\&|LAB|N|EHR|C|20260302090000||{}|M1|P|{}\r"
_BODY = "PID|1||77^^^N^MR~88^^^S||Lopez&de^Maria||19650315|F\r"
_OBX = "OBX|1|NM|2823-3^K^LN||2.9|mmol/L|||||F\rNTE|1||call\\.br\\back\r"
_ORU = f"{_BODY}PV1|1|O\rORC|RE|1\rOBR|1|||24323-8^CMP^LN\r{_OBX}"
_TEXTS = [
    _HEAD.format("ORU^R01^ORU_R01", "2.5.1") + _ORU,
    _HEAD.format("ORU^R01", "2.3") + _ORU + "OBX|2|SN|K||>^5||||||F\r",
    _HEAD.format("ADT^A01^ADT_A01", "2.6") + "EVN||20260302\r" + _BODY + "PV1|1|O\rAL1|1||X\rIN1|1|A|B\r",
    _HEAD.format("ADT^A40", "2.4") + "EVN|A40|20260302\r" + _BODY + "MRG|99\r",
    _HEAD.format("ORM^O01", "2.4") + _BODY + "ORC|NW|1\rRXO|X|1||mg\rORC|NW|2\rOBR|1|||K\r",
    _HEAD.format("SIU^S12^SIU_S12", "2.7") + "SCH|1|||||R^x||||||||||9^W||||8^W\rRGS|1\rAIS|1||K\r",
    _HEAD.format("MDM^T02^MDM_T02", "2.8")
    + "EVN||20260302\r"
    + _BODY
    + "PV1|1|O\rTXA|1|CN||||||||||9|||||LA\rOBX|1|TX|K||x||||||F\r",
    _HEAD.format("ACK^A01^ACK", "2.5") + "MSA|AE|M1|no\rERR||PID^1^3|101^x^HL70357|E||||no\r",
    "MSH#*!?%$#A#B#C#D#2026##ACK#1#P#2.3######8859/1\rMSA#AR#1\rERR#PID*1*3*101%x%HL70357\r",
]
_FILE = "FHS|^~\\&|A|B|C|D|1||f||F7\rBHS|^~\\&|A|B|C|D|1||||B8\r{}BTS|2\rFTS|1\r"
MESSAGES = [text.encode() for text in _TEXTS]
STREAMS = [
    *(_FILE.format(text * 2).encode() for text in _TEXTS[:3]),
    "".join(_TEXTS).encode(),
    _TEXTS[8].encode("utf-16"),
]
FRAMES = [b"".join(b"\x0b%b\x1c\r" % text for text in MESSAGES[:2]), b"x\x0by\x1c"]
PATHS = [b"PID.5.1", b"OBX[2].5", b"PID-3[*].1.2", b"inbox/a.hl7", b"a/../b"]


def check_message(data: bytes) -> None:
    """Parse, validate and acknowledge a message."""
    try:
        message = parse_message(data)
    except BadMessage:
        return
    again = parse_message(message.render)
    assert [segment.fields for segment in again.segments] == [segment.fields for segment in message.segments]
    flaws = validate_message(message)
    assert len(flaws) <= MAX_FLAWS
    assert all(flaw.text and flaw.sequence > 0 for flaw in flaws)
    _answered(message, flaws)
    for path in ("PID.3[*].1", "OBX[*].5", "MSH.9.2", "PID", "ZZZ[2].1.1.1"):
        list(message.values(path))
    if message.first("MSA") is not None:
        parse_ack(message)


def _answered(message: Hl7Message, flaws: list[Flaw]) -> None:
    written = build_ack(message, "AE" if flaws else "AA", flaws, control_id="1", at=AT, text="so | it ~ is")
    assert ack_mode(written) == "original"
    said = parse_ack(parse_message(written.render))
    assert said.control_id == message.control_id
    if not flaws:
        assert validate_message(written) == [], written.render
    elif resolve_version(message.version) and all(message.delimiters[:5]):
        assert {flaw.segment for flaw in validate_message(written)} <= {"MSH", "MSA"}, written.render
        assert [flaw.code for flaw in said.errors] == [flaw.code for flaw in flaws]


def check_stream(data: bytes) -> None:
    """Split a stream into messages, from bytes and from text."""
    batch = split_messages(data)
    assert len(batch.flaws) <= MAX_AROUND
    assert split_messages("".join(batch.messages)).messages == batch.messages
    for text in batch.messages:
        check_message(text.encode())
    split_messages(data.decode("latin-1"))


def check_frames(data: bytes, deframer: type[Deframer] = Deframer) -> None:
    """Find frames in a stream, in one chunk and in single bytes."""
    whole, single = deframer(200), deframer(200)
    found = whole.feed(data)
    assert found == [frame for at in range(len(data)) for frame in single.feed(data[at : at + 1])]
    assert (whole.ignored_bytes, whole.is_open) == (single.ignored_bytes, single.is_open)
    assert all(len(frame.data) <= 200 for frame in found)


def check_path_parsers(data: bytes) -> None:
    """Parse paths into messages and paths of files."""
    text = data.decode("utf-8", errors="surrogateescape")
    with suppress(BadMessagePath):
        parse_path(text)
    for read in (paths.parse_path, paths.parse_folder):
        try:
            parts = read(text).split("/")
        except Refusal:
            continue
        assert ".." not in parts
