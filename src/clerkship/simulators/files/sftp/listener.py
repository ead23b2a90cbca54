"""The SFTP listener: one SSH server for the drops of all playgrounds.

Each sandbox is an SSH user, named by its address.
"""

import asyncio
import threading
from collections.abc import Coroutine
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from clerkship.by_name import load
from clerkship.sandbox.authentication.listener_schemes import SshUser
from clerkship.sandbox.listener import SandboxClient, SandboxDirectory
from clerkship.sandbox.request import ConnectionInfo
from clerkship.simulators.files.sftp.upload import Uploads
from clerkship.transports.limits import ConnectionLimits
from clerkship.transports.user_listener import GRACE_SECONDS, UserListener

if TYPE_CHECKING:
    from asyncssh import SSHAcceptor

LIMITS = ConnectionLimits(first=5.0, head=20.0, idle=900.0, connections=600)
"""`first` is until the first byte, which every client sends at once; `head` is until the agreement on keys, which takes
some time for five hundred connections at once."""
DEFAULT_PORT = 22
WINDOW_BYTES = 4 * 1024 * 1024
MAX_PACKET_BYTES = 128 * 1024
SETTINGS: dict[str, Any] = {
    "encoding": None,
    "window": WINDOW_BYTES,
    "max_pktsize": MAX_PACKET_BYTES,
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
    # AES only: processors have instructions for it, and ChaCha20 costs three times as much. OpenSSH accepts either.
    "encryption_algs": "aes*-gcm@openssh.com,aes*-ctr",
    "kex_algs": (
        "curve25519-sha256*,ecdh-sha2-nistp256,ecdh-sha2-nistp384,"
        "diffie-hellman-group14-sha256,diffie-hellman-group16-sha512"
    ),
    "mac_algs": "umac-*-etm@openssh.com,hmac-sha2-???-etm@openssh.com,hmac-sha2-256,hmac-sha2-512",
}
"""No broken algorithms, and nothing but files."""


class SshKeyPair(NamedTuple):
    """An Ed25519 key pair of SSH, generated from the system's randomness and never logged."""

    private: str
    """The private key as a file of OpenSSH."""
    public: str
    """The public key as a line of OpenSSH: its kind, and its bytes in base64."""


def generate_key() -> SshKeyPair:
    """Generate a key pair."""
    import asyncssh  # noqa: PLC0415  (an extra)

    pair = asyncssh.generate_private_key("ssh-ed25519")
    return SshKeyPair(pair.export_private_key().decode(), pair.export_public_key().decode().strip())


@dataclass
class SftpAccount:
    """The SSH user of one sandbox: its key, and its open uploads."""

    client: SandboxClient
    key: SshKeyPair
    uploads: Uploads = field(default_factory=Uploads)


class Sftp(UserListener):
    """The listener. It imports asyncssh, an optional dependency, when it is opened."""

    name: ClassVar[str] = "sftp"
    package: ClassVar[str] = "asyncssh"
    extra: ClassVar[str] = "sftp"
    settings: ClassVar[dict[str, Any]] = SETTINGS
    limits: ClassVar[ConnectionLimits] = LIMITS

    def __init__(self, directory: SandboxDirectory) -> None:
        super().__init__(directory)
        self._key: SshKeyPair | None = None
        self._accounts: dict[str, SftpAccount] = {}
        self._lock = threading.Lock()
        self._sessions: set[asyncio.Task[None]] = set()
        self._acceptor: SSHAcceptor | None = None

    async def open(self, host: str, port: int) -> None:
        opened = self._bind(host, port)
        self._key = generate_key()
        # Loaded here because asyncssh is an extra.
        listen = load("clerkship.simulators.files.sftp.connection:listen")
        self._acceptor = await listen(self, opened.socket, self._key)
        self.tcp.start_sweeping(self._forget_accounts)

    async def close(self) -> None:
        """Accept no more connections and close the open ones; their uploads are stored as incomplete files."""
        if self._acceptor is not None:
            self._acceptor.close()
        await super().close()
        if self._sessions:
            await asyncio.wait(self._sessions, timeout=GRACE_SECONDS)

    def connection_info(self, client: SandboxClient) -> ConnectionInfo:
        """Return host, port, user, password, private key and host key."""
        account = self._account_of(client)
        assert self._key is not None
        known = self._host if self._port == DEFAULT_PORT else f"[{self._host}]:{self._port}"
        keys = {"private_key": account.key.private, "host_key": f"{known} {self._key.public}"}
        return {**super().connection_info(client), **keys}

    def example(self, info: ConnectionInfo) -> str:
        """Return an OpenSSH command that connects."""
        return f"sftp -P {info['port']} {info['user']}@{info['host']}"

    def has_key(self, user: str, key: str) -> bool:
        """Return whether a public key, as a line of OpenSSH, is that of a user."""
        account = self.find_account(user)
        client, expected = (None, "") if account is None else (account.client, account.key.public)
        return SshUser.has_key(client, expected, key)

    def find_account(self, user: str) -> SftpAccount | None:
        """Return the account of a user whose run has not ended."""
        client = self.directory.find(user)
        return None if client is None or not client.open else self._account_of(client)

    def run_session(self, session: Coroutine[Any, Any, None]) -> None:
        """Run a session in the background; `close` waits for it."""
        task = asyncio.get_running_loop().create_task(session)
        self._sessions.add(task)
        task.add_done_callback(self._sessions.discard)

    def _account_of(self, client: SandboxClient) -> SftpAccount:
        with self._lock:
            account = self._accounts.get(client.address)
            if account is None:
                account = self._accounts[client.address] = SftpAccount(client, generate_key())
            return account

    def _forget_accounts(self) -> None:
        with self._lock:
            for address in [name for name, account in self._accounts.items() if not account.client.open]:
                del self._accounts[address]
