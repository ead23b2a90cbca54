"""The operations of an interface engine."""

from collections.abc import Sequence
from datetime import datetime
from typing import Annotated, NamedTuple

from pydantic import Field, WithJsonSchema
from pydantic.json_schema import SkipJsonSchema

from clerkship.hl7.batch import MessageBatch
from clerkship.hl7.flaw import Flaw
from clerkship.hl7.message import Hl7Message, Segment, build_segment
from clerkship.model.frozen import Flag, Frozen, Whole
from clerkship.sandbox.operation import NoInput, OperationContext, operation
from clerkship.sandbox.request import Refusal
from clerkship.sandbox.state import ActionContext
from clerkship.simulators.hl7.content import header_of, parse_acknowledgement, parse_content, size_of
from clerkship.simulators.hl7.mask import Mask
from clerkship.simulators.hl7.state import Hl7State, Incoming, Outgoing

MAX_EVENTS_EACH = 4
"""What a message of a batch may leave in the log: itself, its answer, and what follows from it elsewhere."""
Context = OperationContext[Hl7State]
MessageId = Annotated[str, Field(description="id of a message in the inbox, such as 1")]


def _text(description: str) -> WithJsonSchema:
    """Describe bytes that models write as text."""
    return WithJsonSchema({"type": "string", "description": description})


class NewMessages(Frozen):
    """A message to send, or a batch of them."""

    message: Annotated[bytes, _text("the message in ER7, one segment per line, starting with MSH")]
    charset: SkipJsonSchema[str] = ""
    """Stated by the protocol that brought it; before MSH-18 (HL7 over HTTP)."""
    size: SkipJsonSchema[int] = 0
    """Bytes that it had, where a listener did not keep all of them."""


class InboxFilter(Frozen):
    """Which messages of the inbox to list."""

    all: Annotated[Flag, Field(description="whether acknowledged messages are listed too")] = False


class InboxMessage(Frozen):
    """A message of the inbox."""

    id: MessageId


class NewAcknowledgement(Frozen):
    """The acknowledgement of a message of the inbox."""

    id: MessageId
    code: Annotated[str, Field(description="AA (default), AE or AR; or CA, CE, CR")] = "AA"
    text: Annotated[str, Field(description="reason, for MSA-3")] = ""
    message: Annotated[bytes, _text("a complete ACK in ER7, instead of code and text")] = b""
    charset: SkipJsonSchema[str] = ""


class ListenerAddress(Frozen):
    """Where an agent listens for MLLP."""

    host: Annotated[str, Field(max_length=100, description="this machine: 127.0.0.1, ::1 or localhost")] = "127.0.0.1"
    port: Annotated[Whole, Field(ge=1, le=65535)]


class Answered(NamedTuple):
    """Acknowledgements in ER7, and their codes."""

    text: str
    codes: str


def _mask(context: Context) -> Mask:
    return Mask(context.secret_address, context.state.settings.facility)


@operation()
def send_message(context: Context, sent: NewMessages) -> Answered:
    r"""Send an HL7 v2 message (ADT, ORM, ORU, SIU or MDM) in ER7. Use a new control id (MSH-10). First line, for
    example: `MSH|^~\&|EHR|CLINIC|LAB|CLERKSHIP|20260302090000||ADT^A08^ADT_A01|ID-1|P|2.5.1`.

    Returns the ACK. MSA-1 is AA if it was accepted; with AE or AR, the ERR segments give the reason. A batch (FHS, BHS)
    is answered with a batch.
    """
    mask = _mask(context)
    batch, messages = parse_content(sent.message, sent.charset, mask)
    if len(messages) > 1 and len(messages) * MAX_EVENTS_EACH > context.events_left:
        reason = f"this run's log has no room for {len(messages)} messages any more; nothing of the batch was done"
        raise Refusal(429, "too_many_requests", reason)
    answers = [_receive(context, message, batch.flaws, sent.size) for message in messages]
    acks = [ack for ack in answers if ack is not None]
    codes = dict.fromkeys(segment.text(1) for ack in acks if (segment := ack.first("MSA")) is not None)
    return Answered(mask.show(_render_answers(batch, acks, context.act)), ", ".join(codes))


def _render_answers(batch: MessageBatch, acks: Sequence[Hl7Message], act: ActionContext) -> str:
    """Return the text of the answer; empty if nothing in it is to be answered.

    A file is answered with a file (FHS), a batch with a batch (BHS), which name what they answer (HL7 v2.5.1 §2.10.3).
    """
    written = "".join(ack.render for ack in acks)
    if not written or not batch.headers:
        return written
    for name, trailer in (("BHS", "BTS"), ("FHS", "FTS")):
        found = [segment for segment in batch.headers if segment.name == name]
        if found:
            number = len(acks) if name == "BHS" else 1
            head = _batch_head(found, act.ids.new("ack"), act.now)
            end = build_segment(trailer, {1: str(number)}, head.delimiters)
            written = f"{head.render()}\r{written}{end.render()}\r"
    return written


def _batch_head(found: Sequence[Segment], id: str, at: datetime) -> Segment:
    """Return the header of the answer to the sender of the first; it names what it answers if that is one alone."""
    asked = found[0]
    values = {3: asked.raw(5), 4: asked.raw(6), 5: asked.raw(3), 6: asked.raw(4), 7: at.strftime("%Y%m%d%H%M%S%z")}
    values |= {11: id} | ({12: asked.raw(11)} if len(found) == 1 and asked.raw(11) else {})
    return build_segment(asked.name, values, asked.delimiters)


def _receive(context: Context, message: Hl7Message, around: Sequence[Flaw], stated_size: int) -> Hl7Message | None:
    state = context.state
    size = max(size_of(message.render), stated_size)
    if size > state.settings.max_message:
        return state.refuse_size(context.act, header_of(message), size)
    return state.receive(context.act, message, around)


@operation()
def list_sent(context: Context, _: NoInput) -> Sequence[Outgoing]:
    """List the messages you have sent, each with its acknowledgement code."""
    return context.state.sent


@operation()
def list_inbox(context: Context, inbox: InboxFilter) -> Sequence[Incoming]:
    """List received messages that are not acknowledged, oldest first. With all, every received message.

    `{"messages": [{"id", "control_id", "type", "arrived", "acknowledged", "message"}]}`; the message is in ER7.
    """
    return context.state.list(context.act, every=inbox.all)


@operation()
def read_message(context: Context, message: InboxMessage) -> str:
    """Return one message of the inbox, in ER7."""
    return context.state.take(context.act, message.id, context.transport or "http").text


@operation()
def acknowledge_message(context: Context, ack: NewAcknowledgement) -> None:
    """Acknowledge a message of the inbox: code AA (accepted), AE (error) or AR (rejected), with an optional text. Or
    give a complete ACK as message."""
    if ack.message.strip():
        message = parse_acknowledgement(ack.message, ack.charset, _mask(context))
        context.state.acknowledge(context.act, ack.id, message)
    else:
        context.state.acknowledge_as(context.act, ack.id, ack.code, ack.text)


@operation(tool=False, logs_body=False)
def name_listener(context: Context, listener: ListenerAddress) -> None:
    """Register the MLLP address where you listen; messages of the inbox are delivered there."""
    context.register_callback("listener", f"{listener.host}:{listener.port}")  # it may be refused
    context.state.name_listener(context.act)


@operation(tool=False)
def forget_listener(context: Context, _: NoInput) -> None:
    """Remove the registered MLLP address."""
    context.state.forget_listener(context.act)
    context.register_callback("listener", "")


OPERATIONS = (
    *(send_message, list_sent, list_inbox, read_message, acknowledge_message),
    *(name_listener, forget_listener),
)
