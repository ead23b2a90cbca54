"""A chat over HTTP, with messages as JSON."""

from typing import Any, cast

import orjson
from pydantic import ValidationError

from clerkship.events.event import Event, Utterance
from clerkship.kit.depth import MAX_DEPTH, is_deeper_than
from clerkship.sandbox.request import Refusal, Reply, json_reply
from clerkship.sandbox.route import HttpCall, Route
from clerkship.simulators.chat.operations import (
    Context,
    MessagesAfter,
    NewMessage,
    list_messages,
    send_message,
    show_session,
)


def parse_message(call: HttpCall, context: Context) -> NewMessage:
    """Parse a posted message; raise Refusal if it is not valid."""
    try:
        content = orjson.loads(call.body)
        if is_deeper_than(content):
            raise Refusal(422, "not_a_message", f"the body is nested more than {MAX_DEPTH} levels deep")
        return NewMessage.model_validate(content)
    except orjson.JSONDecodeError:
        raise Refusal(400, "not_json", "the body is not JSON") from None
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(map(str, first["loc"])) or "body"
        raise Refusal(422, "not_a_message", f"{place}: {first['msg']}") from None


def parse_after(call: HttpCall, context: Context) -> MessagesAfter:
    """Parse the `after` parameter of a query."""
    text = call.request.query.get("after", "0")
    if not text.isdigit() or len(text) > 18:
        raise Refusal(400, "bad_after", "`after` is the id of a message")
    return MessagesAfter(after=int(text))


def message_to_json(event: Event) -> dict[str, Any]:
    """Return a message as an agent reads it."""
    utterance = cast(Utterance, event.payload)
    sender = event.actor if not utterance.is_past else "agent" if utterance.is_outgoing else "person"
    data = {"id": event.seq, "at": event.at.isoformat(), "from": sender, "text": utterance.text}
    return data | {"buttons": list(utterance.buttons)} if utterance.buttons else data


def render_message(call: HttpCall, context: Context, event: Event) -> Reply:
    """Render a message as JSON."""
    return json_reply(201, message_to_json(event))


def render_messages(call: HttpCall, context: Context, events: list[Event]) -> Reply:
    """Render a list of messages as JSON."""
    return json_reply(200, {"open": context.state.open, "messages": [message_to_json(event) for event in events]})


ROUTES = (
    Route("GET", "/session", show_session),
    Route("GET", "/messages", list_messages, parse=parse_after, render=render_messages),
    Route("POST", "/messages", send_message, parse=parse_message, render=render_message),
)
