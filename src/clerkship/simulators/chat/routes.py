"""The operations of a chat."""

from clerkship.sandbox.exchange import Reply, json_reply
from clerkship.sandbox.route import Call, Route
from clerkship.simulators.chat import wire


def show_session(call: Call) -> Reply:
    """Who is there: `{"open", "person", "turns"}`."""
    return json_reply(200, {"open": call.state.open, "person": call.state.person, "turns": call.state.turns})


def list_messages(call: Call) -> Reply:
    """What was said, all or `?after=` the id of a message: `{"open", "messages": [{"id", "at", "from", "text"}]}`."""
    after = wire.parse_after(call.request.query.get("after", "0"))
    messages = [wire.render_message(event) for event in call.state.since(after)]
    return json_reply(200, {"open": call.state.open, "messages": messages})


def send_message(call: Call) -> Reply:
    """The agent says something: `{"text": …, "buttons": […]}`; the reply is that message with its `id`."""
    message = wire.parse_message(call.request.body)
    event = call.state.say(call.act, message.text, buttons=message.buttons)
    return json_reply(201, wire.render_message(event))


ROUTES = (
    Route("GET", "/session", "show_session", show_session),
    Route("GET", "/messages", "list_messages", list_messages, query={"after": "id of a message; only later ones"}),
    Route("POST", "/messages", "send_message", send_message, body=wire.NewMessage),
)
