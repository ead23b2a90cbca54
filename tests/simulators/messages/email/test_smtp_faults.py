"""Faults over SMTP: late, lost and cut replies to an e-mail, and errors that a client may try again."""

import smtplib
from datetime import timedelta

import pytest

from clerkship.sandbox.faults.request_faults import (
    DripFault,
    DropFault,
    ErrorFault,
    ExpiredFault,
    LatencyFault,
    TruncatedFault,
)
from tests.simulators.messages.email.conftest import Serve
from tests.simulators.messages.email.served import PLAIN, RawSmtp, SmtpClinic


def list_kinds(clinic: SmtpClinic) -> list[str]:
    """Return the kinds of the events that a fault or an e-mail caused."""
    kinds = [event.kind for event in clinic.playground.log.events]
    return [kind for kind in kinds if kind in ("fault.injected", "messages.message.sent")]


@pytest.mark.parametrize(
    "fault",
    [
        LatencyFault.model_validate({"sandbox": "mail", "by": "0.2s", "times": 1}),
        DripFault.model_validate({"sandbox": "mail", "over": "0.2s", "pieces": 4, "times": 1}),
    ],
)
def test_late_reply_arrives_on_a_paced_clock(serve: Serve, fault: LatencyFault | DripFault) -> None:
    clinic = serve(time="paced")
    client = RawSmtp(clinic)
    client.begin()
    before = clinic.playground.now
    clinic.playground.inject(fault)
    assert client.command(PLAIN + b"\r\n.")[:3] == "250"
    assert clinic.playground.now - before >= timedelta(milliseconds=200)
    assert sorted(list_kinds(clinic)) == ["fault.injected", "messages.message.sent"]


def test_late_reply_does_not_delay_other_clients(serve: Serve) -> None:
    slow, quick = serve("slow", time="paced"), serve("quick")
    one, other = RawSmtp(slow), RawSmtp(quick)
    one.begin()
    slow.playground.inject(LatencyFault.model_validate({"sandbox": "mail", "by": "1h", "times": 1}))
    one.socket.sendall(PLAIN + b"\r\n.\r\n")
    assert [other.send(PLAIN)[:3] for _ in range(20)] == ["250"] * 20
    one.socket.setblocking(False)
    with pytest.raises(BlockingIOError):
        one.socket.recv(1)


@pytest.mark.parametrize(("when", "sent"), [("request", 0), ("reply", 1)])
def test_lost_request_or_reply_breaks_the_connection(clinic: SmtpClinic, when: str, sent: int) -> None:
    client = clinic.connect()
    clinic.playground.inject(DropFault.model_validate({"sandbox": "mail", "when": when, "times": 1}))
    with pytest.raises(smtplib.SMTPServerDisconnected):
        client.sendmail("frontdesk@clinic.example", ["ana@home.example"], PLAIN)
    assert len(clinic.sent()) == sent
    with clinic.connect() as again:
        assert again.sendmail("frontdesk@clinic.example", ["ana@home.example"], PLAIN) == {}
    assert len(clinic.sent()) == sent + 1


def test_cut_reply_is_an_unfinished_line(clinic: SmtpClinic) -> None:
    client = RawSmtp(clinic)
    client.begin()
    clinic.playground.inject(TruncatedFault(sandbox="mail", times=1, keep=4))
    client.socket.sendall(PLAIN + b"\r\n.\r\n")
    assert client.replies.read() == b"250 "
    assert list_kinds(clinic) == ["messages.message.sent", "fault.injected"]


@pytest.mark.parametrize(
    ("fault", "code"),
    [(ErrorFault(sandbox="mail", times=1), "451"), (ErrorFault(sandbox="mail", status=429, times=1), "451")],
)
def test_error_is_a_reply_that_allows_another_try(clinic: SmtpClinic, fault: ErrorFault, code: str) -> None:
    client = RawSmtp(clinic)
    client.begin()
    clinic.playground.inject(fault)
    assert client.command(PLAIN + b"\r\n.")[:3] == code
    assert clinic.sent() == []
    assert client.send(PLAIN)[:3] == "250"


def test_expired_credential_closes_the_connection(clinic: SmtpClinic) -> None:
    client = RawSmtp(clinic)
    client.begin()
    clinic.playground.inject(ExpiredFault(sandbox="mail", times=1))
    assert client.command(PLAIN + b"\r\n.")[:3] == "421"
    assert client.read() == ""
    assert clinic.sent() == []
