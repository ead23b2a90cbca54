"""Send the one-time codes of a payer portal to the people of the practice, by text message or e-mail."""

from clerkship.events.event import Event
from clerkship.model.conversation_key import normalize_address
from clerkship.sandbox.state import ActionContext
from clerkship.simulators.messages.outgoing import IncomingMessage
from clerkship.simulators.messages.records import Channel
from clerkship.simulators.messages.state import MessagesState
from clerkship.simulators.portal.desk import Desk
from clerkship.simulators.portal.events import CodeSent
from clerkship.simulators.portal.state import PortalState
from clerkship.text.folding import to_file_stem

SENDER_NUMBER = "+15550100186"


def send_code(state: MessagesState, action: ActionContext, event: Event) -> None:
    """Let a code arrive at the number or address of the user; at the first one if the organization has not that one."""
    if not isinstance(event.payload, CodeSent):
        return
    portal = action.source(PortalState)
    name = Desk(portal, action, portal.config.user).site_name
    is_email = event.payload.channel == "email"
    channel: Channel = "email" if is_email else "sms"
    owned = state.config.addresses if is_email else state.config.numbers
    to = normalize_address(channel, event.payload.to)
    host = to_file_stem(name, 60).replace("_", "-")
    message = IncomingMessage(
        channel=channel,
        sender=f"no-reply@{host}.example" if is_email else SENDER_NUMBER,
        to=(to,) if to in {normalize_address(channel, each) for each in owned} else (),
        subject=f"Your {name} verification code" if is_email else None,
        text=f"{name}: your verification code is {event.payload.code}. Do not share it. We never ask for it by phone.",
    )
    state.receive(action, message)


REACTIONS = {CodeSent.kind: send_code}
