"""Parse the body that an agent sends: one message, or a batch."""

import re
from typing import NamedTuple

from clerkship.formats.hl7.batch import MessageBatch, split_messages
from clerkship.formats.hl7.message import BadMessage, Hl7Message, parse_message, parse_segment
from clerkship.sandbox.request import Refusal
from clerkship.simulators.hl7.mask import FacilityMask

_TEXT_CHARSETS = re.compile(
    r"utf-?8|utf-?16(-?[lb]e)?|(us-)?ascii|iso-?8859-([1-9]|1[013456])|latin-?1|(windows-|cp)125[0-8]|gb18030|gbk|gb2312"
    r"|big5|euc-(kr|jp)|shift-jis|iso-2022-jp",
    re.IGNORECASE,
)
"""Allowed charsets. Python's other codecs may decompress, unescape or fail on purpose."""
_LONE_SURROGATE = re.compile("[\ud800-\udfff]")
MAX_MESSAGES = 1000
"""Limit for one batch."""
MAX_SEGMENTS = 20_000
"""Limit for one message."""
MAX_LINES = 100_000
"""Limit for one body."""


class ReceivedMessages(NamedTuple):
    """The content of one body."""

    batch: MessageBatch
    messages: list[Hl7Message]


def _decode_body(body: bytes, charset: str) -> bytes | str:
    """Decode the body if its charset was stated; else return bytes, because each message states its own charset."""
    if max(body.count(b"\r"), body.count(b"\n")) > MAX_LINES:
        raise Refusal(413, "too_many_segments", f"a body may have {MAX_LINES} lines; send less at a time")
    if not charset:
        return body
    charset = charset.replace("_", "-")
    if _TEXT_CHARSETS.fullmatch(charset) is None:
        raise Refusal(415, "unsupported_charset", f"unsupported charset {charset!r}; use utf-8")
    try:
        text = body.decode(charset)
    except UnicodeError:
        return body
    return body if _LONE_SURROGATE.search(text) else text


def _split_body(data: bytes | str) -> MessageBatch:
    """Split a body into messages without parsing them. Refuse it if there are too many, or one is too long."""
    batch = split_messages(data)
    if len(batch.messages) > MAX_MESSAGES:
        reason = f"a batch may have {MAX_MESSAGES} messages, not {len(batch.messages)}; send several"
        raise Refusal(413, "too_many_messages", reason)
    longest = max((item.count("\r") for item in batch.messages), default=0)
    if longest > MAX_SEGMENTS:
        raise Refusal(413, "too_many_segments", f"a message may have {MAX_SEGMENTS} segments, not {longest}")
    return batch


def parse_content(body: bytes, charset: str, mask: FacilityMask) -> ReceivedMessages:
    """Parse the messages of a body. Refuse the whole body if it is not HL7 v2."""
    batch = _split_body(_decode_body(body, charset))
    batch.flaws[:] = [item._replace(text=mask.hide(item.text)) for item in batch.flaws]
    batch.headers[:] = [parse_segment(mask.hide(item.render()), item.delimiters) for item in batch.headers]
    try:
        messages = [parse_message(mask.hide(item)) for item in batch.messages]
    except BadMessage as bad:
        raise Refusal(400, "not_hl7", f"not an HL7 v2 message: {bad}") from None
    if not messages:
        why = batch.flaws[0].text if batch.flaws else "the body is empty"
        raise Refusal(400, "not_hl7", f"no HL7 v2 message found: {why}")
    return ReceivedMessages(batch, messages)


def parse_acknowledgment(body: bytes, charset: str, mask: FacilityMask) -> Hl7Message:
    """Parse one acknowledgment."""
    messages = parse_content(body, charset, mask).messages
    if len(messages) != 1 or messages[0].first("MSA") is None:
        raise Refusal(400, "not_an_ack", "expected one acknowledgment: an MSH and an MSA segment")
    return messages[0]


def extract_header(message: Hl7Message) -> Hl7Message:
    """Return a message that contains only the MSH."""
    return Hl7Message(message.segments[:1])


def count_bytes(text: str) -> int:
    """Return the size of a text as sent, in bytes."""
    return len(text) if text.isascii() else len(text.encode(errors="replace"))
