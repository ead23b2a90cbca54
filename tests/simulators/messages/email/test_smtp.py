"""An organization sends e-mail over SMTP with the standard library's client."""

import smtplib
import ssl
from contextlib import suppress
from datetime import timedelta
from email.message import EmailMessage
from email.policy import SMTP

import pytest

from clerkship.playground.playground import replay
from clerkship.simulators.messages.email.mime import parse_email
from tests.simulators.messages.email.conftest import Serve
from tests.simulators.messages.email.served import ANA, OWN, PLAIN, RawSmtp, SmtpClinic
from tests.waiting import wait_until


def compose(**headers: str) -> EmailMessage:
    """Return an e-mail to Ana."""
    message = EmailMessage()
    for name, value in ({"From": OWN, "To": ANA, "Subject": "Your visit"} | headers).items():
        message[name.replace("_", "-")] = value
    message.set_content("Please bring your card.\n")
    return message


@pytest.mark.parametrize("tls", [False, True])
def test_email_becomes_one_message(clinic: SmtpClinic, tls: bool) -> None:
    with clinic.connect(tls=tls) as client:
        assert client.send_message(compose()) == {}
    (sent,) = clinic.sent()
    assert (sent.header.sender, sent.header.to, sent.header.subject) == (OWN, (ANA,), "Your visit")
    assert sent.text == "Please bring your card."
    assert (sent.header.channel, sent.status) == ("email", "sent")
    assert clinic.playground.broken is None


def test_tls_has_a_certificate_that_only_its_own_listener_has(clinic: SmtpClinic) -> None:
    client = clinic.connect(login=False)
    with pytest.raises(ssl.SSLCertVerificationError):
        client.starttls(context=ssl.create_default_context())


def test_login_before_tls_is_forgotten(clinic: SmtpClinic) -> None:
    client = clinic.connect()
    client.starttls(context=clinic.tls_context())
    client.ehlo()
    assert client.mail(OWN)[0] == 530
    assert client.docmd("STARTTLS")[0] == 503
    client.login(clinic.user, clinic.password)
    assert client.sendmail(OWN, [ANA], PLAIN) == {}
    client.quit()


@pytest.mark.parametrize("mechanism", ["auth_plain", "auth_login"])
def test_both_mechanisms_log_in(clinic: SmtpClinic, mechanism: str) -> None:
    client = clinic.connect(login=False)
    client.ehlo()
    client.user, client.password = clinic.user, clinic.password
    assert client.auth(mechanism.removeprefix("auth_").upper(), getattr(client, mechanism))[0] == 235


def test_extensions_are_announced(clinic: SmtpClinic) -> None:
    client = clinic.connect(login=False)
    client.ehlo()
    assert client.esmtp_features["size"] == "20000000"
    client.login(clinic.user, clinic.password)
    client.ehlo()
    assert client.esmtp_features["size"] == "20000000"
    assert set(client.esmtp_features) == {"size", "pipelining", "8bitmime", "smtputf8", "starttls", "auth", "help"}


def test_size_is_announced_before_login_and_larger_emails_are_refused_at_mail_and_after_data(serve: Serve) -> None:
    clinic = serve(max_message_bytes=5_000)
    client = clinic.connect(login=False)
    client.ehlo()
    assert client.esmtp_features["size"] == "5000"
    client.login(clinic.user, clinic.password)
    assert client.mail(OWN, ["SIZE=5001"])[0] == 552
    assert client.mail(OWN, ["SIZE=5000"])[0] == 250
    assert client.rcpt(ANA)[0] == 250
    assert client.data(PLAIN + b"x\r\n" * 2000)[0] == 552
    assert [refused.code for refused in clinic.refused()] == ["552", "552"]


def test_implicit_tls_begins_with_the_first_byte(clinic: SmtpClinic) -> None:
    info = clinic.handle.listeners["smtps"]
    context = ssl.create_default_context(cadata=str(info["certificate"]))
    with smtplib.SMTP_SSL("localhost", int(info["port"]), timeout=30, context=context) as client:
        client.ehlo()
        assert "starttls" not in client.esmtp_features
        assert client.docmd("STARTTLS")[0] == 503
        client.login(str(info["user"]), str(info["password"]))
        client.send_message(compose())
    assert [sent.header.subject for sent in clinic.sent()] == ["Your visit"]


def test_pipelined_commands_are_answered_in_order(clinic: SmtpClinic) -> None:
    client = RawSmtp(clinic)
    client.socket.sendall(
        b"MAIL FROM:<%b>\r\nRCPT TO:<%b>\r\nRCPT TO:<x@clinic.example>\r\nDATA\r\n" % (OWN.encode(), ANA.encode())
    )
    assert [client.read()[:3] for _ in range(4)] == ["250", "250", "550", "354"]
    client.socket.sendall(PLAIN + b".\r\nMAIL FROM:<%b>\r\nRSET\r\nQUIT\r\n" % OWN.encode())
    assert [client.read()[:3] for _ in range(4)] == ["250", "250", "250", "221"]
    assert len(clinic.sent()) == 1


def test_tls_can_be_required(serve: Serve) -> None:
    clinic = serve(smtp_requires_tls=True)
    with pytest.raises(smtplib.SMTPAuthenticationError) as refused:
        clinic.connect()
    assert refused.value.smtp_code == 538
    clinic.connect(tls=True).quit()
    info = clinic.handle.listeners["smtps"]
    context = ssl.create_default_context(cadata=str(info["certificate"]))
    with smtplib.SMTP_SSL("localhost", int(info["port"]), timeout=30, context=context) as client:
        client.login(clinic.user, clinic.password)


def test_recipients_outside_the_headers_are_bcc(clinic: SmtpClinic) -> None:
    message = compose(Cc="bo@home.example, not-sent@home.example")
    with clinic.connect() as client:
        client.send_message(message, to_addrs=[ANA, "bo@home.example", "hidden@home.example"])
    (sent,) = clinic.sent()
    header = sent.header
    assert (header.to, header.cc, header.bcc) == ((ANA,), ("bo@home.example",), ("hidden@home.example",))


def test_attachments_are_stored_before_the_message(clinic: SmtpClinic) -> None:
    message = compose()
    message.add_attachment(b"%PDF-1.7", maintype="application", subtype="pdf", filename="letter.pdf")
    with clinic.connect() as client:
        client.send_message(message)
    (sent,) = clinic.sent()
    (attachment,) = sent.header.attachments
    assert (attachment.name, attachment.content_type, attachment.size) == ("letter.pdf", "application/pdf", 8)
    assert clinic.state.attachment(attachment.id).data == b"%PDF-1.7"


def test_answer_joins_the_thread_of_its_references(clinic: SmtpClinic) -> None:
    with clinic.connect() as client:
        client.send_message(compose(Message_ID="<1@clinic.example>"))
        client.send_message(compose(Subject="Another", References="<1@clinic.example>"))
    first, second = clinic.sent()
    assert second.header.thread == first.header.thread
    assert second.header.in_reply_to == first.header.id


def test_sender_must_be_an_own_address(clinic: SmtpClinic) -> None:
    with clinic.connect() as client:
        assert client.mail("ceo@clinic.example")[0] == 553
        for name in ("From", "Sender", "Reply_To"):
            with pytest.raises(smtplib.SMTPDataError) as refused:
                client.send_message(compose(**{name: "Ana <ana@home.example>"}), from_addr=OWN)
            assert refused.value.smtp_code == 550
    assert clinic.sent() == []
    assert [refused.code for refused in clinic.refused()] == ["553", "550", "550", "550"]


def test_unknown_mailbox_at_own_domain_is_refused_and_elsewhere_bounces(clinic: SmtpClinic) -> None:
    with clinic.connect() as client:
        failed = client.sendmail(OWN, ["nobody@clinic.example", "nobody@else.example"], PLAIN)
    assert {address: reply[0] for address, reply in failed.items()} == {"nobody@clinic.example": 550}
    assert [refused.to for refused in clinic.refused()] == [("nobody@clinic.example",)]
    assert clinic.events("messages.message.arrived") == []
    clinic.playground.advance(timedelta(minutes=1))
    (bounce,) = clinic.events("messages.message.arrived")
    assert "nobody@else.example" in bounce.text
    assert clinic.events("messages.message.status_changed")[0].status == "undelivered"


def test_wrong_login_is_refused_and_not_in_the_log(clinic: SmtpClinic) -> None:
    client = clinic.connect(login=False)
    with pytest.raises(smtplib.SMTPAuthenticationError) as refused:
        client.login(clinic.user, "secret-guess-1")
    assert refused.value.smtp_code == 535
    assert client.mail(OWN)[0] == 530
    assert "secret-guess-1" not in repr(clinic.playground.log.events)
    assert clinic.playground.sidecar.unauthenticated.count == 2, "smtplib tries PLAIN and LOGIN"
    for _ in range(10):
        with suppress(smtplib.SMTPException):
            client.login(clinic.user, "secret-guess-2")
    with pytest.raises(smtplib.SMTPException):
        client.noop()


def test_two_organizations_share_the_listener_and_nothing_else(serve: Serve) -> None:
    one, two = serve("one"), serve("two")
    assert one.port == two.port
    with pytest.raises(smtplib.SMTPAuthenticationError):
        one.connect(login=False).login(one.user, two.password)
    with two.connect() as client:
        client.send_message(compose())
    assert (len(one.sent()), len(two.sent())) == (0, 1)


def test_end_of_the_run_closes_connections(clinic: SmtpClinic) -> None:
    client = RawSmtp(clinic)
    clinic.end()
    wait_until(lambda: client.read()[:3] in ("421", ""))
    with pytest.raises(smtplib.SMTPAuthenticationError):
        clinic.connect()


def test_same_emails_give_the_same_log(serve: Serve) -> None:
    logs = []
    for tls in (False, True):
        clinic = serve("same")
        with clinic.connect(tls=tls) as client:
            client.send_message(compose(Message_ID="<1@clinic.example>"))
            client.sendmail(OWN, ["nobody@clinic.example", ANA], PLAIN)
        logs.append([event.payload.model_dump_json() for event in clinic.playground.log.events])
        assert not any(clinic.user in line or clinic.password in line for line in logs[-1])
    assert logs[0] == logs[1]


def test_email_is_readable_as_bytes_over_http(clinic: SmtpClinic) -> None:
    with clinic.connect() as client:
        client.send_message(compose(Message_ID="<1@clinic.example>"))
    (sent,) = clinic.sent()
    response = clinic.handle.request("GET", f"/messages/{sent.header.id}/raw")
    assert response.status == 200
    email = parse_email(response.body)
    assert (email.sender, email.to, email.subject) == (OWN, (ANA,), "Your visit")
    assert (email.text, email.message_id) == ("Please bring your card.", "<1@clinic.example>")


def test_raw_email_is_the_bytes_as_they_came(clinic: SmtpClinic) -> None:
    message = compose(X_Mailer="front desk 1.0", To=f"{ANA}, {OWN}")
    message.add_alternative('<p>Your card: <img src="cid:card@clinic.example"></p>', subtype="html")
    message.get_payload()[1].add_related(b"\x89PNG\r\n", "image", "png", cid="<card@clinic.example>")  # type: ignore[index, union-attr]
    content = message.as_bytes(policy=SMTP)
    with clinic.connect() as client:
        client.sendmail(OWN, [ANA, OWN], content)
    clinic.handle.request("GET", "/")
    clinic.playground.clock.advance(timedelta(minutes=1))
    (sent,), (copy,) = clinic.sent(), clinic.events("messages.message.arrived")
    for header in (sent.header, copy.header):
        raw = clinic.handle.request("GET", f"/messages/{header.id}/raw").body
        assert raw == content
        assert b"Content-ID: <card@clinic.example>" in raw
    states = replay({"mail": clinic.prepared}, clinic.playground.log.events)
    assert states["mail"].dump() == clinic.state.dump()


def test_smtp_refuses_messages_beyond_the_limit_with_452(serve: Serve) -> None:
    clinic = serve(max_messages=1)
    client = RawSmtp(clinic)
    assert client.send(PLAIN)[:3] == "250"
    assert client.send(PLAIN)[:3] == "452"
    assert [(refused.code, refused.to) for refused in clinic.refused()] == [("452", (ANA,))]
