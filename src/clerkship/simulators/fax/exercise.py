"""Requests that exercise every operation of a fax line."""

import base64

import orjson

from clerkship.model.dataset import Dataset
from clerkship.sandbox.request import Request
from clerkship.transports.multipart import FORM

DATASET = Dataset(name="texts", type="fax_texts", lines=(b"0" * 64 + b' [["Referral",0,0,90,20,0]]',))


def _send(**fields: object) -> Request:
    return Request("POST", "/faxes", {}, {"content-type": "application/json"}, orjson.dumps(fields))


def _build_form(**fields: str) -> Request:
    head = "--page\r\nContent-Disposition: form-data"
    parts = [f'{head}; name="{name}"\r\n\r\n{value}' for name, value in fields.items()]
    file = f'{head}; name="file"; filename="note.txt"\r\nContent-Type: text/plain\r\n\r\nA note in a form.'
    body = "\r\n".join([*parts, file, "--page--", ""])
    return Request("POST", "/faxes", {}, {"content-type": f"{FORM}; boundary=page"}, body.encode())


_OWN = "+15550100200"
_TEXT = {"name": "letter.txt", "text": "Dear colleague,\n\nthank you for the referral.\fPage two."}
_PROGRAM = {"name": "letter.pdf", "base64": base64.b64encode(b"MZ\x90\x00\x03" + b"\x00" * 60).decode()}

EXERCISE = (
    Request("GET", "/"),
    Request("GET", "/contacts", {"name": "clinic"}),
    _send(to=_OWN, documents=[_TEXT], header="Front desk", resolution="standard"),
    _build_form(to=_OWN, sender=_OWN, max_retries="0"),
    _send(to="+15559990000", documents=[_TEXT], max_retries=0),
    _send(to="12", documents=[_TEXT]),
    _send(to=_OWN, documents=[_PROGRAM]),
    _send(to=_OWN, documents=[_TEXT], header="a\r\nb"),
    _send(to=_OWN, documents=[]),
    Request("GET", "/faxes", {"direction": "outbound", "count": "1"}),
    Request("GET", "/faxes", {"direction": "inbound", "unread": "true"}),
    Request("GET", "/faxes/unknown"),
    Request("GET", "/faxes/unknown/content", {"format": "tiff"}),
    Request("GET", "/faxes/unknown/pages/1"),
    Request("GET", "/faxes/unknown/text"),
    Request("POST", "/faxes/unknown/read"),
    Request("DELETE", "/faxes/unknown/content"),
    Request("POST", "/webhook", {}, {"content-type": "application/json"}, b'{"url": ""}'),
)
