"""Send a Communication that is created in the chart to its patient, as a portal message."""

from collections.abc import Mapping

from clerkship.events.event import Event
from clerkship.reactions.communication import COMMUNICATION
from clerkship.reactions.contract import React
from clerkship.reactions.fhir_to_messages.message import build_message
from clerkship.sandbox.state import ActionContext
from clerkship.simulators.fhir.events import ResourceCreated
from clerkship.simulators.fhir.state import FhirState
from clerkship.simulators.fhir.transaction import WITHDRAW
from clerkship.simulators.messages.events import MessageArrived, MessageSent
from clerkship.simulators.messages.state import MessagesState


def send_communication(state: MessagesState, action: ActionContext, event: Event) -> str | None:
    """Send a new Communication, and return the id of the message. Refused if the portal refuses the message.

    Ignored are Communications that stand for a portal message already, that a step creates, and that are not to be
    sent; see `build_message`.
    """
    created = event.payload
    if not isinstance(created, ResourceCreated) or created.type != COMMUNICATION:
        return None
    if event.actor == "scenario" or created.operation in (MessageSent.kind, MessageArrived.kind, WITHDRAW):
        return None
    message = build_message(created.resource, action.source(FhirState), state)
    if message is None:
        return None
    sent = state.send(action, message).payload
    return sent.header.id if isinstance(sent, MessageSent) else None


REACTIONS: Mapping[str, React] = {ResourceCreated.kind: send_communication}
