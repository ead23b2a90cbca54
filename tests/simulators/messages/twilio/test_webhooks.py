"""Webhooks for text messages, TwiML answers and status callbacks."""

from urllib.parse import urlsplit

import pytest

from clerkship.playground.playground import SavedLog
from clerkship.simulators.messages.events import MessageRefused
from clerkship.simulators.messages.twilio.twiml import parse_answer
from clerkship.transports.outbound import event_webhook
from tests.simulators.agent_server import AgentAnswer, AgentServer
from tests.simulators.messages.twilio.clinic import ADA, LAND, OWN, SECOND, TextingClinic

REPLY = b"<Response><Message>One</Message><Message><Body>Two</Body></Message></Response>"


def test_an_inbound_message_is_posted_and_its_twiml_answers_are_sent_once(clinic: TextingClinic) -> None:
    agent = AgentServer(lambda _: AgentAnswer(body=REPLY))
    assert clinic.register(f"{agent.url}/sms?key=s3cret")["sms_url"] == f"{agent.url}/sms?key=s3cret"
    sid = clinic.receive("Can I come at 9?")
    clinic.pass_time("1h")
    [posted] = agent.posted
    assert posted.path == "/sms?key=s3cret"
    assert (posted.form["MessageSid"], posted.form["From"], posted.form["To"]) == (sid, ADA, OWN)
    assert (posted.form["Body"], posted.form["SmsStatus"], posted.form["NumMedia"]) == (
        "Can I come at 9?",
        "received",
        "0",
    )
    assert [(sent.text, sent.header.to, sent.header.in_reply_to) for sent in clinic.sent_by_agent] == [
        ("One", (ADA,), sid),
        ("Two", (ADA,), sid),
    ]
    assert clinic.outcomes == [("delivered", "")]
    assert "s3cret" not in clinic.log
    agent.close()


def test_numbers_have_their_own_address_and_registering_one_sends_nothing_again(clinic: TextingClinic) -> None:
    agent = AgentServer()
    clinic.register(f"{agent.url}/first")
    clinic.receive("to the first")
    clinic.receive("to the second", to=SECOND)
    clinic.pass_time()
    clinic.register(f"{agent.url}/second", SECOND)
    clinic.register(f"{agent.url}/moved")
    clinic.pass_time()
    assert [(each.path, each.form["Body"]) for each in agent.posted] == [
        ("/first", "to the first"),
        ("/second", "to the second"),
    ]
    agent.close()


def test_each_status_is_reported_to_the_callback_of_its_message(clinic: TextingClinic) -> None:
    agent = AgentServer()
    good = clinic.create(StatusCallback=f"{agent.url}/good?key=s3cret")["sid"]
    bad = clinic.create(to=LAND, StatusCallback=f"{agent.url}/bad")["sid"]
    clinic.create()
    clinic.pass_time("1h")
    forms = [(urlsplit(each.path).path, each.form) for each in agent.posted]
    assert [(form["MessageSid"], form["MessageStatus"]) for path, form in forms if path == "/good"] == [
        (good, "queued"),
        (good, "sent"),
        (good, "delivered"),
    ]
    assert [(form["MessageSid"], form["MessageStatus"]) for path, form in forms if path == "/bad"] == [
        (bad, "queued"),
        (bad, "sent"),
        (bad, "undelivered"),
    ]
    assert [form["ErrorCode"] for _, form in forms if "ErrorCode" in form] == ["30006"]
    assert "s3cret" not in clinic.log
    agent.close()


@pytest.mark.parametrize(
    ("answer", "outcome", "reason"),
    [
        (AgentAnswer(body=b"<Response><Redirect>http://x.example</Redirect></Response>"), "rejected", "twiml_redirect"),
        (AgentAnswer(body=b"<Response><Message>Hi</Message><Dial/></Response>"), "rejected", "twiml_unsupported"),
        (AgentAnswer(body=b"\x00garbage"), "rejected", "bad_twiml"),
        (AgentAnswer(body=b'<?xml version="1.0" encoding="big5"?><Response/>'), "rejected", "bad_twiml"),
        (AgentAnswer(body=b'<!DOCTYPE r [<!ENTITY a "b">]><Response>&a;</Response>'), "rejected", "twiml_doctype"),
        (AgentAnswer(body=b"{}", media="application/json"), "rejected", "bad_content_type"),
        (AgentAnswer(body=b"x", repeat=10_000_000), "rejected", "response_too_large"),
        (AgentAnswer(307, location="/sms"), "rejected", "too_many_redirects"),
        (AgentAnswer(307, location="http://192.0.2.1/"), "refused_by_policy", "not_this_machine"),
        (AgentAnswer(404), "rejected", ""),
    ],
)
def test_a_bad_answer_is_logged_and_sends_nothing(
    clinic: TextingClinic, answer: AgentAnswer, outcome: str, reason: str
) -> None:
    agent = AgentServer(lambda _: answer)
    clinic.register(f"{agent.url}/sms")
    clinic.receive("Hello")
    clinic.pass_time("1h")
    assert clinic.outcomes == [(outcome, reason)]
    assert not clinic.sent_by_agent
    assert not clinic.playground.broken
    agent.close()


def test_a_webhook_that_hangs_is_given_up(clinic: TextingClinic, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(event_webhook, "MAX_ANSWER_SECONDS", 0.05)
    agent = AgentServer(lambda _: (agent.released.wait(20), AgentAnswer())[1])
    clinic.register(f"{agent.url}/sms")
    clinic.receive("Hello")
    clinic.pass_time("1h")
    assert [each.outcome for each in clinic.attempts] == ["timed_out"] * 5
    assert clinic.attempts[-1].retry_in is None
    agent.close()


def test_an_answer_to_a_contact_who_opted_out_is_refused(clinic: TextingClinic) -> None:
    agent = AgentServer(lambda _: AgentAnswer(body=REPLY))
    clinic.register(f"{agent.url}/sms")
    clinic.receive("STOP")
    clinic.pass_time()
    assert not clinic.sent_by_agent
    payloads = [event.payload for event in clinic.playground.log.events]
    assert [each.code for each in payloads if isinstance(each, MessageRefused)] == ["21610", "21610"]
    agent.close()


def test_what_was_posted_before_a_rewind_is_not_posted_again(clinic: TextingClinic) -> None:
    agent = AgentServer(lambda posted: AgentAnswer(404 if posted.form.get("Body") == "refused" else 200))
    clinic.register(f"{agent.url}/sms")
    clinic.create(StatusCallback=f"{agent.url}/status")
    clinic.receive("one")
    clinic.receive("refused")
    clinic.pass_time("4s")  # queued and sent, not yet delivered
    log = clinic.playground.log
    clinic.playground.rewind(SavedLog(tuple(log.events), tuple(log.lines)))
    clinic.receive("two")
    clinic.pass_time("1h")
    forms = [each.form for each in agent.posted]
    assert [form["Body"] for form in forms if "Body" in form] == ["one", "refused", "two"]
    assert [form["MessageStatus"] for form in forms if "Body" not in form] == ["queued", "sent", "delivered"]
    agent.close()


def test_a_message_that_a_rewind_undoes_is_posted_when_it_comes_again(clinic: TextingClinic) -> None:
    agent = AgentServer()
    clinic.register(f"{agent.url}/sms")
    first = clinic.receive("one")
    clinic.pass_time()
    clinic.playground.rewind(SavedLog())
    assert clinic.receive("one") == first
    clinic.pass_time()
    assert [each.form["MessageSid"] for each in agent.posted] == [first, first]
    agent.close()


def test_plain_text_is_one_message_and_an_empty_answer_none() -> None:
    assert [each.text for each in parse_answer("text/plain; charset=utf-8", b" Hi ")] == ["Hi"]
    assert parse_answer("text/xml", b"") == parse_answer("text/xml", b"<Response/>") == []
