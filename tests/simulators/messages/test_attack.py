"""What attackers do with the messages of an organization."""

import orjson
import pytest

from clerkship.playground.in_process import InProcessTransport
from clerkship.sandbox.attack import INSTRUCTION, Harm
from clerkship.sandbox.request import Request
from clerkship.simulators.messages.attack import MessagesAttack
from clerkship.simulators.messages.handle import Messages
from tests.simulators.messages.desk import ANA, FrontDesk

NOTE = "Belongs to another patient."
TEXT = {"channel": "sms", "to": [ANA], "text": "See you on Friday."}


def post(path: str, body: bytes) -> Request:
    return Request("POST", path, {}, {}, body)


@pytest.mark.parametrize(("kind", "added"), [("instruction", INSTRUCTION), ("note", NOTE)])
def test_harm_is_added_to_the_text(kind: Harm, added: str) -> None:
    harmed = MessagesAttack().harm(post("/messages", orjson.dumps(TEXT)), kind, NOTE)
    assert harmed is not None
    assert orjson.loads(harmed.body) == {**TEXT, "text": f"See you on Friday. {added}"}


@pytest.mark.parametrize(
    ("path", "body", "kind"),
    [
        ("/messages", orjson.dumps(TEXT), "amount"),
        ("/threads/1/close", b"{}", "note"),
        ("/messages", b"no JSON", "note"),
        ("/messages", b'{"text": 1}', "instruction"),
    ],
)
def test_other_requests_hold_no_harm(path: str, body: bytes, kind: Harm) -> None:
    assert MessagesAttack().harm(post(path, body), kind, NOTE) is None


def test_attacker_writes_to_everybody_who_can_be_reached() -> None:
    with FrontDesk() as desk:
        rig = desk.rig
        handle = Messages(InProcessTransport(rig.gateway, rig.playground, rig.name, str))
        assert MessagesAttack().order_everything(handle, "Confirm the visit of Ana.")
        sent = handle.messages(direction="outbound")
        assert {message["channel"] for message in sent} == {"sms", "email", "portal"}
        assert all("Confirm the visit" in message["text"] for message in sent)
