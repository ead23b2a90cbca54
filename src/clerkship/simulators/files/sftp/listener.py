"""SFTP: one SSH server for the drops of every playground. A user is a sandbox, known by its address."""

import asyncio
import threading
from collections.abc import Coroutine
from dataclasses import dataclass, field, replace
from importlib import import_module
from typing import TYPE_CHECKING, Any, ClassVar

from clerkship.kit.descriptors import raise_limit
from clerkship.sandbox.authentication.ssh import SshUser
from clerkship.sandbox.listener import ConnectionInfo, ProtocolListener, SandboxClient, SandboxDirectory
from clerkship.simulators.files.sftp.keys import Key, new_key
from clerkship.simulators.files.sftp.upload import Uploads
from clerkship.transports.limits import ConnectionLimits
from clerkship.transports.tcp import TcpListener

if TYPE_CHECKING:
    from asyncssh import SSHAcceptor

LIMITS = ConnectionLimits(first=5.0, head=20.0, idle=900.0, connections=600)
"""`first` is to the first byte, which every client sends at once; `head` is to the agreement on keys: five hundred
connections at once take some time for it."""
MIN_CONNECTIONS = 32
RESERVED = 256
"""Open files of this process that are left for all else: its limit less these is how many may connect."""
USUAL_PORT = 22
GRACE = 1.0
"""Seconds that connections and uploads under way have when the listener closes."""
WINDOW = 4 * 1024 * 1024
PACKET = 128 * 1024
SETTINGS: dict[str, Any] = {
    "encoding": None,
    "window": WINDOW,
    "max_pktsize": PACKET,
    "login_timeout": 30,
    "keepalive_interval": 60,
    "keepalive_count_max": 3,
    "backlog": 512,
    "server_version": "Clerkship",
    "line_editor": False,
    "allow_pty": False,
    "agent_forwarding": False,
    "x11_forwarding": False,
    "gss_host": None,
    "compression_algs": None,
    # AES alone: the processor does it, and ChaCha20 is three times the work here. OpenSSH takes either.
    "encryption_algs": [
        "aes128-gcm@openssh.com",
        "aes256-gcm@openssh.com",
        "aes128-ctr",
        "aes192-ctr",
        "aes256-ctr",
    ],
    "kex_algs": [
        "curve25519-sha256",
        "curve25519-sha256@libssh.org",
        "ecdh-sha2-nistp256",
        "ecdh-sha2-nistp384",
        "diffie-hellman-group14-sha256",
        "diffie-hellman-group16-sha512",
    ],
    "mac_algs": [
        "umac-64-etm@openssh.com",
        "umac-128-etm@openssh.com",
        "hmac-sha2-256-etm@openssh.com",
        "hmac-sha2-512-etm@openssh.com",
        "hmac-sha2-256",
        "hmac-sha2-512",
    ],
}
"""Nothing that is broken, and nothing but files."""


def max_connections() -> int:
    """Return how many connections this process may have files open for."""
    return max(MIN_CONNECTIONS, raise_limit() - RESERVED)


@dataclass
class Entrance:
    """What one sandbox's agent comes in with, and what is on its way into it."""

    client: SandboxClient
    key: Key
    uploads: Uploads = field(default_factory=Uploads)


class Sftp(ProtocolListener):
    """The listener."""

    name: ClassVar[str] = "sftp"
    package: ClassVar[str] = "asyncssh"
    extra: ClassVar[str] = "sftp"
    settings: ClassVar[dict[str, Any]] = SETTINGS
    limits: ClassVar[ConnectionLimits] = LIMITS

    def __init__(self, directory: SandboxDirectory) -> None:
        super().__init__(directory)
        most = min(self.limits.connections, max_connections())
        self.tcp = TcpListener(replace(self.limits, per_sandbox=min(self.limits.per_sandbox, most * 5 // 6)), most)
        self._host, self._port = "", 0
        self._key: Key | None = None
        """What is compared with where there is no such user, so that it takes the same time."""
        self._entrances: dict[str, Entrance] = {}
        self._lock = threading.Lock()
        self._endings: set[asyncio.Task[None]] = set()
        self._acceptor: SSHAcceptor | None = None

    async def open(self, host: str, port: int) -> None:
        """Listen."""
        opened = self.tcp.open_port(host, port)
        self._key = new_key()
        # asyncssh is an extra, which its subclasses need.
        connection = import_module("clerkship.simulators.files.sftp.connection")
        self._acceptor = await connection.listen(self, opened.socket, self._key)
        self._host, self._port = host, opened.number
        self.tcp.start_sweeping(self._forget_keys)

    async def close(self) -> None:
        """Accept no more connections and close those there are; what they were writing is kept as far as it came."""
        if self._acceptor is not None:
            self._acceptor.close()
        await self.tcp.close(GRACE)
        if self._endings:
            await asyncio.wait(self._endings, timeout=GRACE)

    def connection_info(self, client: SandboxClient) -> ConnectionInfo:
        """Return host, port, user, password, private key and host key."""
        entrance = self._let_in(client)
        assert self._key is not None
        known = self._host if self._port == USUAL_PORT else f"[{self._host}]:{self._port}"
        return {
            "host": self._host,
            "port": self._port,
            "user": client.address.lower(),
            "password": client.token,
            "private_key": entrance.key.private,
            "host_key": f"{known} {self._key.public}",
        }

    def example(self, info: ConnectionInfo) -> str:
        """Return a command of OpenSSH."""
        return f"sftp -P {info['port']} {info['user']}@{info['host']}"

    def admits(self, user: str, password: str) -> bool:
        """Whether a password is that of a user. There is no telling a wrong one from a user that nobody is."""
        client = self.directory.find(user)
        if SshUser.has_password(client, password):
            return True
        self.directory.list_refused(user, "login", "wrong user or password")
        return False

    def knows(self, user: str, key: str) -> bool:
        """Whether a key, in hexadecimal, is that of a user."""
        entrance = self.entrance_of(user)
        if entrance is None:
            return SshUser.has_key(None, "", key)
        return SshUser.has_key(entrance.client, entrance.key.data.hex(), key)

    def entrance_of(self, user: str) -> Entrance | None:
        """What is known of a user whose run goes on."""
        client = self.directory.find(user)
        return None if client is None or not client.open else self._let_in(client)

    def keep(self, ending: Coroutine[Any, Any, None]) -> None:
        """See something to its end that nobody waits for."""
        task = asyncio.get_running_loop().create_task(ending)
        self._endings.add(task)
        task.add_done_callback(self._endings.discard)

    def _let_in(self, client: SandboxClient) -> Entrance:
        with self._lock:
            found = self._entrances.get(client.address)
            if found is None:
                found = self._entrances[client.address] = Entrance(client, new_key())
            return found

    def _forget_keys(self) -> None:
        """Forget the keys of runs that are over."""
        with self._lock:
            for address in [name for name, entrance in self._entrances.items() if not entrance.client.open]:
                del self._entrances[address]
