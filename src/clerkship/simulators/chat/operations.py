"""The operations of a chat."""

from typing import Annotated, Any

from pydantic import Field

from clerkship.events.event import Event
from clerkship.model.frozen import Frozen
from clerkship.sandbox.operation import NoInput, OperationContext, operation
from clerkship.simulators.chat.state import ChatState

Context = OperationContext[ChatState]


class NewMessage(Frozen):
    """The input of `send_message`."""

    text: Annotated[str, Field(min_length=1, max_length=100_000, description="the text of the message")]
    buttons: Annotated[tuple[dict[str, Any], ...], Field(description='buttons to show: [{"title", "payload"}]')] = ()


class MessagesAfter(Frozen):
    """The input of `list_messages`."""

    after: Annotated[int, Field(description="id of a message; only later messages are listed")] = 0


@operation()
def show_session(context: Context, _: NoInput) -> dict[str, Any]:
    """Show whether the conversation is open, who the person is, and how many turns it has:
    {"open", "person", "turns"}."""
    state = context.state
    return {"open": state.open, "person": state.person, "turns": state.turns}


@operation()
def list_messages(context: Context, messages: MessagesAfter) -> list[Event]:
    """List the messages of the conversation, oldest first: {"open", "messages": [{"id", "at", "from", "text"}]}.
    With after, only later ones."""
    return context.state.since(messages.after)


@operation()
def send_message(context: Context, message: NewMessage) -> Event:
    """Send a message to the person. Returns the message with its id."""
    return context.state.say(context.action, message.text, buttons=message.buttons)


OPERATIONS = (show_session, list_messages, send_message)
