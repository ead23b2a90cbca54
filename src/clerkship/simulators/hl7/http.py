"""The HTTP routes of an interface engine: messages, inbox and listener."""

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import orjson
from pydantic import ValidationError

from clerkship.formats.hl7.message import MEDIA_TYPE, encode_message
from clerkship.sandbox.request import Refusal, Reply, json_reply
from clerkship.sandbox.route import HttpCall, Route
from clerkship.simulators.hl7 import operations as ops
from clerkship.simulators.hl7.operations import Context
from clerkship.simulators.hl7.state import InboxEntry, SentMessage

ER7 = f"{MEDIA_TYPE}; charset=utf-8"
_CHARSET = re.compile(r";\s*charset\s*=\s*\"?([\w.:-]{1,40})", re.IGNORECASE)


def _charset(call: HttpCall) -> str:
    """Return the charset that a request states for its body."""
    stated = _CHARSET.search(call.request.headers.get("content-type", ""))
    return "" if stated is None else stated[1]


def parse_messages(call: HttpCall, context: Context) -> ops.NewMessages:
    """Parse a request to send messages."""
    return ops.NewMessages(message=call.body, charset=_charset(call))


def parse_acknowledgment(call: HttpCall, context: Context) -> ops.NewAcknowledgment:
    """Parse an acknowledgment: an ACK in the body, or a code and a text in the query."""
    query, id = call.request.query, call.params["id"]
    code, text = query.get("code", "AA"), query.get("text", "")
    return ops.NewAcknowledgment(id=id, code=code, text=text, message=call.body, charset=_charset(call))


def parse_filter(call: HttpCall, context: Context) -> ops.InboxFilter:
    """Parse `all=true` or `all=false`."""
    text = call.request.query.get("all", "")
    if text.lower() not in ("true", "false", ""):
        raise Refusal(400, "bad_flag", f"expected true or false, not {text[:40]!r}")
    return ops.InboxFilter(all=text.lower() == "true")


def parse_listener(call: HttpCall, context: Context) -> ops.ListenerAddress:
    """Parse the address of a listener."""
    try:
        return ops.ListenerAddress.model_validate(orjson.loads(call.body))
    except (orjson.JSONDecodeError, ValidationError):
        raise Refusal(400, "bad_listener", 'expected {"host": "127.0.0.1", "port": 6661}') from None


def render_acks(call: HttpCall, context: Context, acks: ops.Acknowledgments) -> Reply:
    """Render acknowledgments."""
    return replace(render_er7(call, context, acks.text), answer=acks.codes)


def render_er7(call: HttpCall, context: Context, text: str) -> Reply:
    """Render messages in the charset that they state; 204 if there is none."""
    if not text:
        return Reply(204)
    body, charset = encode_message(text)
    return Reply(200, body, f"{MEDIA_TYPE}; charset={charset}")


def render_sent(call: HttpCall, context: Context, sent: Sequence[SentMessage]) -> Reply:
    """Render the messages that the agent sent, each with its acknowledgment."""
    return json_reply(200, {"messages": [_sent_to_json(message) for message in sent]})


def _sent_to_json(sent: SentMessage) -> dict[str, Any]:
    data = {"control_id": sent.control_id, "type": sent.type, "sent": sent.at.isoformat(), "taken": sent.is_accepted}
    return data | {"ack": sent.ack, "reasons": list(sent.reasons), "message": sent.text}


def render_inbox(call: HttpCall, context: Context, inbox: Sequence[InboxEntry]) -> Reply:
    """Render the messages for the agent, each with the agent's acknowledgment."""
    return json_reply(200, {"messages": [_inbox_to_json(message) for message in inbox]})


def _inbox_to_json(entry: InboxEntry) -> dict[str, Any]:
    data = {"id": entry.id, "control_id": entry.control_id, "type": entry.type, "arrived": entry.at.isoformat()}
    return data | {"acknowledged": entry.acks[-1].code if entry.acks else None, "message": entry.text}


ROUTES = (
    Route(
        "POST",
        "/hl7/outbound",
        ops.send_message,
        body="message",
        media=ER7,
        parse=parse_messages,
        render=render_acks,
    ),
    Route("GET", "/hl7/outbound", ops.list_sent, render=render_sent),
    Route("GET", "/hl7/inbox", ops.list_inbox, parse=parse_filter, render=render_inbox),
    Route("GET", "/hl7/inbox/{id}", ops.read_message, render=render_er7),
    Route(
        "POST",
        "/hl7/inbox/{id}/ack",
        ops.acknowledge_message,
        body="message",
        query=("code", "text"),
        media=ER7,
        parse=parse_acknowledgment,
    ),
    Route("PUT", "/hl7/listener", ops.name_listener, parse=parse_listener),
    Route("DELETE", "/hl7/listener", ops.forget_listener),
)
