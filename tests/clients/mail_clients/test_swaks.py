"""swaks sends e-mail over SMTP."""

import subprocess
from pathlib import Path

import pytest

from tests.clients.sftp_programs import require_program
from tests.simulators.messages.email.served import ANA, OWN, SmtpClinic

DELIVERED, WRONG_SENDER, WRONG_RECIPIENT, WRONG_DATA, WRONG_LOGIN = 0, 23, 24, 26, 28
"""Exit codes of swaks."""


def swaks(
    clinic: SmtpClinic, *options: str, sender: str = OWN, password: str = ""
) -> "subprocess.CompletedProcess[str]":
    """Run swaks with a login."""
    require_program("swaks")
    port = clinic.handle.listeners["smtps"]["port"] if "--tls-on-connect" in options else clinic.port
    command = ["swaks", "--server", f"127.0.0.1:{port}", "--from", sender, "--auth-user", clinic.user]
    command += ["--auth-password", password or clinic.password, "--auth-hide-password", *options]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)


@pytest.mark.parametrize(
    "options",
    [
        ("--auth", "PLAIN"),
        ("--auth", "LOGIN"),
        ("--tls", "--auth", "PLAIN"),
        ("--tls-on-connect", "--auth", "PLAIN"),
        ("--tls", "--auth", "LOGIN", "--pipeline"),
        ("--auth", "PLAIN", "--pipeline"),
    ],
)
def test_swaks_sends(clinic: SmtpClinic, options: tuple[str, ...], tmp_path: Path) -> None:
    letter = tmp_path / "letter.pdf"
    letter.write_bytes(bytes(range(256)))
    more = ("--to", ANA, "--header", "Subject: Visit", "--body", "See you.", "--attach-type", "application/pdf")
    done = swaks(
        clinic, *(option for option in options if option != "--no-tls-optional"), *more, "--attach", f"@{letter}"
    )
    assert done.returncode == DELIVERED, done.stdout
    (sent,) = clinic.sent()
    assert (sent.header.to, sent.header.subject, sent.text.strip()) == ((ANA,), "Visit", "See you.")
    assert clinic.state.attachment(sent.header.attachments[0].id).data == bytes(range(256))


def test_swaks_verifies_the_certificate(clinic: SmtpClinic, tmp_path: Path) -> None:
    certificate = tmp_path / "server.pem"
    certificate.write_text(str(clinic.connection_info["certificate"]))
    flags = ("--tls", "--tls-verify", "--auth", "PLAIN", "--to", ANA)
    assert swaks(clinic, *flags, "--tls-ca-path", str(certificate)).returncode == DELIVERED
    assert swaks(clinic, *flags).returncode != DELIVERED


def test_swaks_is_refused(clinic: SmtpClinic) -> None:
    plain = ("--auth", "PLAIN")
    assert swaks(clinic, *plain, "--to", ANA, password="wrong").returncode == WRONG_LOGIN
    assert swaks(clinic, *plain, "--to", ANA, sender="ceo@clinic.example").returncode == WRONG_SENDER
    assert swaks(clinic, *plain, "--to", "nobody@clinic.example").returncode == WRONG_RECIPIENT
    spoofed = swaks(clinic, *plain, "--to", ANA, "--h-From", "Ana <spy@evil.example>")
    assert spoofed.returncode == WRONG_DATA, spoofed.stdout
    assert clinic.sent() == []
