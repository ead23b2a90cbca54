"""File patient portal messages in the chart, as Communication resources."""

import base64
from collections.abc import Mapping, Sequence
from typing import Any

from clerkship.events.event import Event
from clerkship.formats.fhir.resource import Resource
from clerkship.reactions.communication import COMMUNICATION, MEDIUM_SYSTEM, PORTAL_MEDIUM
from clerkship.reactions.contract import React
from clerkship.sandbox.state import ActionContext
from clerkship.simulators.fhir.state import FhirState
from clerkship.simulators.fhir.transaction import Transaction
from clerkship.simulators.fhir.write import create_resource
from clerkship.simulators.messages.events import MessageArrived, MessageSent
from clerkship.simulators.messages.state import MessagesState

CATEGORY_SYSTEM = "http://terminology.hl7.org/CodeSystem/communication-category"
_CATEGORY = {"coding": [{"system": CATEGORY_SYSTEM, "code": "notification"}], "text": "Portal message"}


def build_communication(
    message: MessageSent | MessageArrived, messages: MessagesState, transaction: Transaction
) -> Resource:
    """Return the Communication of a message, without an id. Accounts that the chart does not have are named only."""
    header = message.header
    accounts = (header.sender,) if isinstance(message, MessageArrived) else header.to
    people = [_build_reference(account, messages, transaction) for account in accounts]
    organization = {"display": messages.config.organization}
    now = transaction.local_time.isoformat(timespec="seconds")
    resource: Resource = {
        "resourceType": COMMUNICATION,
        "identifier": [{"value": header.id, "assigner": organization}],
        "status": "completed",
        "category": [_CATEGORY],
        "medium": [{"coding": [{"system": MEDIUM_SYSTEM, "code": PORTAL_MEDIUM}]}],
        "sent": now,
        "received": now,  # a patient portal message is in the inbox at once
    }
    if isinstance(message, MessageArrived):
        resource |= {"sender": people[0], "recipient": [organization]}
    else:
        resource |= {"sender": organization, "recipient": people}
    if len(people) == 1 and people[0].get("reference", "").startswith("Patient/"):
        resource["subject"] = people[0]
    if header.subject:
        resource["topic"] = {"text": header.subject}
    answered = _find_answered(header.in_reply_to, messages, transaction)
    if answered is not None:
        resource["inResponseTo"] = [{"reference": answered}]
    payload = _build_payload(message, messages)
    return resource | ({"payload": payload} if payload else {})


def _build_reference(account: str, messages: MessagesState, transaction: Transaction) -> dict[str, Any]:
    """Return a reference to the owner of a patient portal account, with the name in the directory."""
    entries = messages.directory.find("portal", account)
    name = entries[0].name if entries else account
    known = "/" in account and transaction.exists(account)
    return {"reference": account, "display": name} if known else {"display": name}


def _find_answered(id: str | None, messages: MessagesState, transaction: Transaction) -> str | None:
    """Return the key of the Communication of an earlier message; None if the chart does not have it."""
    if id is None:
        return None
    reference = messages.mailbox.find_message(id).header.reference
    if reference is not None and transaction.exists(reference):
        return reference
    resources = transaction.state.find(COMMUNICATION, [("identifier", id)])
    return f"{COMMUNICATION}/{resources[0]['id']}" if resources else None


def _build_payload(message: MessageSent | MessageArrived, messages: MessagesState) -> Sequence[dict[str, Any]]:
    """Return the text and the attachments. A string of FHIR is not empty (R4 datatypes: string)."""
    payload: list[dict[str, Any]] = [{"contentString": message.text}] if message.text.strip() else []
    for attachment in message.header.attachments:
        data = messages.attachment(attachment.id).data
        content: dict[str, Any] = {"contentType": attachment.content_type, "title": attachment.name, "size": len(data)}
        if data:
            content["data"] = base64.b64encode(data).decode()
        payload.append({"contentAttachment": content})
    return payload


def file_message(state: FhirState, action: ActionContext, event: Event) -> str | None:
    """Create the Communication of a patient portal message, and return its key.

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
