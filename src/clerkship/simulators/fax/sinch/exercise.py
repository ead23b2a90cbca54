"""Requests that use every operation of the Sinch API, for the conformance suite."""

import base64
from typing import Any

import orjson

from clerkship.sandbox.authentication.oauth import FORM as TOKEN_FORM
from clerkship.sandbox.operation import OperationCall
from clerkship.sandbox.request import Request
from clerkship.simulators.fax.config import FaxConfig
from clerkship.simulators.fax.sinch import operations as ops
from clerkship.simulators.fax.sinch.deliveries import SinchCall
from clerkship.simulators.fax.sinch.resources import FORM, JSON, build_service_id

_CONFIG = FaxConfig()
_PROJECT = f"/v3/projects/{_CONFIG.project}"
_SERVICE = f"{_PROJECT}/services/{build_service_id(_CONFIG.project)}"
_TEXT = base64.b64encode(b"Please send the notes of the last visit.").decode()
_BOUNDARY = "exercise"
_FORM_BODY = (
    f'--{_BOUNDARY}\r\nContent-Disposition: form-data; name="to"\r\n\r\n+15550100299\r\n'
    f'--{_BOUNDARY}\r\nContent-Disposition: form-data; name="file"; filename="note.txt"\r\n'
    f"Content-Type: text/plain\r\n\r\nA note.\r\n--{_BOUNDARY}--\r\n"
).encode()


def _send(method: str, path: str, body: dict[str, Any]) -> Request:
    return Request(method, path, headers={"content-type": JSON}, body=orjson.dumps(body))


SINCH_EXERCISE: tuple[Request | OperationCall[Any, Any], ...] = (
    Request("POST", "/oauth2/token", {}, {"content-type": TOKEN_FORM}, b"grant_type=client_credentials"),
    _send("POST", f"{_PROJECT}/faxes", {"to": "+15550100299", "files": [{"file": _TEXT, "fileType": "TXT"}]}),
    Request("POST", f"{_PROJECT}/faxes", {}, {"content-type": f"{FORM}; boundary={_BOUNDARY}"}, _FORM_BODY),
    _send("POST", f"{_PROJECT}/faxes", {"to": "+15550100299", "contentUrl": "http://127.0.0.1/note.pdf"}),
    Request("GET", f"{_PROJECT}/faxes", {"pageSize": "1", "direction": "OUTBOUND", "createTime>": "2020"}),
    Request("GET", f"{_PROJECT}/faxes/unknown"),
    Request("GET", f"{_PROJECT}/faxes/unknown/file.pdf"),
    Request("DELETE", f"{_PROJECT}/faxes/unknown/file"),
    Request("GET", f"{_PROJECT}/services"),
    Request("GET", _SERVICE),
    _send("PATCH", _SERVICE, {"incomingWebhookUrl": ""}),
    Request("GET", f"{_SERVICE}/numbers"),
    Request("GET", f"{_SERVICE}/coverPages"),
    Request("GET", f"{_SERVICE}/coverPages/unknown"),
    *(Request(method, f"{_SERVICE}/emails") for method in ops.REFUSING_OPERATIONS),
    SinchCall(ops.read_sinch_event, ops.SinchCallback(id="unknown", event="INCOMING_FAX")),
)
