"""The base of listeners with logins: each sandbox is a user, named by its address, whose password is its token."""

from dataclasses import replace
from typing import ClassVar

from clerkship.kit.descriptors import raise_limit
from clerkship.sandbox.authentication.listener_schemes import PasswordUser
from clerkship.sandbox.listener import ProtocolListener, SandboxClient, SandboxDirectory
from clerkship.sandbox.request import ConnectionInfo
from clerkship.transports.limits import ConnectionLimits
from clerkship.transports.tcp import OpenPort, TcpListener

MIN_CONNECTIONS = 32
RESERVED_DESCRIPTORS = 256
"""Open files of this process that are not for connections."""
GRACE_SECONDS = 1.0
"""Seconds that connections have when the listener closes."""


def max_connections() -> int:
    """Return how many connections the limit of open files allows."""
    return max(MIN_CONNECTIONS, raise_limit() - RESERVED_DESCRIPTORS)


class UserListener(ProtocolListener):
    """A listener with one port. Of its connections, one sandbox may have five sixths."""

    limits: ClassVar[ConnectionLimits]

    def __init__(self, directory: SandboxDirectory) -> None:
        super().__init__(directory)
        limit = min(self.limits.connections, max_connections())
        self.tcp = TcpListener(replace(self.limits, per_sandbox=min(self.limits.per_sandbox, limit * 5 // 6)), limit)
        self._host, self._port = "", 0

    def _bind(self, host: str, port: int) -> OpenPort:
        opened = self.tcp.open_port(host, port)
        self._host, self._port = host, opened.number
        return opened

    async def close(self) -> None:
        """Accept no more connections and close the open ones."""
        await self.tcp.close(GRACE_SECONDS)

    def connection_info(self, client: SandboxClient) -> ConnectionInfo:
        """Return host, port, user and password."""
        return {"host": self._host, "port": self._port, "user": client.address.lower(), "password": client.token}

    def log_in(self, user: str, password: str) -> SandboxClient | None:
        """Return the sandbox of a user. A wrong password and an unknown user are not distinguished."""
        client = self.directory.find(user)
        if PasswordUser.has_password(client, password):
            return client
        self.directory.list_refused(user, "login", "wrong user or password")
        return None
