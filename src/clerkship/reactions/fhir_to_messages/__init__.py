"""Send a Communication that is created in the chart to its patient, as a patient portal message."""

import base64
import binascii
from collections.abc import Mapping
from typing import Any

from clerkship.events.event import Event
from clerkship.formats.fhir.resource import Resource, list_objects
from clerkship.reactions.communication import COMMUNICATION, PORTAL_MEDIUM, find_key, find_message_id, list_codes
from clerkship.reactions.contract import React
from clerkship.sandbox.request import Refusal
from clerkship.sandbox.state import ActionContext
from clerkship.simulators.fhir.events import ResourceCreated
from clerkship.simulators.fhir.state import WITHDRAW, FhirState
from clerkship.simulators.messages.events import MessageArrived, MessageSent
from clerkship.simulators.messages.outgoing import BINARY_TYPE, NewAttachment, OutgoingMessage
from clerkship.simulators.messages.state import MessagesState

SENT_STATUSES = ("in-progress", "completed")
"""Other statuses are drafts, or say that nothing is sent (R4 event-status)."""
PORTAL_MEDIA = frozenset({PORTAL_MEDIUM, "WRITTEN", "ELECTRONIC"})
"""Media that may mean the portal. Others, such as PHONE and MAILWRIT, document what happened elsewhere."""


def build_message(resource: Resource, chart: FhirState, messages: MessagesState) -> OutgoingMessage | None:
    """Return the message to send; None if the Communication is not to be sent to a patient on the portal.

    That is so without a Patient as recipient, without a payload, for a Patient as sender, for other statuses, and for
    other media. Raises Refusal for content that cannot be sent.
    """
    recipients = [key for each in list_objects(resource, "recipient") if (key := find_key(each)).startswith("Patient/")]
    media = set(list_codes(resource.get("medium")))
    is_from_patient = find_key(resource.get("sender")).startswith("Patient/")
    if resource.get("status") not in SENT_STATUSES or is_from_patient or (media and not media & PORTAL_MEDIA):
        return None
    payload = list_objects(resource, "payload")
    if not recipients or not payload:
        return None
    topic = resource.get("topic")
    subject = topic.get("text") if isinstance(topic, Mapping) else None
    attachments = (_read_attachment(number, part) for number, part in enumerate(payload) if "contentString" not in part)
    return OutgoingMessage(
        channel="portal",
        to=tuple(dict.fromkeys(recipients)),
        subject=subject if isinstance(subject, str) else None,
        text="\n\n".join(part["contentString"] for part in payload if isinstance(part.get("contentString"), str)),
        attachments=tuple(attachments),
        in_reply_to=_find_answered(resource, chart, messages),
        reference=f"{COMMUNICATION}/{resource['id']}",
    )


def _find_answered(resource: Resource, chart: FhirState, messages: MessagesState) -> str | None:
    """Return the id of the message that it answers; None if the chart has no patient portal message there."""
    for reference in list_objects(resource, "inResponseTo"):
        key = find_key(reference)
        answered = chart.resource(key) if key.startswith(f"{COMMUNICATION}/") else None
        id = find_message_id(answered, messages) if answered is not None else None
        if id is not None:
            return id
    return None


def _read_attachment(number: int, part: Mapping[str, Any]) -> NewAttachment:
    """Return the file of a payload; refused if the resource does not hold its content."""
    content, place = part.get("contentAttachment"), f"Communication.payload[{number}]"
    if not isinstance(content, Mapping):
        reason = f"{place}: only contentString and contentAttachment can be sent to the portal"
        raise Refusal(422, "not_on_portal", reason)
    if not isinstance(content.get("data"), str):
        raise Refusal(422, "no_data", f"{place}.contentAttachment has no data: put the content there, not its address")
    try:
        data = base64.b64decode("".join(content["data"].split()), validate=True)
    except (binascii.Error, ValueError):
        raise Refusal(422, "invalid_data", f"{place}.contentAttachment.data is not base64") from None
    return NewAttachment(
        name=str(content.get("title") or f"attachment-{number + 1}"),
        content_type=str(content.get("contentType") or BINARY_TYPE),
        data=data,
    )


def send_communication(state: MessagesState, action: ActionContext, event: Event) -> str | None:
    """Send a new Communication, and return the id of the message. Refused if the patient portal refuses the message.

    Ignored are Communications that stand for a patient portal message already, that a step creates, and that are not to
    be sent; see `build_message`.
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
