"""SMTP against hostile clients: refusals of the protocol, bounded memory, no effect on others."""

import resource
import socket
from contextlib import suppress
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clerkship.playground.gateway import Gateway
from clerkship.playground.listeners import ListenerPool
from clerkship.simulators.messages.email.smtp import LIMITS, Smtp
from tests.examples import examples
from tests.simulators.messages.email.served import ANA, OWN, PLAIN, RawSmtp, SmtpClinic
from tests.waiting import wait_until

MEGABYTE = 1_000_000


def peak_memory() -> int:
    """Return the peak resident memory of this process in bytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def head(line: bytes) -> bytes:
    """Return an e-mail with one more header."""
    return line + b"\r\n" + PLAIN


@pytest.mark.parametrize("text", [rb"=?utf-8?q?a?= \U99999999", rb"\u9 =?utf-8?q?a?="])
def test_subject_that_looks_like_an_escape_of_python_is_kept(clinic: SmtpClinic, text: bytes) -> None:
    assert RawSmtp(clinic).send(PLAIN.replace(b"Visit", text))[:3] == "250"
    [sent] = clinic.sent()
    assert sent.header.subject == text.replace(b"=?utf-8?q?a?=", b"a").decode()


@pytest.mark.parametrize(
    "data",
    [
        PLAIN + b"\n.\nMAIL FROM:<x@evil.example>\n",
        PLAIN + b"\r\n.\nMAIL FROM:<x@evil.example>\r\n",
        PLAIN + b"\n.\r\nMAIL FROM:<x@evil.example>\r\n",
        PLAIN + b"\r.\r",
        PLAIN + b"a\0b",
        head(b"Content-Type: text/plain\r\nContent-Transfer-Encoding: quoted-printable") + b"a=00b",
        head(b"X-Note: a\nBcc: spy@evil.example"),
        head(b"X-Note: a\rBcc: spy@evil.example"),
        head(b"X-Note: caf\xe9"),
        head(b"Subject: again"),
        head(b"From: other@evil.example"),
        head(b"not a header"),
        PLAIN.replace(b"Visit", b"=?utf-8?q?a=0D=0ABcc:_spy@evil.example?="),
        PLAIN.replace(b"Visit", b"=?utf-8?q?a=00b?="),
        PLAIN.replace(OWN.encode(), b"Clinic <spy@evil.example>"),
        PLAIN + b"x" * 2000,
        b"Content-Disposition: attachment; filename*=utf-8''a%0d%0ab\r\n" + PLAIN,
        b"Content-Type: multipart/mixed; boundary=b\r\n" + PLAIN + b"--b\r\nX\r\n\r\n--b--",
    ],
    ids=range(18),
)
def test_smuggling_and_injection_are_refused(clinic: SmtpClinic, data: bytes) -> None:
    client = RawSmtp(clinic)
    reply = client.send(data)
    assert reply[:1] == "5", reply
    assert clinic.sent() == []
    assert [refused.channel for refused in clinic.refused()] == ["email"]
    assert client.send(PLAIN).startswith("250"), "the connection is usable after a refusal"
    assert len(clinic.sent()) == 1
    assert clinic.playground.broken is None


@pytest.mark.parametrize(
    "address",
    [
        "a b@x.example",
        "a@x.example>\r<b@y.example",
        "@x.example",
        "a@",
        "\x00a@x.example",
        "é\x85@x.example",
        "a" * 400,
    ],
    ids=range(7),
)
def test_invalid_recipients_are_refused(clinic: SmtpClinic, address: str) -> None:
    client = RawSmtp(clinic)
    client.command(f"MAIL FROM:<{OWN}>".encode())
    assert client.command(f"RCPT TO:<{address}>".encode())[:1] == "5"
    assert client.command(b"DATA")[:3] == "503"
    assert clinic.playground.broken is None


def test_declared_size_beyond_the_limit_is_refused(clinic: SmtpClinic) -> None:
    with clinic.connect() as client:
        assert client.mail(OWN, ["SIZE=20000001"])[0] == 552
        assert client.mail(OWN, ["SIZE=" + "9" * 30])[0] >= 500
        assert client.mail(OWN, ["SIZE=20000000"])[0] == 250
    assert clinic.refused()[0].code == "552"


def test_attachment_of_30_megabytes_is_refused_and_not_held(clinic: SmtpClinic) -> None:
    client = RawSmtp(clinic)
    client.begin()
    line = b"A" * 76 + b"\r\n"
    before = peak_memory()
    for _ in range(30):
        client.socket.sendall(line * 13_000)
    assert client.command(b".")[:3] == "552"
    assert peak_memory() - before < 80 * MEGABYTE
    assert client.send(PLAIN)[:3] == "250"
    assert clinic.refused()[0].code == "552"


def test_endless_command_is_cut_by_time(pool: ListenerPool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Smtp, "limits", replace(LIMITS, first=0.3, head=0.6))
    clinic = SmtpClinic(pool._gateway, pool)
    with socket.create_connection(("127.0.0.1", clinic.port), timeout=30) as slow, pytest.raises(OSError):  # noqa: PT011, PT012
        while True:
            slow.sendall(b"x" * 1000)
    with socket.create_connection(("127.0.0.1", clinic.port), timeout=30) as silent:
        silent.recv(1000)
        assert silent.recv(1000) == b"", "a client that sends nothing is disconnected"


def test_recipients_beyond_the_limit_are_refused(clinic: SmtpClinic) -> None:
    with clinic.connect() as client:
        failed = client.sendmail(OWN, [f"p{number}@home.example" for number in range(150)], PLAIN)
    assert {reply[0] for reply in failed.values()} == {452}
    assert len(failed) == 50
    assert len(clinic.sent()[0].header.recipients) == 100


def test_unknown_commands_end_the_connection(clinic: SmtpClinic) -> None:
    client = RawSmtp(clinic)
    replies: list[str] = []
    with suppress(OSError):
        while not replies or replies[-1]:
            replies.append(client.command(b"BLAH")[:3])
    assert len(replies) <= 8


def test_flood_of_connections_leaves_the_listener_usable(clinic: SmtpClinic) -> None:
    flood = [socket.create_connection(("127.0.0.1", clinic.port)) for _ in range(700)]
    try:
        with clinic.connect() as client:
            client.sendmail(OWN, [ANA], PLAIN)
    finally:
        for each in flood:
            each.close()
    assert len(clinic.sent()) == 1


def test_broken_tls_handshake_ends_only_its_connection(clinic: SmtpClinic) -> None:
    client = RawSmtp(clinic, login=False)
    client.command(b"EHLO test.example")
    assert client.command(b"STARTTLS")[:3] == "220"
    client.socket.sendall(b"this is no handshake\r\n" * 10)
    with suppress(OSError):
        while client.socket.recv(1000):
            pass
    with clinic.connect(tls=True) as other:
        other.sendmail(OWN, [ANA], PLAIN)
    assert clinic.playground.broken is None


def test_text_before_the_handshake_is_discarded(clinic: SmtpClinic) -> None:
    client = RawSmtp(clinic, login=False)
    client.command(b"EHLO test.example")
    client.socket.sendall(b"STARTTLS\r\nEHLO injected.example\r\n")
    assert client.read()[:3] == "220"
    with clinic.tls_context().wrap_socket(client.socket, server_hostname="127.0.0.1") as encrypted:
        encrypted.sendall(b"MAIL FROM:<%s>\r\n" % OWN.encode())
        # A reply to the injected EHLO would come first, and MAIL would then need a login only (530).
        assert encrypted.recv(1000)[:3] == b"503"


def test_client_that_leaves_during_data_sends_nothing(clinic: SmtpClinic) -> None:
    client = RawSmtp(clinic)
    client.begin()
    client.socket.sendall(PLAIN)
    client.close()
    with clinic.connect() as other:
        other.noop()
    assert clinic.sent() == []


@given(
    st.lists(
        st.binary(max_size=60)
        | st.sampled_from(
            [
                b"EHLO x",
                b"AUTH PLAIN",
                b"AUTH LOGIN =",
                b"*",
                b"DATA",
                b"MAIL FROM:<frontdesk@clinic.example> SIZE=x",
                b"RCPT TO:<\xff@x>",
                b"VRFY \xff",
                b"HELP \xff",
                b"STARTTLS x",
            ]
        ),
        max_size=12,
    )
)
@settings(deadline=None, max_examples=examples(60))
def test_any_lines_get_replies_of_the_protocol(lines: list[bytes]) -> None:
    clinic, client = shared_clinic()
    with suppress(OSError):
        client.socket.sendall(b"\r\n".join([*lines, b"\r\n.", b"RSET", b"QUIT", b""]))
        client.socket.shutdown(socket.SHUT_WR)
        for line in client.replies:
            assert line[:3].isdigit(), line
            assert line.endswith(b"\r\n")
    client.close()
    assert clinic.playground.broken is None


_SHARED: list[SmtpClinic] = []


def shared_clinic() -> tuple[SmtpClinic, RawSmtp]:
    """Return an organization for all examples of one test, and a new client of it."""
    clinic = _SHARED[0]
    clinic.clients.clear()
    return clinic, RawSmtp(clinic)


@pytest.fixture(autouse=True, scope="module")
def _open_shared() -> object:
    pool = ListenerPool(Gateway())
    _SHARED.append(SmtpClinic(pool._gateway, pool, seed="shared"))
    yield
    _SHARED.clear()
    pool.close()


def test_run_that_ends_during_data_stores_nothing(clinic: SmtpClinic) -> None:
    client = RawSmtp(clinic)
    client.begin()
    clinic.end()
    wait_until(lambda: client.read()[:3] in ("421", ""))
    assert clinic.sent() == []
