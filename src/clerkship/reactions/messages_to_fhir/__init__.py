"""File portal messages in the chart, as Communication resources."""

from collections.abc import Mapping

from clerkship.events.event import Event
from clerkship.reactions.contract import React
from clerkship.reactions.messages_to_fhir.resource import build_communication
from clerkship.sandbox.state import ActionContext
from clerkship.simulators.fhir.state import FhirState
from clerkship.simulators.fhir.transaction import Transaction
from clerkship.simulators.fhir.write import create_resource
from clerkship.simulators.messages.events import MessageArrived, MessageSent
from clerkship.simulators.messages.state import MessagesState


def file_message(state: FhirState, action: ActionContext, event: Event) -> str | None:
    """Create the Communication of a portal message, and return its key.

    Text messages and e-mail are ignored, and so is a message that this chart already has as a Communication.
    """
    message = event.payload
    if not isinstance(message, MessageSent | MessageArrived) or message.header.channel != "portal":
        return None
    if message.header.reference is not None and state.resource(message.header.reference) is not None:
        return None
    with Transaction(state, action) as transaction:
        resource = build_communication(message, action.source(MessagesState), transaction)
        return create_resource(transaction, resource, operation=event.kind)


REACTIONS: Mapping[str, React] = {MessageSent.kind: file_message, MessageArrived.kind: file_message}
