"""Requests that cannot be read, or are too large: a clear refusal, and an event each."""

import base64
from collections.abc import Iterator

import httpx
import orjson
import pytest

from clerkship.events.event import Event
from clerkship.sandbox.request import Request
from clerkship.simulators.messages.config import DEFAULT_ACCOUNT_SID
from clerkship.simulators.messages.twilio.form import FORM
from tests.simulators.messages.desk import FrontDesk
from tests.simulators.messages.twilio.clinic import TextingClinic

MEGABYTE = 1_000_000
TWILIO = f"/2010-04-01/Accounts/{DEFAULT_ACCOUNT_SID}/Messages.json"


@pytest.mark.parametrize(
    ("path", "media", "body", "status", "code"),
    [
        ("/messages", "application/json", b"{", 400, "not_json"),
        ("/messages", "application/json", b"\xff\xfe", 400, "not_json"),
        ("/messages", "application/json", b'{"to": 1}', 422, "invalid_input"),
        ("/messages", "application/json", b'{"text": "no channel"}', 422, "invalid_input"),
        (
            "/messages",
            "application/json",
            b'{"channel": "email", "attachments": [{"name": "a", "base64": "?"}]}',
            422,
            "invalid_input",
        ),
        ("/messages/unknown/read", "application/json", b"[]", 422, "invalid_input"),
        (TWILIO, FORM, b"Body=%ff", 400, "20001"),
        (TWILIO, FORM, b"&".join(b"a%d=1" % number for number in range(300)), 400, "20001"),
        (TWILIO, FORM, b"To=%2B15555550142", 400, "21603"),
    ],
)
def test_request_that_cannot_be_read_leaves_an_event(
    path: str, media: str, body: bytes, status: int, code: str
) -> None:
    with FrontDesk() as desk:
        reply = desk.rig.send(Request("POST", path, {}, {"content-type": media}, body))
        assert reply.status == status
        refused = [event.payload for event in desk.rig.playground.log.events if event.kind == "sandbox.refused"]
        assert [(each.status, each.code) for each in refused] == [(status, code)]  # type: ignore[attr-defined]
        assert not desk.state.messages


@pytest.fixture
def clinic() -> Iterator[TextingClinic]:
    opened = TextingClinic()
    yield opened
    opened.close()


def send_attachment(clinic: TextingClinic, size: int) -> httpx.Response:
    """Send an e-mail with an attachment over HTTP."""
    encoded = base64.b64encode(bytes(size)).decode()
    attachments = [{"name": "scan.pdf", "content_type": "application/pdf", "base64": encoded}]
    message = {"channel": "email", "to": ["ada@home.example"], "text": "Your scan.", "attachments": attachments}
    headers = {"authorization": f"Bearer {clinic.handle.token}"}
    return httpx.post(f"{clinic.handle.url}/messages", content=orjson.dumps(message), headers=headers, timeout=30)


def list_refusals(clinic: TextingClinic) -> list[Event]:
    return [event for event in clinic.playground.log.events if event.kind.endswith(".refused")]


def test_attachment_of_14_megabytes_is_sent_over_http(clinic: TextingClinic) -> None:
    assert send_attachment(clinic, 14 * MEGABYTE).status_code == 201
    [record] = clinic.state.messages.values()
    assert record.header.attachments[0].size == 14 * MEGABYTE


def test_attachment_of_30_megabytes_is_refused_with_413_and_an_event(clinic: TextingClinic) -> None:
    reply = send_attachment(clinic, 30 * MEGABYTE)
    assert reply.status_code == 413
    assert reply.json()["error"] == {"code": "too_large", "message": "a body may have at most 20000000 bytes"}
    assert [event.kind for event in list_refusals(clinic)] == ["sandbox.refused"]
    assert not clinic.state.messages
