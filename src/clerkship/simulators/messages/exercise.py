"""Requests that exercise every operation of messages."""

import orjson

from clerkship.model.dataset import Dataset
from clerkship.sandbox.request import Request

_PATIENT = {
    "resourceType": "Patient",
    "id": "ada",
    "name": [{"use": "official", "family": "Okafor", "given": ["Ada"]}],
    "telecom": [
        {"system": "phone", "value": "(555) 555-0170", "use": "home"},
        {"system": "phone", "value": "(555) 555-0171", "use": "mobile"},
        {"system": "email", "value": "ada@mail.example", "use": "home"},
    ],
}
DATASET = Dataset(name="patients", type="fhir", lines=(orjson.dumps(_PATIENT),))


def _send(**fields: object) -> Request:
    return Request("POST", "/messages", {}, {"content-type": "application/json"}, orjson.dumps(fields))


_NOTE = {"name": "note.txt", "content_type": "text/plain", "base64": "aGVsbG8="}

EXERCISE = (
    Request("GET", "/"),
    _send(channel="sms", to=["+15555550171"], text="Your visit is tomorrow at 9."),
    _send(channel="sms", to=["+15555550170"], text="To a landline."),
    _send(channel="sms", to=["12"], text="To no number."),
    _send(channel="email", to=["ada@mail.example"], subject="Visit", text="See you.", attachments=[_NOTE]),
    _send(channel="email", to=["nobody@else.example", "frontdesk@clinic.example"], subject="Visit", text="Copy."),
    _send(channel="portal", to=["Patient/ada"], subject="Result", text="All is well."),
    _send(channel="portal", to=["Patient/unknown"], text="Hello."),
    _send(channel="email", to=["ada@mail.example"], subject="a\r\nBcc: eve@x.example", text="x"),
    _send(text="no channel"),
    Request("GET", "/messages", {"direction": "outbound", "count": "2"}),
    Request("GET", "/messages", {"direction": "inbound", "unread": "true"}),
    Request("GET", "/messages/unknown"),
    Request("POST", "/messages/unknown/read"),
    Request("GET", "/threads"),
    Request("GET", "/threads/unknown"),
    Request("POST", "/threads/unknown/close"),
    Request("GET", "/attachments/unknown"),
    Request("GET", "/contacts", {"name": "oka"}),
    Request("GET", "/consents"),
)
