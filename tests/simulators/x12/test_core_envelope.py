"""The multipart envelope of the CORE connectivity rule, sent by a real client."""

from email.message import EmailMessage
from email.parser import BytesParser
from email.policy import HTTP
from typing import Any

import httpx
import pytest

from tests.simulators.x12.clearinghouse import Clearinghouse, authorization, eligibility, one

ENVELOPE = {
    "PayloadType": "X12_270_Request_005010X279A1",
    "ProcessingMode": "RealTime",
    "PayloadID": "e51d4fae-7dec-11d0-a765-00a0c91e6da6",
    "TimeStamp": "2026-03-02T14:00:00Z",
    "SenderID": "CLINIC01",
    "ReceiverID": "CLEARING01",
    "CORERuleVersion": "2.2.0",
}
EDI = one("270", eligibility())


def submit(clearinghouse: Clearinghouse, payload: str | None = EDI, **fields: str | None) -> httpx.Response:
    """Send an envelope with a client; None leaves a field out."""
    url = f"{clearinghouse.rig.url()}/x12/core"
    values = {name: value for name, value in {**ENVELOPE, **fields}.items() if value is not None}
    files: Any = {name: (None, value) for name, value in values.items()}
    if payload is not None:
        files["Payload"] = (None, payload.encode(), "application/edi-x12")
    headers = {} if "Password" in fields else {"authorization": f"Bearer {clearinghouse.rig.token}"}
    return httpx.post(url, files=files, headers=headers)


def fields_of(response: httpx.Response) -> dict[str, str]:
    """Parse a multipart reply with the parser of the standard library."""
    head = f"Content-Type: {response.headers['content-type']}\r\n\r\n".encode()
    message = BytesParser(EmailMessage, policy=HTTP).parsebytes(head + response.content)
    parts = [part for part in message.iter_parts() if isinstance(part, EmailMessage)]
    contents = [part.get_payload(decode=True) for part in parts]
    names = [str(part.get_param("name", header="content-disposition")) for part in parts]
    return {
        name: content.decode().strip()
        for name, content in zip(names, contents, strict=True)
        if isinstance(content, bytes)
    }


def test_envelope_is_answered_by_an_envelope_with_the_answer() -> None:
    with Clearinghouse() as clearinghouse:
        response = submit(clearinghouse)
        fields = fields_of(response)
        assert (response.status_code, fields["ErrorCode"], fields["ErrorMessage"]) == (200, "Success", "")
        assert fields["PayloadType"] == "X12_271_Response_005010X279A1"
        assert (fields["SenderID"], fields["ReceiverID"]) == ("CLEARING01", "CLINIC01")
        assert fields["PayloadID"] != ENVELOPE["PayloadID"]
        assert fields["Payload"].startswith("ISA*")
        assert "TRN*2*ELG1T*9CEDAR0001~" in fields["Payload"]
        assert clearinghouse.state.interchanges["1"].received_as == "core"


@pytest.mark.parametrize(
    ("edi", "type"),
    [
        (EDI.replace("DMG*D8", "DMG*D9"), "X12_999_Response_005010X231A1"),
        (EDI.replace("IEA*1", "IEA*2"), "X12_TA1_Response_00501X231A1"),
    ],
)
def test_acknowledgment_is_the_payload_if_there_is_no_answer(edi: str, type: str) -> None:
    with Clearinghouse() as clearinghouse:
        fields = fields_of(submit(clearinghouse, edi))
        assert (fields["ErrorCode"], fields["PayloadType"]) == ("Success", type)


@pytest.mark.parametrize(
    ("fields", "code"),
    [
        ({"PayloadType": None}, "PayloadTypeRequired"),
        ({"ProcessingMode": None}, "ProcessingModeRequired"),
        ({"TimeStamp": ""}, "TimeStampRequired"),
        ({"SenderID": None}, "SenderIDRequired"),
        ({"CORERuleVersion": None}, "CORERuleVersionRequired"),
        ({"PayloadType": "X12_999_Request"}, "PayloadTypeIllegal"),
        ({"PayloadType": "X12_276_Request_005010X212"}, "PayloadTypeIllegal"),
        ({"ProcessingMode": "Batch"}, "ProcessingModeIllegal"),
        ({"PayloadID": "1"}, "PayloadIDIllegal"),
        ({"TimeStamp": "2026-13-02T14:00:00Z"}, "TimeStampIllegal"),
        ({"SenderID": "STRANGER"}, "SenderIDIllegal"),
        ({"ReceiverID": "ELSEWHERE"}, "ReceiverIDIllegal"),
        ({"SenderID": "X" * 300}, "SenderIDIllegal"),
        ({"CORERuleVersion": "1.0.0"}, "VersionMismatch"),
        ({"Colour": "blue"}, "ColourNotUnderstood"),
    ],
)
def test_faulty_envelope_is_answered_by_the_error_code_of_the_rule(fields: dict[str, str | None], code: str) -> None:
    with Clearinghouse() as clearinghouse:
        response = submit(clearinghouse, **fields)
        reply = fields_of(response)
        assert (response.status_code, reply["PayloadType"], reply["ErrorCode"]) == (200, "CoreEnvelopeError", code)
        assert reply["ErrorMessage"]
        assert "Payload" not in reply
        assert clearinghouse.kinds == ["x12.envelope.refused"]


@pytest.mark.parametrize(("payload", "code"), [(None, "PayloadRequired"), ("HELLO", "PayloadIllegal")])
def test_envelope_without_an_interchange_is_refused(payload: str | None, code: str) -> None:
    with Clearinghouse() as clearinghouse:
        assert fields_of(submit(clearinghouse, payload))["ErrorCode"] == code


def test_user_name_and_password_in_the_envelope_authenticate() -> None:
    with Clearinghouse() as clearinghouse:
        login = {"UserName": clearinghouse.rig.name, "Password": clearinghouse.rig.token}
        assert fields_of(submit(clearinghouse, **login))["ErrorCode"] == "Success"
        log = b"".join([*clearinghouse.rig.lines, *clearinghouse.rig.playground.log.blobs.values()])
        assert clearinghouse.rig.token.encode() not in log


def test_wrong_password_is_refused_and_leaves_no_trace() -> None:
    with Clearinghouse() as clearinghouse:
        response = submit(clearinghouse, UserName=clearinghouse.rig.name, Password="wrong")
        assert (response.status_code, fields_of(response)["ErrorCode"]) == (401, "UnAuthorized")
        assert clearinghouse.kinds == []


def test_body_that_is_not_a_form_is_refused_in_an_envelope() -> None:
    with Clearinghouse() as clearinghouse:
        headers = {"authorization": f"Bearer {clearinghouse.rig.token}", "content-type": "text/plain"}
        response = httpx.post(f"{clearinghouse.rig.url()}/x12/core", content=EDI, headers=headers)
        assert (response.status_code, fields_of(response)["ErrorCode"]) == (415, "Sender")


def test_authorization_request_in_an_envelope_is_answered() -> None:
    with Clearinghouse() as clearinghouse:
        edi = one("278", authorization())
        fields = fields_of(submit(clearinghouse, edi, PayloadType="X12_278_Request_005010X217E1_2"))
        assert fields["PayloadType"] == "X12_278_Response_005010X217"


def test_raw_interchange_over_http_is_answered_like_in_process() -> None:
    with Clearinghouse() as clearinghouse:
        headers = {"content-type": "application/EDI-X12"}
        url, login = f"{clearinghouse.rig.url()}/x12/interchanges", (clearinghouse.rig.name, clearinghouse.rig.token)
        response = httpx.post(url, content=EDI, headers=headers, auth=login)
        assert response.headers["content-type"] == "application/edi-x12; charset=utf-8"
        assert response.text == Clearinghouse().post(EDI).body.decode()
