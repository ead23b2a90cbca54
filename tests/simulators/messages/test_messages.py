"""Sending and receiving over the neutral HTTP API."""

import base64

import orjson
import pytest

from clerkship.events.event import parse_line, render_event
from clerkship.events.request_line import render_event_request, render_logged_request
from clerkship.playground.in_process import open_sandboxes
from clerkship.simulators.messages.handle import Messages
from tests.simulators.messages.desk import ADA, ANA, OWN, FrontDesk


def test_text_message_is_queued_then_sent_then_delivered() -> None:
    with FrontDesk() as desk:
        sent = desk.send("sms", "(555) 555-0171")
        assert (sent["status"], sent["from"], sent["to"], sent["segments"]) == ("queued", OWN, [ADA], 1)
        assert sent["id"].startswith("SM")
        assert len(sent["id"]) == 34
        desk.wait()
        assert desk.get(f"/messages/{sent['id']}")["status"] == "delivered"
        assert desk.kinds.count("message.status_changed") == 2


@pytest.mark.parametrize(
    ("number", "code"), [("+15555550170", "30006"), ("+15555550143", "30003"), ("+15555559999", "30005")]
)
def test_text_message_that_cannot_be_delivered_gets_the_code_of_twilio(number: str, code: str) -> None:
    with FrontDesk() as desk:
        sent = desk.send("sms", number)
        desk.wait()
        message = desk.get(f"/messages/{sent['id']}")
        assert (message["status"], message["error_code"]) == ("undelivered", code)


@pytest.mark.parametrize(
    ("channel", "to", "fields", "code"),
    [
        ("sms", "12", {}, "21211"),
        ("sms", ANA, {"from": "+15550000000"}, "21659"),
        ("sms", OWN, {}, "21266"),
        ("sms", ANA, {"text": ""}, "21602"),
        ("sms", ANA, {"text": "a" * 1601}, "21617"),
        ("sms", "+15555550144", {}, "21610"),
        ("email", "ana", {}, "553"),
        ("email", "ana@mail.example", {"from": "eve@else.example"}, "550"),
        ("email", "unknown@clinic.example", {}, "550"),
        ("email", "ana@mail.example", {"subject": "a\r\nBcc: eve@else.example"}, "invalid_header"),
        ("email", "ana@mail.example\nBcc: eve@else.example", {}, "invalid_header"),
        ("email", "ana@mail.example", {"attachments": [{"name": "a\0b", "base64": ""}]}, "invalid_header"),
        ("email", "ana@mail.example", {"cc": ["a@b.example"] * 100}, "452"),
        ("portal", "Patient/unknown", {}, "no_such_account"),
        ("portal", "Patient/ada", {"thread": "thread_0"}, "no_such_thread"),
    ],
)
def test_message_is_refused_with_one_event_and_no_other_change(
    channel: str, to: str, fields: dict[str, object], code: str
) -> None:
    with FrontDesk() as desk:
        before = desk.state.dump()
        assert desk.refusal(channel, to, **fields) == code  # type: ignore[arg-type]
        assert desk.kinds.count("message.refused") == 1
        assert desk.state.dump() == before


def test_message_that_is_too_large_is_refused() -> None:
    with FrontDesk(max_message_bytes=1000) as desk:
        content = base64.b64encode(b"x" * 1001).decode()
        assert desk.refusal("email", "ana@mail.example", attachments=[{"name": "a", "base64": content}]) == "552"
        assert desk.refusal("portal", "Patient/ada", "x" * 1001) == "too_large"


@pytest.mark.parametrize("body", [b"{", b"\xff\xfe", b'{"text": "\\ud800"}', b"[" * 100_000, b"[]", b'{"to": 1}'])
def test_body_that_is_not_a_message_is_refused(body: bytes) -> None:
    with FrontDesk() as desk:
        assert desk.post(body).status in (400, 422)
        assert not desk.state.messages


def test_stop_is_honoured_until_start() -> None:
    with FrontDesk() as desk:
        desk.receive("sms", ANA, " stop ")
        assert desk.refusal("sms", ANA) == "21610"
        [reply] = desk.get("/messages", direction="outbound")["messages"]
        assert "START" in reply["text"]
        desk.receive("sms", ANA, "Stop")  # a second one gets no reply
        desk.receive("sms", ANA, "yes")
        assert desk.send("sms", ANA)["status"] == "queued"
        assert desk.kinds.count("consent.changed") == 2


def test_help_is_answered_after_stop() -> None:
    with FrontDesk() as desk:
        desk.receive("sms", ANA, "STOP")
        desk.receive("sms", ANA, "help")
        stopped, helped = desk.get("/messages", direction="outbound")["messages"]
        assert "START" in stopped["text"]
        assert "STOP" in helped["text"]
        assert desk.kinds.count("consent.changed") == 1
        assert desk.refusal("sms", ANA) == "21610"


@pytest.mark.parametrize(("channel", "code"), [("sms", "invalid_text"), ("email", "554"), ("portal", "invalid_text")])
def test_nul_in_a_text_is_refused(channel: str, code: str) -> None:
    to = {"sms": ANA, "email": "ana@mail.example", "portal": "Patient/ada"}[channel]
    with FrontDesk() as desk:
        assert desk.refusal(channel, to, "a\0b") == code


def test_automatic_reply_has_the_actor_system() -> None:
    with FrontDesk() as desk:
        desk.receive("sms", ANA, "HELP")
        [event] = [event for event in desk.rig.playground.log.events if event.kind == "messages.message.sent"]
        assert event.actor == "system"


def test_yes_of_a_contact_who_is_not_opted_out_is_only_a_message() -> None:
    with FrontDesk() as desk:
        desk.receive("sms", ANA, "YES")
        assert desk.kinds.count("consent.changed") == 0
        assert desk.get("/messages", direction="outbound")["messages"] == []


def test_stop_counts_for_one_own_number() -> None:
    with FrontDesk(numbers=[OWN, "+15550100101"]) as desk:
        desk.receive("sms", ANA, "STOP", to=("+15550100101",))
        assert desk.refusal("sms", ANA, **{"from": "+15550100101"}) == "21610"
        assert "error" not in desk.send("sms", ANA)


def test_text_messages_of_two_numbers_are_one_thread() -> None:
    with FrontDesk() as desk:
        first = desk.send("sms", ANA)
        id = desk.receive("sms", ANA, "Thanks")
        answer = desk.send("sms", ANA, "Welcome")
        assert first["thread"] == desk.get(f"/messages/{id}")["thread"] == answer["thread"]
        assert [each["text"] for each in desk.get(f"/threads/{first['thread']}")["messages"]][1:] == [
            "Thanks",
            "Welcome",
        ]


def test_email_joins_the_thread_of_its_references_or_of_its_subject() -> None:
    with FrontDesk() as desk:
        first = desk.send("email", "ana@mail.example", subject="Visit")
        by_subject = desk.receive("email", "Ana@mail.example", "Yes", subject="RE: Visit")
        by_reference = desk.receive(
            "email", "ana@mail.example", "No", subject="Other", references=(first["message_id"],)
        )
        other = desk.receive("email", "eve@else.example", "Hi", subject="Visit")
        threads = [desk.get(f"/messages/{id}")["thread"] for id in (by_subject, by_reference, other)]
        assert [thread == first["thread"] for thread in threads] == [True, True, False]


def test_email_to_an_unknown_address_bounces_into_the_inbox() -> None:
    with FrontDesk() as desk:
        sent = desk.send("email", "nobody@else.example", subject="Visit")
        desk.wait()
        [bounce] = desk.get("/messages", direction="inbound")["messages"]
        assert (bounce["from"], bounce["thread"]) == ("mailer-daemon@clinic.example", sent["thread"])
        assert desk.get(f"/messages/{sent['id']}")["error_code"] == "550"


def test_portal_thread_is_answered_and_closed() -> None:
    with FrontDesk() as desk:
        id = desk.receive("portal", "Patient/ada", "May I have a refill?", subject="Refill")
        answer = desk.send("portal", "Patient/ada", "Yes.", in_reply_to=id)
        assert (answer["subject"], answer["status"]) == ("Refill", "delivered")
        desk.state.close_thread(desk.rig.playground.state(type(desk.state), None)[1], answer["thread"])
        assert desk.refusal("portal", "Patient/ada", thread=answer["thread"]) == "thread_closed"


def test_reading_marks_a_message_and_listing_does_not() -> None:
    with FrontDesk() as desk:
        id = desk.receive("sms", ANA, "Hello")
        assert [each["id"] for each in desk.get("/messages", unread="true")["messages"]] == [id]
        desk.get(f"/messages/{id}")
        assert desk.get("/messages", unread="true")["messages"] == []
        assert desk.kinds.count("message.read") == 1


def test_pages_list_every_message_once() -> None:
    with FrontDesk() as desk:
        for number in range(5):
            desk.receive("sms", ANA, str(number))
        first = desk.get("/messages", count="3", address=ANA)
        second = desk.get("/messages", count="3", address=ANA, after=first["next"])
        assert [each["text"] for each in first["messages"] + second["messages"]] == list("01234")


def test_contacts_are_found_by_name_and_number() -> None:
    with FrontDesk() as desk:
        assert desk.get("/contacts", name="oka")["contacts"][0]["portal"] == "Patient/ada"
        assert desk.get("/contacts", address=ANA)["contacts"][0]["name"] == "Ana Rivera"


def test_line_of_a_sent_message_has_channel_and_recipients() -> None:
    with FrontDesk() as desk:
        desk.send("sms", ADA, "Your visit is tomorrow.")
        sent = next(event for event in desk.rig.playground.log.events if event.kind == "messages.message.sent")
        expected = f"POST messages → 201, sms to {ADA}: “Your visit is tomorrow.”"
        assert render_event_request(sent) == expected
        assert render_logged_request(parse_line(render_event(sent, {}))) == expected


def test_recipients_that_are_no_list_are_refused_in_plain_words() -> None:
    with FrontDesk() as desk:
        reply = desk.post(orjson.dumps({"channel": "sms", "to": ADA, "text": "Hello."}))
        assert orjson.loads(reply.body)["error"] == {"code": "invalid_input", "message": "to: expected a list"}


def test_handle_says_how_to_install_smtp_if_there_is_no_listener() -> None:
    with FrontDesk() as desk:
        sandboxes = open_sandboxes(desk.rig.gateway, desk.rig.playground, lambda: "http://127.0.0.1:1")
        with pytest.raises(KeyError, match=r"SMTP is not available: .*`uv sync --extra smtp .*'clerkship\[smtp\]'"):
            _ = sandboxes.get_as(Messages).smtp
