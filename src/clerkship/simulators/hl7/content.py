"""What an agent sends in one body: a message, or a batch of them."""

import re
from typing import NamedTuple

from clerkship.hl7.batch import MessageBatch, split_messages
from clerkship.hl7.message import BadMessage, Hl7Message, parse_message, parse_segment
from clerkship.sandbox.request import Refusal
from clerkship.simulators.hl7.mask import Mask

_TEXT = re.compile(
    r"utf-?8|utf-?16(-?[lb]e)?|(us-)?ascii|iso-?8859-([1-9]|1[013456])|latin-?1|(windows-|cp)125[0-8]|gb18030|gbk|gb2312"
    r"|big5|euc-(kr|jp)|shift-jis|iso-2022-jp",
    re.IGNORECASE,
)
"""Charsets that are text and no more: Python knows others, which unpack, escape or fail on purpose."""
_LONE = re.compile("[\ud800-\udfff]")
MAX_MESSAGES = 1000
"""In one batch."""
MAX_SEGMENTS = 20_000
"""In one message."""
MAX_LINES = 100_000
"""In one body."""


class ReceivedMessages(NamedTuple):
    """What came in one body."""

    batch: MessageBatch
    messages: list[Hl7Message]


def _read(body: bytes, charset: str) -> bytes | str:
    """Return the body as text, where its charset was stated; else each message states its own."""
    if max(body.count(b"\r"), body.count(b"\n")) > MAX_LINES:
        raise Refusal(413, "too_many_segments", f"a body may have {MAX_LINES} lines; send less at a time")
    if not charset:
        return body
    charset = charset.replace("_", "-")
    if _TEXT.fullmatch(charset) is None:
        raise Refusal(415, "unsupported_charset", f"the charset {charset!r} is not read here; utf-8 is")
    try:
        text = body.decode(charset)
    except UnicodeError:
        return body
    return body if _LONE.search(text) else text


def _split(data: bytes | str) -> MessageBatch:
    """Split a body into messages, unread; refuse all of it where they are too many or too long."""
    batch = split_messages(data)
    if len(batch.messages) > MAX_MESSAGES:
        reason = f"a batch may have {MAX_MESSAGES} messages, not {len(batch.messages)}; send several"
        raise Refusal(413, "too_many_messages", reason)
    longest = max((each.count("\r") for each in batch.messages), default=0)
    if longest > MAX_SEGMENTS:
        raise Refusal(413, "too_many_segments", f"a message may have {MAX_SEGMENTS} segments, not {longest}")
    return batch


def parse_content(body: bytes, charset: str, mask: Mask) -> ReceivedMessages:
    """Parse the messages of a body; refuse all of it where it is no HL7 v2."""
    batch = _split(_read(body, charset))
    batch.flaws[:] = [each._replace(text=mask.hide(each.text)) for each in batch.flaws]
    batch.headers[:] = [parse_segment(mask.hide(each.render()), each.delimiters) for each in batch.headers]
    try:
        messages = [parse_message(mask.hide(each)) for each in batch.messages]
    except BadMessage as bad:
        raise Refusal(400, "not_hl7", f"this is no HL7 v2 message: {bad}") from None
    if not messages:
        why = batch.flaws[0].text if batch.flaws else "it is empty"
        raise Refusal(400, "not_hl7", f"there is no HL7 v2 message here: {why}")
    return ReceivedMessages(batch, messages)


def parse_acknowledgement(body: bytes, charset: str, mask: Mask) -> Hl7Message:
    """Parse one acknowledgement."""
    messages = parse_content(body, charset, mask).messages
    if len(messages) != 1 or messages[0].first("MSA") is None:
        raise Refusal(400, "not_an_ack", "expected one acknowledgement: an MSH and an MSA segment")
    return messages[0]


def header_of(message: Hl7Message) -> Hl7Message:
    """Return the MSH alone."""
    return Hl7Message(message.segments[:1])


def size_of(text: str) -> int:
    """Count bytes, as a text is sent."""
    return len(text) if text.isascii() else len(text.encode(errors="replace"))
