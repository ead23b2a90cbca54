"""The SMTP listener: one submission server (RFC 6409) for the organizations of all playgrounds.

Each sandbox is a user, named by its address. aiosmtpd is loaded when the listener opens.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import ClassVar

from clerkship.by_name import load
from clerkship.kit.descriptors import raise_limit
from clerkship.kit.wall import monotonic
from clerkship.sandbox.authentication.smtp import SmtpUser
from clerkship.sandbox.listener import ConnectionInfo, ProtocolListener, SandboxClient, SandboxDirectory
from clerkship.simulators.messages.email.certificate import ServerCertificate, make_certificate
from clerkship.transports.limits import ConnectionLimits
from clerkship.transports.tcp import TcpListener, to_reachable_host

LIMITS = ConnectionLimits(
    first=10.0, head=30.0, body=60.0, idle=300.0, connections=600, held=400_000_000, held_per_sandbox=200_000_000
)
"""`head` is until the login, `body` between two pieces of an e-mail."""
MIN_CONNECTIONS = 32
RESERVED_DESCRIPTORS = 256
"""Open files of this process that are not for connections."""
GRACE_SECONDS = 1.0


class Smtp(ProtocolListener):
    """The listener."""

    name: ClassVar[str] = "smtp"
    package: ClassVar[str] = "aiosmtpd"
    extra: ClassVar[str] = "smtp"
    limits: ClassVar[ConnectionLimits] = LIMITS

    def __init__(self, directory: SandboxDirectory) -> None:
        super().__init__(directory)
        limit = min(self.limits.connections, max(MIN_CONNECTIONS, raise_limit() - RESERVED_DESCRIPTORS))
        self.tcp = TcpListener(replace(self.limits, per_sandbox=min(self.limits.per_sandbox, limit * 5 // 6)), limit)
        self._host, self._port = "", 0
        self._certificate: ServerCertificate | None = None

    async def open(self, host: str, port: int) -> None:
        """Start listening."""
        opened = self.tcp.open_port(host, port)
        self._host, self._port = host, opened.number
        self._certificate = make_certificate(to_reachable_host(host))
        # Loaded here because aiosmtpd is an extra.
        serve = load("clerkship.simulators.messages.email.connection:serve")
        await serve(self, opened, self._certificate.context)
        self.tcp.start_sweeping()

    async def close(self) -> None:
        """Accept no more connections and close the open ones."""
        await self.tcp.close(GRACE_SECONDS)

    async def run_ended(self, address: str) -> None:
        """Close the connections of a sandbox whose run has ended."""
        now = monotonic()
        for connection in self.tcp.table:
            connection.sweep(now)

    def ports(self) -> Sequence[int]:
        """Return the port."""
        return self.tcp.numbers()

    def connection_info(self, client: SandboxClient) -> ConnectionInfo:
        """Return host, port, user, password, and the certificate of STARTTLS in PEM."""
        assert self._certificate is not None
        return {
            "host": self._host,
            "port": self._port,
            "user": client.address.lower(),
            "password": client.token,
            "certificate": self._certificate.pem,
        }

    def example(self, info: ConnectionInfo) -> str:
        """Return a swaks command that connects."""
        return (
            f"swaks --server {info['host']}:{info['port']} --tls --auth PLAIN --auth-user {info['user']}"
            " --from OWN_ADDRESS --to ADDRESS"
        )

    def log_in(self, user: str, password: str) -> SandboxClient | None:
        """Return the sandbox of a user. A wrong password and an unknown user are not distinguished."""
        client = self.directory.find(user)
        if SmtpUser.has_password(client, password):
            return client
        self.directory.list_refused(user, "login", "wrong user or password")
        return None
