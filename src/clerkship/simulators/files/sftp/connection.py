"""SSH connections and their channels: a login, then SFTP or scp."""

import logging
from collections.abc import Awaitable
from contextlib import suppress
from functools import cache
from socket import socket
from typing import TYPE_CHECKING, Any

import asyncssh
from asyncssh import SSHKey, SSHKeyPair, generate_private_key, import_private_key
from asyncssh.constants import MSG_IGNORE
from asyncssh.scp import run_scp_server
from asyncssh.stream import SSHServerStreamSession

from clerkship.kit.wall import monotonic
from clerkship.simulators.files.sftp.handler import VERSION, SftpHandler
from clerkship.simulators.files.sftp.server import DropServer

if TYPE_CHECKING:
    from clerkship.simulators.files.sftp.listener import Sftp, SftpAccount, SshKeyPair

RSA_BITS = 2048
RSA_SIGNATURES = (b"rsa-sha2-256", b"rsa-sha2-512")
"""Not `ssh-rsa`, which is SHA-1."""


class RsaHostKey(SSHKeyPair):
    """An RSA key that is generated when a client first chooses it, because that takes some tenths of a second."""

    def __init__(self, signature: bytes) -> None:
        super().__init__(b"ssh-rsa", b"ssh-rsa", (signature,), (signature,), b"", None)

    def set_sig_algorithm(self, sig_algorithm: bytes) -> None:
        """Generate the key: asyncssh calls this when the key is chosen for a connection."""
        super().set_sig_algorithm(sig_algorithm)
        self.public_data = self.key_public_data = _rsa_key().public_data

    def sign(self, data: bytes) -> bytes:
        return _rsa_key().sign(data, self.sig_algorithm)


@cache
def _rsa_key() -> SSHKey:
    """Return the key of all listeners of the process."""
    return generate_private_key("ssh-rsa", key_size=RSA_BITS)


def build_host_keys(key: "SshKeyPair") -> list[SSHKey | SSHKeyPair]:
    """Return the keys of a listener, the preferred one first."""
    ecdsa = generate_private_key("ecdsa-sha2-nistp256")
    return [import_private_key(key.private), ecdsa, *map(RsaHostKey, RSA_SIGNATURES)]


MAX_CHANNELS = 10
MAX_LOGIN_TRIES = 6
"""Credentials that one connection may try."""
MAX_UNSENT_BYTES = 1024 * 1024
"""Limit on replies that a client has not read; beyond it, no more packets are answered."""
KEYS_AGREED = 2
"""The progress of a connection after the key exchange."""
DISCONNECT_BY_APPLICATION = 11
"""The reason of a disconnect (RFC 4253 §11.1)."""


def skip_empty_packets(connection: Any) -> None:
    """Do not send the empty packet that asyncssh puts before each packet: it costs as much as a small reply.

    It is against an attack on CBC ciphers (RFC 4251 §9.3.1), which the listener does not offer.
    """
    send_packet = connection.send_packet

    def send(pkttype: int, *args: bytes, **options: Any) -> None:
        if pkttype != MSG_IGNORE:
            send_packet(pkttype, *args, **options)

    connection.send_packet = send


class SftpConnection(asyncssh.SSHServer):
    """One SSH connection: its sandbox, and the channels it has open."""

    def __init__(self, listener: "Sftp") -> None:
        self._listener, self._table = listener, listener.tcp.table
        self._connection: asyncssh.SSHServerConnection | None = None
        self._agreed = False
        self._tries = self.channels = 0
        self.account: SftpAccount | None = None
        self._opened_at = self.active_at = monotonic()

    @property
    def is_evictable(self) -> bool:
        """Whether it has not logged in."""
        return self.account is None

    @property
    def progress(self) -> int:
        """How far a connection without login is: 0 has sent nothing, 1 has sent something, 2 has exchanged keys."""
        spoke = self._connection is not None and self._connection.get_extra_info("client_version")
        return KEYS_AGREED if self._agreed else 1 if spoke else 0

    def connection_made(self, conn: asyncssh.SSHServerConnection) -> None:
        self._connection = conn
        skip_empty_packets(conn)
        if not self._table.enter(self):
            conn.abort()

    def connection_lost(self, exc: Exception | None) -> None:
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
            self.disconnect("the run is over")
        elif not self._table.claim(self, self.account.client.address):
            self.disconnect("too many connections")

    def validate_password(self, username: str, password: str) -> bool:
        """Return whether it is the token of the sandbox with this address."""
        return self._count_failure(self._listener.log_in(username, password) is not None)

    def validate_public_key(self, username: str, key: asyncssh.SSHKey) -> bool:
        """Return whether it is the key of the sandbox with this address."""
        return self._count_failure(self._listener.has_key(username, key.export_public_key().decode().strip()))

    def _count_failure(self, admitted: bool) -> bool:
        """Disconnect after too many failures. Each key a client offers counts, as in OpenSSH."""
        self._tries += not admitted
        if self._tries >= MAX_LOGIN_TRIES:
            self.disconnect("too many authentication failures")
        return admitted

    def session_requested(self) -> Any:
        if self.account is None or self.channels >= MAX_CHANNELS:
            return False
        self.channels += 1
        return SftpChannel(self, self.account)

    def run(self, session: Awaitable[None]) -> None:
        """Run a session in the background. The listener waits for it when it closes."""
        self._listener.run_session(self._guard(session))

    async def _guard(self, session: Awaitable[None]) -> None:
        try:
            await session
        except Exception:  # a fault, the end of the connection, or a bug, which the run has recorded
            self.drop()

    def drop(self) -> None:
        """Close the connection at once."""
        if self._connection is not None:
            self._connection.abort()

    def leave(self) -> None:
        """Close the connection because the listener closes."""
        self.disconnect("the server is closed")

    async def end(self) -> None:
        """Close the connection at once."""
        self.drop()

    def sweep(self, now: float) -> None:
        """Close the connection if its run has ended or a time limit has passed."""
        limits, age = self._table.limits, now - self._opened_at
        if self.account is not None and not self.account.client.open:
            self.disconnect("the run is over")
        elif now - self.active_at > limits.idle:
            self.disconnect("nothing has come for too long")
        elif self.progress < KEYS_AGREED and age > (limits.head if self.progress else limits.first):
            self.drop()

    def disconnect(self, reason: str) -> None:
        """Close the connection and send the reason."""
        if self._connection is not None:
            self._connection.disconnect(DISCONNECT_BY_APPLICATION, reason)


class SftpChannel(SSHServerStreamSession[bytes]):
    """One channel: SFTP or scp; anything else is refused."""

    def __init__(self, connection: SftpConnection, account: "SftpAccount") -> None:
        super().__init__(None, self._build_server, VERSION, allow_scp=True)
        self._connection, self._account = connection, account

    def _build_server(self, channel: Any) -> DropServer:
        return DropServer(channel, self._account.client, self._account.uploads)

    def session_started(self) -> None:
        """Run SFTP or scp."""
        channel: Any = self._chan
        channel.set_write_buffer_limits(MAX_UNSENT_BYTES)
        channel.log_sent_packet = channel.log_received_packet = lambda *args: None  # the text costs too much
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
        self._connection.active_at = monotonic()
        super().data_received(data, datatype)

    def connection_lost(self, exc: Exception | None) -> None:
        """Note that the channel was closed."""
        super().connection_lost(exc)
        self._connection.channels -= 1


class ScpReader(asyncssh.SSHReader[bytes]):
    """The input of scp. Passes the announced size of a file to the server, and notices when the input ends."""

    def __init__(self, session: SftpChannel, channel: Any, server: DropServer) -> None:
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
        data = await super().read(n)
        if not data:
            self._server.interrupted = True
        return data


async def listen(listener: "Sftp", opened: socket, key: "SshKeyPair") -> asyncssh.SSHAcceptor:
    """Accept SSH connections on a socket."""
    asyncssh.set_log_level(logging.WARNING)  # below that, asyncssh logs user names, which are credentials here
    return await asyncssh.listen(
        sock=opened,
        server_factory=lambda: SftpConnection(listener),
        server_host_keys=build_host_keys(key),
        **listener.settings,
    )
