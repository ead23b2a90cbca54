"""The operations of an interface engine."""

from collections.abc import Sequence
from datetime import datetime
from typing import Annotated, NamedTuple

from pydantic import Field, WithJsonSchema
from pydantic.json_schema import SkipJsonSchema

from clerkship.formats.hl7.batch import MessageBatch
from clerkship.formats.hl7.flaw import Flaw
from clerkship.formats.hl7.message import Hl7Message, Segment, build_segment
from clerkship.model.frozen import Flag, Frozen, Whole
from clerkship.sandbox.operation import NoInput, OperationContext, operation
from clerkship.sandbox.request import Refusal
from clerkship.sandbox.state import ActionContext
from clerkship.simulators.hl7.content import count_bytes, extract_header, parse_acknowledgment, parse_content
from clerkship.simulators.hl7.mask import FacilityMask
from clerkship.simulators.hl7.state import Hl7State, InboxEntry, SentMessage

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


@operation()
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
    state = context.state
    size = max(count_bytes(message.render), stated_size)
    if size > state.config.max_message:
        return state.refuse_oversized(context.action, extract_header(message), size)
    return state.receive(context.action, message, batch_flaws)


@operation()
def list_sent(context: Context, _: NoInput) -> Sequence[SentMessage]:
    """List the messages you have sent, each with its acknowledgment code."""
    return context.state.sent


@operation()
def list_inbox(context: Context, inbox: InboxFilter) -> Sequence[InboxEntry]:
    """List received messages that are not acknowledged, oldest first. With all, every received message.

    `{"messages": [{"id", "control_id", "type", "arrived", "acknowledged", "message"}]}`; the message is in ER7.
    """
    return context.state.list(context.action, every=inbox.all)


@operation()
def read_message(context: Context, message: InboxMessage) -> str:
    """Return one message of the inbox, in ER7."""
    return context.state.take(context.action, message.id, context.transport or "http").text


@operation()
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
    context.state.name_listener(context.action)


@operation(tool=False)
def forget_listener(context: Context, _: NoInput) -> None:
    """Remove the registered MLLP address."""
    context.state.forget_listener(context.action)
    context.register_callback("listener", "")


OPERATIONS = (
    *(send_message, list_sent, list_inbox, read_message, acknowledge_message),
    *(name_listener, forget_listener),
)
