"""SSH connections and their channels: a login, then SFTP or scp."""

import logging
from collections.abc import Awaitable
from contextlib import suppress
from socket import socket
from typing import TYPE_CHECKING, Any

import asyncssh
from asyncssh.scp import run_scp_server
from asyncssh.stream import SSHServerStreamSession

from clerkship.kit.wall import monotonic
from clerkship.simulators.files.sftp.drop import Drop
from clerkship.simulators.files.sftp.handler import VERSION, SftpHandler
from clerkship.simulators.files.sftp.host_keys import build_host_keys
from clerkship.simulators.files.sftp.keys import Key
from clerkship.simulators.files.sftp.server import DropServer

if TYPE_CHECKING:
    from clerkship.simulators.files.sftp.listener import Sftp, SftpAccount

MAX_CHANNELS = 10
MAX_LOGIN_TRIES = 6
"""Credentials that one connection may try."""
MAX_UNSENT = 1024 * 1024
"""Bytes of answers that a client has not read; then no more packets are answered."""
AGREED = 2
"""The progress of a connection that has agreed on keys."""
BY_APPLICATION = 11
"""The reason of a disconnect (RFC 4253 §11.1)."""


class SftpConnection(asyncssh.SSHServer):
    """One SSH connection: its sandbox, and the channels it has open."""

    def __init__(self, listener: "Sftp") -> None:
        self._listener, self._table = listener, listener.tcp.table
        self._connection: asyncssh.SSHServerConnection | None = None
        self._agreed = False
        self._tries = self._channels = 0
        self.account: SftpAccount | None = None
        self._opened_at = self._active_at = monotonic()

    @property
    def is_evictable(self) -> bool:
        """Whether it has not logged in."""
        return self.account is None

    @property
    def progress(self) -> int:
        """How far a connection is that has not logged in: 0 has sent nothing, 1 something, 2 has agreed on keys."""
        spoke = self._connection is not None and self._connection.get_extra_info("client_version")
        return AGREED if self._agreed else 1 if spoke else 0

    def connection_made(self, conn: asyncssh.SSHServerConnection) -> None:
        """Enter the connection into the table."""
        self._connection = conn
        if not self._table.enter(self):
            conn.abort()

    def connection_lost(self, exc: Exception | None) -> None:
        """Remove it from the table."""
        self._table.leave(self)

    def begin_auth(self, username: str) -> bool:
        """Require a login."""
        self._agreed = True
        return True

    def password_auth_supported(self) -> bool:
        """Accept the sandbox's token as a password."""
        return True

    def public_key_auth_supported(self) -> bool:
        """Accept the sandbox's own key."""
        return True

    def auth_completed(self) -> None:
        """Bind the connection to the sandbox of the user that logged in, not of those tried before."""
        assert self._connection is not None
        self.account = self._listener.find_account(self._connection.get_extra_info("username"))
        if self.account is None:
            self.dismiss("the run is over")
        elif not self._table.claim(self, self.account.client.address):
            self.dismiss("too many connections")

    def validate_password(self, username: str, password: str) -> bool:
        """Return whether it is the token of the sandbox with this address."""
        return self._count_failure(self._listener.has_password(username, password))

    def validate_public_key(self, username: str, key: asyncssh.SSHKey) -> bool:
        """Return whether it is the key of the sandbox with this address."""
        return self._count_failure(self._listener.has_key(username, key.public_data.hex()))

    def _count_failure(self, admitted: bool) -> bool:
        """Disconnect after too many failures. Each key a client offers counts, as in OpenSSH."""
        self._tries += not admitted
        if self._tries >= MAX_LOGIN_TRIES:
            self.dismiss("too many authentication failures")
        return admitted

    def session_requested(self) -> Any:
        """Open a channel."""
        if self.account is None or self._channels >= MAX_CHANNELS:
            return False
        self._channels += 1
        return Channel(self, self.account)

    def channel_closed(self) -> None:
        """Count a channel no longer."""
        self._channels -= 1

    def run(self, session: Awaitable[None]) -> None:
        """Run a session in the background. The listener waits for it when it closes."""
        self._listener.run_session(self._guard(session))

    async def _guard(self, session: Awaitable[None]) -> None:
        try:
            await session
        except Exception:  # a fault, the end of the connection, or a bug, which the run has recorded
            self.drop()

    def seen(self) -> None:
        """Note that the client has sent something."""
        self._active_at = monotonic()

    def drop(self) -> None:
        """Close it at once."""
        if self._connection is not None:
            self._connection.abort()

    def leave(self) -> None:
        """Close it because the listener closes."""
        self.dismiss("the server is closed")

    async def end(self) -> None:
        """Close it at once."""
        self.drop()

    def sweep(self, now: float) -> None:
        """Close it if its run is over, or if it takes longer than it may."""
        limits, age = self._table.limits, now - self._opened_at
        if self.account is not None and not self.account.client.open:
            self.dismiss("the run is over")
        elif now - self._active_at > limits.idle:
            self.dismiss("nothing has come for too long")
        elif self.progress < AGREED and age > (limits.head if self.progress else limits.first):
            self.drop()

    def dismiss(self, reason: str) -> None:
        """Close it and say why."""
        if self._connection is not None:
            self._connection.disconnect(BY_APPLICATION, reason)


class Channel(SSHServerStreamSession[bytes]):
    """One channel. It is SFTP, or scp, or it is refused."""

    def __init__(self, connection: SftpConnection, account: "SftpAccount") -> None:
        super().__init__(None, self._build_server, VERSION, allow_scp=True)
        self._connection, self._entrance = connection, account

    def _build_server(self, channel: Any) -> DropServer:
        return DropServer(channel, Drop(self._entrance.client, self._entrance.uploads))

    def session_started(self) -> None:
        """Run SFTP or scp."""
        channel: Any = self._chan
        channel.set_write_buffer_limits(MAX_UNSENT)
        server = self._build_server(channel)
        writer: asyncssh.SSHWriter[bytes] = asyncssh.SSHWriter(self, channel)
        if channel.get_subsystem() == "sftp":
            self._connection.run(SftpHandler(server, asyncssh.SSHReader(self, channel), writer, VERSION).run())
            return
        errors: asyncssh.SSHWriter[bytes] = asyncssh.SSHWriter(self, channel, asyncssh.EXTENDED_DATA_STDERR)
        transfer = run_scp_server(server, channel.get_command(), ScpReader(self, channel, server), writer, errors)
        if transfer is not None:
            self._connection.run(transfer)

    def data_received(self, data: bytes, datatype: int | None) -> None:
        """Note that the client is active."""
        self._connection.seen()
        super().data_received(data, datatype)

    def connection_lost(self, exc: Exception | None) -> None:
        """Count the channel no longer."""
        super().connection_lost(exc)
        self._connection.channel_closed()


class ScpReader(asyncssh.SSHReader[bytes]):
    """The input of scp. Tells the server the size that a file is announced with, and when the input ends."""

    def __init__(self, session: Channel, channel: Any, server: DropServer) -> None:
        super().__init__(session, channel)
        self._server = server

    async def readline(self) -> bytes:
        """Read a request, such as `C0644 5 name`."""
        line = await super().readline()
        if line.startswith(b"C"):
            with suppress(ValueError, IndexError):  # asyncssh refuses it
                self._server.announced = int(line.split()[1])
        return line

    async def read(self, n: int = -1) -> bytes:
        """Read bytes of a file."""
        data = await super().read(n)
        if not data:
            self._server.interrupted = True
        return data


async def listen(listener: "Sftp", opened: socket, key: Key) -> asyncssh.SSHAcceptor:
    """Accept SSH connections on a socket."""
    asyncssh.set_log_level(logging.WARNING)  # below that, asyncssh logs user names, which are credentials here
    return await asyncssh.listen(
        sock=opened,
        server_factory=lambda: SftpConnection(listener),
        server_host_keys=build_host_keys(key),
        **listener.settings,
    )
