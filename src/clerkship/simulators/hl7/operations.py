"""The operations of an interface engine, and how their bodies are parsed."""

import re
from collections.abc import Sequence
from datetime import datetime
from typing import Annotated, NamedTuple

from pydantic import Field, WithJsonSchema
from pydantic.json_schema import SkipJsonSchema

from clerkship.formats.hl7.batch import MessageBatch, split_messages
from clerkship.formats.hl7.message import (
    BadMessage,
    Flaw,
    Hl7Message,
    Segment,
    build_segment,
    parse_message,
    parse_segment,
)
from clerkship.model.frozen import Flag, Frozen, Whole
from clerkship.sandbox.operation import NoInput, OperationContext, operation
from clerkship.sandbox.request import Refusal
from clerkship.sandbox.state import ActionContext
from clerkship.simulators.hl7.events import ListenerGone, ListenerNamed
from clerkship.simulators.hl7.state import Hl7State, InboxEntry, SentMessage


class FacilityMask:
    """Replaces the secret receiving facility by the configured one, and restores it in the answer."""

    def __init__(self, alias: str, facility: str) -> None:
        self.facility = facility
        self._alias = alias
        self._used_alias = ""

    def hide(self, text: str) -> str:
        """Return the text without the secret address."""
        count = text.casefold().count(self._alias.casefold()) if self._alias else 0
        if count == 0:
            return text
        if text.count(self._alias) == count:
            self._used_alias = self._alias
            return text.replace(self._alias, self.facility)
        alias = re.compile(re.escape(self._alias), re.IGNORECASE)
        match = alias.search(text)
        self._used_alias = match[0] if match is not None else ""
        return alias.sub(self.facility, text)

    def show(self, text: str) -> str:
        """Restore the secret address as the sender in the headers of an answer, spelled as the agent wrote it."""
        return "\r".join(map(self._show_segment, text.split("\r"))) if self._used_alias else text

    def _show_segment(self, line: str) -> str:
        if line[:3] not in ("MSH", "BHS", "FHS"):
            return line
        fields = line.split(line[3])
        if fields[3] == self.facility:  # index 3 is field 4, because field 1 is the delimiter itself
            fields[3] = self._used_alias
        return line[3].join(fields)


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


MAX_EVENTS_PER_MESSAGE = 4
"""Events that a message of a batch may cause: itself, its acknowledgment, and effects in other sandboxes."""
Context = OperationContext[Hl7State]
MessageId = Annotated[str, Field(description="id of a message in the inbox, such as 1")]


def _text(description: str) -> WithJsonSchema:
    """Describe bytes that models write as text."""
    return WithJsonSchema({"type": "string", "description": description})


class NewMessages(Frozen):
    """A message to send, or a batch."""

    message: Annotated[bytes, _text("the message in ER7, one segment per line, starting with MSH")]
    charset: SkipJsonSchema[str] = ""
    """Charset stated by the transport; it takes precedence over MSH-18 (HL7 over HTTP)."""
    size: SkipJsonSchema[int] = 0
    """Original size in bytes, if a listener truncated the message."""


class InboxFilter(Frozen):
    """Which messages of the inbox to list."""

    all: Annotated[Flag, Field(description="whether acknowledged messages are listed too")] = False


class InboxMessage(Frozen):
    """A message of the inbox."""

    id: MessageId


class NewAcknowledgment(Frozen):
    """The acknowledgment of a message of the inbox."""

    id: MessageId
    code: Annotated[str, Field(description="AA (default), AE or AR; or CA, CE, CR")] = "AA"
    text: Annotated[str, Field(description="reason, for MSA-3")] = ""
    message: Annotated[bytes, _text("a complete ACK in ER7, instead of code and text")] = b""
    charset: SkipJsonSchema[str] = ""


class ListenerAddress(Frozen):
    """The address where an agent listens for MLLP."""

    host: Annotated[str, Field(max_length=100, description="this machine: 127.0.0.1, ::1 or localhost")] = "127.0.0.1"
    port: Annotated[Whole, Field(ge=1, le=65535)]


class Acknowledgments(NamedTuple):
    """Acknowledgments in ER7, and their codes."""

    text: str
    codes: str


def _mask(context: Context) -> FacilityMask:
    return FacilityMask(context.secret_address, context.state.config.facility)


@operation(essential=True)
def send_message(context: Context, sent: NewMessages) -> Acknowledgments:
    r"""Send an HL7 v2 message (ADT, ORM, ORU, SIU or MDM) in ER7. Use a new control id (MSH-10). First line, for
    example: `MSH|^~\&|EHR|CLINIC|LAB|CLERKSHIP|20260302090000||ADT^A08^ADT_A01|ID-1|P|2.5.1`.

    Returns the ACK. MSA-1 is AA if it was accepted; with AE or AR, the ERR segments give the reason. A batch (FHS, BHS)
    is answered with a batch.
    """
    mask = _mask(context)
    batch, messages = parse_content(sent.message, sent.charset, mask)
    if len(messages) > 1 and len(messages) * MAX_EVENTS_PER_MESSAGE > context.events_left:
        reason = f"the log of this run has no room for {len(messages)} more messages; the batch was not processed"
        raise Refusal(429, "too_many_requests", reason)
    answers = [_receive(context, message, batch.flaws, sent.size) for message in messages]
    acks = [ack for ack in answers if ack is not None]
    codes = dict.fromkeys(segment.text(1) for ack in acks if (segment := ack.first("MSA")) is not None)
    return Acknowledgments(mask.show(_render_acks(batch, acks, context.action)), ", ".join(codes))


def _render_acks(batch: MessageBatch, acks: Sequence[Hl7Message], action: ActionContext) -> str:
    """Return the text of the answer; empty if nothing is acknowledged.

    A file is answered with a file (FHS), a batch with a batch (BHS) that refers to it (HL7 v2.5.1 §2.10.3).
    """
    written = "".join(ack.render for ack in acks)
    if not written or not batch.headers:
        return written
    for name, trailer in (("BHS", "BTS"), ("FHS", "FTS")):
        headers = [segment for segment in batch.headers if segment.name == name]
        if headers:
            number = len(acks) if name == "BHS" else 1
            header = _build_batch_header(headers, action.ids.new("ack"), action.now)
            footer = build_segment(trailer, {1: str(number)}, header.delimiters)
            written = f"{header.render()}\r{written}{footer.render()}\r"
    return written


def _build_batch_header(headers: Sequence[Segment], id: str, at: datetime) -> Segment:
    """Return the header of the answer to the sender of the first header, to which it refers if there is only one."""
    source = headers[0]
    values = {3: source.raw(5), 4: source.raw(6), 5: source.raw(3), 6: source.raw(4), 7: at.strftime("%Y%m%d%H%M%S%z")}
    values |= {11: id} | ({12: source.raw(11)} if len(headers) == 1 and source.raw(11) else {})
    return build_segment(source.name, values, source.delimiters)


def _receive(context: Context, message: Hl7Message, batch_flaws: Sequence[Flaw], stated_size: int) -> Hl7Message | None:
    state, text = context.state, message.render
    size = max(len(text) if text.isascii() else len(text.encode(errors="replace")), stated_size)
    if size > state.config.max_message:
        return state.refuse_oversized(context.action, Hl7Message(message.segments[:1]), size)
    return state.receive(context.action, message, batch_flaws)


@operation()
def list_sent(context: Context, _: NoInput) -> Sequence[SentMessage]:
    """List the messages you have sent, each with its acknowledgment code."""
    return context.state.sent


@operation(essential=True)
def list_inbox(context: Context, inbox: InboxFilter) -> Sequence[InboxEntry]:
    """List received messages that are not acknowledged, oldest first. With all, every received message.

    `{"messages": [{"id", "control_id", "type", "arrived", "acknowledged", "message"}]}`; the message is in ER7.
    """
    return context.state.list(context.action, every=inbox.all)


@operation(essential=True)
def read_message(context: Context, message: InboxMessage) -> str:
    """Return one message of the inbox, in ER7."""
    return context.state.take(context.action, message.id, context.transport or "http").text


@operation(essential=True)
def acknowledge_message(context: Context, ack: NewAcknowledgment) -> None:
    """Acknowledge a message of the inbox: code AA (accepted), AE (error) or AR (rejected), with an optional text. Or
    give a complete ACK as message."""
    if ack.message.strip():
        message = parse_acknowledgment(ack.message, ack.charset, _mask(context))
        context.state.acknowledge(context.action, ack.id, message)
    else:
        context.state.acknowledge_with_code(context.action, ack.id, ack.code, ack.text)


@operation(tool=False, logs_body=False)
def name_listener(context: Context, listener: ListenerAddress) -> None:
    """Register the MLLP address where you listen; messages of the inbox are delivered there."""
    context.register_callback(
        "listener", f"{listener.host}:{listener.port}"
    )  # first, because it may refuse the address
    context.action.emit(ListenerNamed())


@operation(tool=False)
def forget_listener(context: Context, _: NoInput) -> None:
    """Remove the registered MLLP address."""
    context.action.emit(ListenerGone())
    context.register_callback("listener", "")


OPERATIONS = (
    *(send_message, list_sent, list_inbox, read_message, acknowledge_message),
    *(name_listener, forget_listener),
)
