"""The envelope of the CAQH CORE connectivity rule (vC2.2.0), HTTP with multipart/form-data, in real time.

An envelope with errors is answered with an envelope that has an error code. That is no HTTP error: the HTTP request
was processed (§4.3.3).
"""

import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import NamedTuple
from uuid import UUID, uuid5

from clerkship.formats.x12.interchange import Interchange
from clerkship.sandbox.authentication.password import LoginInput
from clerkship.sandbox.request import Refusal, Reply
from clerkship.simulators.x12.config import X12Config
from clerkship.simulators.x12.content import parse_content
from clerkship.simulators.x12.records import X12Interchange
from clerkship.simulators.x12.state import X12State
from clerkship.transports.multipart import FORM, FormPart

RULE_VERSION = "2.2.0"
REQUIRED_FIELDS = (
    "PayloadType",
    "ProcessingMode",
    "PayloadID",
    "TimeStamp",
    "SenderID",
    "ReceiverID",
    "CORERuleVersion",
    "Payload",
)
OPTIONAL_FIELDS = ("UserName", "Password", "PayloadLength", "CheckSum")
SUCCESS = "Success"
ENVELOPE_ERROR = "CoreEnvelopeError"
_PAYLOAD_TYPE = re.compile(r"X12_(270|276|278)_Request_(005010X[0-9]{3})(?:A1|E[0-9](?:_[0-9])?)?")
_UUID = re.compile(r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")
_TIME = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(?:\.[0-9]{1,6})?(?:Z|[+-][0-9]{2}:[0-9]{2})")
_NOT_NAME = re.compile(r"[^A-Za-z0-9]")
_BOUNDARY = "x12-core-reply"
NO_ID = UUID(int=0)


class CoreEnvelope(LoginInput):
    """The fields of an envelope, as they were sent."""

    user: str = ""
    password: str = ""
    fields: dict[str, str] = {}
    """Every field but the payload."""
    payload: bytes | None = None


class CoreError(Exception):
    """An error in an envelope, with its code in the rule."""

    def __init__(self, code: str, reason: str) -> None:
        super().__init__(reason)
        self.code, self.reason = code, reason


class CoreReply(NamedTuple):
    """The fields of an envelope to be sent back, in order."""

    fields: Mapping[str, str]
    answer: str
    """What the log shows as the answer: the error code."""


def read_envelope(parts: Sequence[FormPart]) -> CoreEnvelope:
    """Return the fields of a form."""
    fields = {part.name: part.data for part in parts}
    payload = fields.pop("Payload", None)
    texts = {name: data.decode(errors="replace").strip() for name, data in fields.items()}
    user, password = texts.pop("UserName", ""), texts.pop("Password", "")
    return CoreEnvelope(user=user, password=password, fields=texts, payload=payload)


def check_envelope(envelope: CoreEnvelope, config: X12Config) -> list[Interchange]:
    """Return the interchanges in an envelope. Raises CoreError."""
    fields = {**envelope.fields, "Payload": "given"} if envelope.payload else envelope.fields
    for name in REQUIRED_FIELDS:
        if not fields.get(name):
            raise CoreError(f"{name}Required", f"the field {name} is missing")
    for name in envelope.fields:
        if name not in REQUIRED_FIELDS and name not in OPTIONAL_FIELDS:
            shown = _NOT_NAME.sub("", name)[:40]
            raise CoreError(f"{shown}NotUnderstood", f"the field {shown} is not known in rule version {RULE_VERSION}")
    if fields["CORERuleVersion"] != RULE_VERSION:
        shown = fields["CORERuleVersion"]
        raise CoreError("VersionMismatch", f"CORERuleVersion is {shown!r} (expected: {RULE_VERSION})")
    for name, expected in _find_expected(fields, config).items():
        if expected:
            raise CoreError(f"{name}Illegal", f"{name} is {fields[name]!r} (expected: {expected})")
    return _parse_payload(envelope, config)


def _find_expected(fields: Mapping[str, str], config: X12Config) -> dict[str, str]:
    """Return what was expected of each field that can be wrong; empty if its value is right."""
    senders = [partner.id for partner in config.senders]
    is_type = _PAYLOAD_TYPE.fullmatch(fields["PayloadType"]) is not None
    is_id = _UUID.fullmatch(fields["PayloadID"]) is not None
    return {
        "PayloadType": "" if is_type else "such as X12_270_Request_005010X279A1",
        "ProcessingMode": "" if fields["ProcessingMode"] == "RealTime" else "RealTime",
        "PayloadID": "" if is_id else "a UUID",
        "TimeStamp": "" if _is_time(fields["TimeStamp"]) else "a time such as 2026-03-02T14:00:00Z",
        "SenderID": "" if fields["SenderID"] in senders else "the id of a known sender",
        "ReceiverID": "" if fields["ReceiverID"] == config.receiver.id else config.receiver.id,
    }


def _is_time(text: str) -> bool:
    if _TIME.fullmatch(text) is None:
        return False
    try:
        datetime.fromisoformat(text)
    except ValueError:
        return False
    return True


def _parse_payload(envelope: CoreEnvelope, config: X12Config) -> list[Interchange]:
    try:
        interchanges = parse_content(envelope.payload or b"", config)
    except Refusal as refusal:
        raise CoreError("PayloadIllegal", refusal.reason) from None
    match = _PAYLOAD_TYPE.fullmatch(envelope.fields["PayloadType"])
    assert match is not None
    for transaction in (each for interchange in interchanges for each in interchange.sets):
        if transaction.code != match[1]:
            reason = f"PayloadType states {match[1]}, and the payload has the transaction set {transaction.code[:10]}"
            raise CoreError("PayloadTypeIllegal", reason)
    return interchanges


def build_core_reply(
    state: X12State,
    now: datetime,
    envelope: CoreEnvelope,
    outcome: Sequence[X12Interchange] | CoreError,
    edi: str = "",
) -> CoreReply:
    """Return the envelope of a reply, or of an error."""
    error = outcome if isinstance(outcome, CoreError) else None
    request_id = envelope.fields.get("PayloadID", "")
    namespace = UUID(request_id) if _UUID.fullmatch(request_id) else NO_ID
    sent = now.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    fields = {
        "PayloadType": ENVELOPE_ERROR if isinstance(outcome, CoreError) else _find_payload_type(state, outcome),
        "ProcessingMode": "RealTime",
        "PayloadID": str(uuid5(namespace, f"{state.last_control_number} {sent}")),
        "TimeStamp": sent,
        "SenderID": state.config.receiver.id,
        "ReceiverID": envelope.fields.get("SenderID", ""),
        "CORERuleVersion": RULE_VERSION,
        "ErrorCode": error.code if error else SUCCESS,
        "ErrorMessage": error.reason if error else "",
    }
    return CoreReply(fields if error else {**fields, "Payload": edi}, fields["ErrorCode"])


def _find_payload_type(state: X12State, interchanges: Sequence[X12Interchange]) -> str:
    """Return the type of a reply: that of its answers, or else of its acknowledgments."""
    replies = [reply for interchange in interchanges for reply in interchange.replies]
    groups = [group for reply in replies for group in reply.groups]
    if not groups:
        return "X12_TA1_Response_00501X231A1"
    group = groups[-1]  # answers come after acknowledgments
    return f"X12_{state.transactions[group.transactions[0]].transaction}_Response_{group.version}"


def render_core_fields(fields: Mapping[str, str], status: int = 200, answer: str = "") -> Reply:
    """Write an envelope as multipart/form-data (RFC 7578)."""
    boundary = _BOUNDARY
    while any(boundary in value for value in fields.values()):
        boundary += "-"
    lines = []
    for name, value in fields.items():
        media = "Content-Type: application/edi-x12\r\n" if name == "Payload" else ""
        lines.append(f'--{boundary}\r\nContent-Disposition: form-data; name="{name}"\r\n{media}\r\n{value}\r\n')
    body = "".join([*lines, f"--{boundary}--\r\n"]).encode()
    return Reply(status, body, f"{FORM}; boundary={boundary}", answer=answer)


def refuse_envelope(refusal: Refusal) -> Reply:
    """Write a refusal of the HTTP request as an envelope with an error."""
    code = "UnAuthorized" if refusal.status == 401 else "Sender" if refusal.status < 500 else "Receiver"
    fields = {"PayloadType": ENVELOPE_ERROR, "ProcessingMode": "RealTime", "CORERuleVersion": RULE_VERSION}
    return render_core_fields({**fields, "ErrorCode": code, "ErrorMessage": refusal.reason}, refusal.status, code)
