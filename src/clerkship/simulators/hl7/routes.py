"""The operations of an interface engine."""

from collections.abc import Sequence
from dataclasses import replace

from clerkship.hl7.flaw import Flaw
from clerkship.hl7.message import Message
from clerkship.sandbox.exchange import Refusal, Reply, json_reply
from clerkship.sandbox.route import Call, Route
from clerkship.simulators.hl7 import wire
from clerkship.simulators.hl7.batch import render_answers
from clerkship.simulators.hl7.state import Hl7State

EVENTS_EACH = 4
"""What a message of a batch may leave in the log: itself, its answer, and what follows from it elsewhere."""
INBOX_ID = {"id": "which message of the inbox: 1, 2, …"}


def _mask(call: Call) -> wire.Mask:
    state: Hl7State = call.state
    return wire.Mask(call.alias, state.settings.facility)


def send_message(call: Call) -> Reply:
    r"""Send an HL7 v2 message (ADT, ORM, ORU, SIU or MDM) in ER7: the body is its segments, one a line, the first like
    `MSH|^~\&|EHR|CLINIC|LAB|CLERKSHIP|20260302090000||ADT^A08^ADT_A01|ID-1|P|2.5.1`, with a new control id (MSH-10).

    Answered with the ACK: MSA-1 is AA if it was taken; AE or AR if not, and then its ERR segments say why. Correct it
    and send it again. A batch (FHS, BHS) is answered with a batch.
    """
    mask = _mask(call)
    batch, messages = wire.parse_sheet(call.request, mask)
    if len(messages) > 1 and len(messages) * EVENTS_EACH > call.room:
        reason = f"this run's log has no room for {len(messages)} messages any more; nothing of the batch was done"
        raise Refusal(429, "too_many_requests", reason)
    told = [_receive(call, message, batch.flaws) for message in messages]
    acks = [ack for ack in told if ack is not None]
    codes = dict.fromkeys(said.text(1) for ack in acks if (said := ack.first("MSA")) is not None)
    return replace(wire.render_er7(mask.show(render_answers(batch, acks, call.act))), answer=", ".join(codes))


def _receive(call: Call, message: Message, around: Sequence[Flaw]) -> Message | None:
    state: Hl7State = call.state
    size = max(wire.size_of(message.render), wire.stated_size(call.request))
    if size > state.settings.max_message:
        return state.refuse_size(call.act, wire.head_of(message), size)
    return state.receive(call.act, message, around)


def list_sent(call: Call) -> Reply:
    """What you have sent, taken or refused, in order, each with the code it was acknowledged with."""
    state: Hl7State = call.state
    return json_reply(200, wire.render_sent(state.sent))


def list_inbox(call: Call) -> Reply:
    """HL7 v2 messages that came for you and wait for an acknowledgement, the oldest first; with `all=true` every one.

    `{"messages": [{"id", "control_id", "type", "arrived", "acknowledged", "message"}]}`; the message is in ER7.
    """
    state: Hl7State = call.state
    every = wire.parse_flag(call.request.query.get("all", ""))
    return json_reply(200, wire.render_inbox(state.list(call.act, every=every)))


def read_message(call: Call) -> Reply:
    """One HL7 v2 message of the inbox, in ER7."""
    over = "mllp" if call.request.headers.get(wire.OVER) == "mllp" else "http"
    return wire.render_er7(call.state.take(call.act, call.params["id"], over).text)


def acknowledge_message(call: Call) -> Reply:
    """Acknowledge a message of the inbox, once it is dealt with: `code` AA (accepted), AE (error) or AR (rejected),
    with a `text` that says why. Or give the whole ACK in ER7 as the body."""
    state: Hl7State = call.state
    query, id = call.request.query, call.params["id"]
    if call.request.body.strip():
        state.acknowledge(call.act, id, wire.parse_ack(call.request, _mask(call)))
    else:
        state.acknowledge_as(call.act, id, query.get("code", "AA"), query.get("text", ""))
    return Reply(204)


def name_listener(call: Call) -> Reply:
    """Say where you listen for MLLP, on this machine: from then on what is in the inbox is delivered there."""
    found = wire.parse_listener(call.request.body)
    call.link("listener", f"{found.host}:{found.port}")  # it may be refused
    call.state.name_listener(call.act)
    return Reply(204)


def forget_listener(call: Call) -> Reply:
    """Say that you listen no more."""
    call.state.forget_listener(call.act)
    call.link("listener", "")
    return Reply(204)


ROUTES = (
    Route(
        "POST",
        "/hl7/outbound",
        "send_message",
        send_message,
        body="text",
        media=wire.ER7,
        about={"body": "the message: its segments, one a line, from MSH on"},
    ),
    Route("GET", "/hl7/outbound", "list_sent", list_sent),
    Route("GET", "/hl7/inbox", "list_inbox", list_inbox, query={"all": "true: those acknowledged too"}),
    Route("GET", "/hl7/inbox/{id}", "read_message", read_message, about=INBOX_ID),
    Route(
        "POST",
        "/hl7/inbox/{id}/ack",
        "acknowledge_message",
        acknowledge_message,
        query={"code": "AA (if not given), AE, AR; or CA, CE, CR", "text": "why; goes into MSA-3"},
        body="text",
        media=wire.ER7,
        about={**INBOX_ID, "body": "an ACK of your own, where `code` and `text` are not enough"},
    ),
    Route("PUT", "/hl7/listener", "name_listener", name_listener, body=wire.Listener, tool=False, logs_body=False),
    Route("DELETE", "/hl7/listener", "forget_listener", forget_listener, tool=False),
)
