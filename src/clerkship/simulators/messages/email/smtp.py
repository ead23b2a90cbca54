"""The SMTP listener: one submission server (RFC 6409) for the organizations of all playgrounds.

Each sandbox is a user, named by its address. aiosmtpd is loaded when the listener opens.
"""

import ssl
import tempfile
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import ClassVar, cast

from clerkship.by_name import load
from clerkship.kit.wall import monotonic
from clerkship.sandbox.listener import SandboxClient, SandboxDirectory
from clerkship.sandbox.request import ConnectionInfo
from clerkship.simulators.messages.config import MessagesConfig
from clerkship.transports.limits import ConnectionLimits
from clerkship.transports.outbound.address import parse_ip
from clerkship.transports.user_listener import UserListener

LIMITS = ConnectionLimits(
    first=10.0, head=30.0, body=60.0, idle=300.0, connections=600, held=400_000_000, held_per_sandbox=200_000_000
)
"""`head` is until the login, `body` between two pieces of an e-mail."""
HOST_NAME = "localhost"
NOT_BEFORE, NOT_AFTER = datetime(2020, 1, 1, tzinfo=UTC), datetime(2049, 12, 31, tzinfo=UTC)
"""A fixed validity, so that no clock is needed; clients compare it with theirs."""


def make_certificate(host: str) -> tuple[str, ssl.SSLContext]:
    """Make a certificate for the local host and a host of the user; return it in PEM, and the server's settings."""
    # Imported here because cryptography takes a tenth of a second to load.
    from cryptography import x509  # noqa: PLC0415
    from cryptography.hazmat.primitives import hashes, serialization  # noqa: PLC0415
    from cryptography.hazmat.primitives.asymmetric import ec  # noqa: PLC0415

    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, HOST_NAME)])
    ip = parse_ip(host)
    names: list[x509.GeneralName] = [x509.DNSName(HOST_NAME), x509.DNSName(host) if ip is None else x509.IPAddress(ip)]
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(NOT_BEFORE)
        .not_valid_after(NOT_AFTER)
        .add_extension(x509.SubjectAlternativeName(names), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .sign(key, hashes.SHA256())
    )
    pem = certificate.public_bytes(serialization.Encoding.PEM)
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    with tempfile.TemporaryDirectory() as folder:  # ssl reads keys from files only
        path = Path(folder) / "chain.pem"
        path.touch(mode=0o600)
        path.write_bytes(pem + private)
        context.load_cert_chain(path)
    return pem.decode(), context


class Smtp(UserListener):
    """The listener."""

    name: ClassVar[str] = "smtp"
    package: ClassVar[str] = "aiosmtpd"
    extra: ClassVar[str] = "smtp"
    limits: ClassVar[ConnectionLimits] = LIMITS

    is_tls: ClassVar[bool] = False
    """Whether connections begin with TLS; otherwise clients may begin it with STARTTLS."""

    def __init__(self, directory: SandboxDirectory) -> None:
        super().__init__(directory)
        self._certificate = ""
        self.max_message_bytes = 0
        """The largest limit of the sandboxes that clients were told to connect to: EHLO comes before the login."""

    async def open(self, host: str, port: int) -> None:
        """Start listening."""
        opened = self._bind(host, port)
        tls = self.directory.tls
        if tls is None:
            self._certificate, context = make_certificate(self.directory.client_host)
        else:
            self._certificate, context = tls.certificate.read_text(encoding="ascii"), tls.build_context()
        # Loaded here because aiosmtpd is an extra.
        serve = load("clerkship.simulators.messages.email.connection:serve")
        await serve(self, opened, context, is_tls=self.is_tls)
        self.tcp.start_sweeping()

    async def run_ended(self, address: str) -> None:
        """Close the connections of a sandbox whose run has ended."""
        now = monotonic()
        for connection in self.tcp.table:
            connection.sweep(now)

    def ports(self) -> Sequence[int]:
        return self.tcp.numbers()

    def connection_info(self, client: SandboxClient) -> ConnectionInfo:
        """Return host, port, user, password, and the certificate of the listener in PEM."""
        self.max_message_bytes = max(self.max_message_bytes, cast(MessagesConfig, client.config).max_message_bytes)
        return {**super().connection_info(client), "certificate": self._certificate}

    def example(self, info: ConnectionInfo) -> str:
        """Return a swaks command that connects."""
        tls = "--tls-on-connect" if self.is_tls else "--tls"
        return (
            f"swaks --server {info['host']}:{info['port']} {tls} --auth PLAIN --auth-user {info['user']}"
            " --from OWN_ADDRESS --to ADDRESS"
        )


class Smtps(Smtp):
    """The listener with TLS from the first byte, as on port 465 (RFC 8314 §3.3)."""

    name: ClassVar[str] = "smtps"
    is_tls: ClassVar[bool] = True
