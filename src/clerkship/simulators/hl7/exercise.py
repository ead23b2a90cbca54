"""Requests that exercise every operation of an interface engine."""

from clerkship.formats.hl7.message import MEDIA_TYPE
from clerkship.sandbox.request import Request


def _post(text: str) -> Request:
    return Request("POST", "/hl7/outbound", headers={"content-type": MEDIA_TYPE}, body=text.encode())


def _admission(id: str, *, accept: str = "", version: str = "2.5.1", type: str = "ADT^A01^ADT_A01") -> str:
    lines = (
        f"MSH|^~\\&|EHR|CLINIC|LAB|CLERKSHIP|20260302090000||{type}|{id}|P|{version}|||{accept}",
        "EVN||20260302090000",
        "PID|1||123456^^^CLINIC^MR||Okafor^Ada||19650315|F",
        "PV1|1|O",
    )
    return "\r".join((*lines, ""))


_BATCH = "\r".join(
    (
        "FHS|^~\\&|EHR|CLINIC|LAB|CLERKSHIP|20260302090000||||F1",
        "BHS|^~\\&|EHR|CLINIC|LAB|CLERKSHIP|20260302090000||||B1",
        _admission("B-1") + _admission("B-2") + "BTS|2",
        "FTS|1",
        "",
    )
)
_ENHANCED_MODE = "AL|AL"

EXERCISE = (
    Request("GET", "/hl7/inbox"),
    _post(_admission("1")),
    _post(_admission("1")),
    _post(_admission("1").replace("Ada", "Eve")),
    _post(_admission("2", accept=_ENHANCED_MODE)),
    _post(_admission("3", accept=_ENHANCED_MODE)),
    _post(_admission("4", version="1.9")),
    _post(_admission("5").replace("PID|1||123456^^^CLINIC^MR", "PID|1||")),
    _post(_admission("")),
    _post(_admission("6", accept="NE|NE")),
    _post(_BATCH),
    _post(_admission("7", type="QRY^A19")),
    Request("GET", "/hl7/outbound"),
    Request("GET", "/hl7/inbox"),
    Request("GET", "/hl7/inbox/1"),
    Request("GET", "/hl7/inbox", {"all": "true"}),
    Request("POST", "/hl7/inbox/1/ack"),
    Request("POST", "/hl7/inbox/2/ack", {"code": "AE", "text": "what is this?"}),
    Request("POST", "/hl7/inbox/2/ack", {"code": "AR"}),
    Request("PUT", "/hl7/listener", headers={"content-type": "application/json"}, body=b'{"port": 6661}'),
    Request("DELETE", "/hl7/listener"),
)
