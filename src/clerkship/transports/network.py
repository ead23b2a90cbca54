"""Where the listeners of this process listen, and under which address clients reach them.

See docs/decisions/0034-agents-on-other-machines.md.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from ipaddress import IPv4Address
from urllib.parse import urlsplit

from clerkship.kit.tls import TlsFiles

LOOPBACK = "127.0.0.1"
ALL_ADDRESSES = "0.0.0.0"
"""The address that stands for every IPv4 address of this machine."""


@dataclass(frozen=True)
class SandboxNetwork:
    """Where the sandboxes of this process listen."""

    host: str = LOOPBACK
    """An IPv4 address of this machine, or ALL_ADDRESSES."""
    port: int = 0
    """The port of the HTTP server; 0 for any free one."""
    listener_ports: Mapping[str, int] = field(default_factory=dict)
    """Ports by name of the listener; others get any free port."""
    public_url: str = ""
    """The URL of the HTTP server for clients, if a proxy or a tunnel stands between."""
    address: str = ""
    """The address that clients use if `host` is ALL_ADDRESSES; empty for the host of the public URL, or loopback."""
    tls: TlsFiles | None = None
    """With these files, HTTP, SMTP and MLLP are encrypted with a certificate of the user."""
    allows_no_password: bool = False
    """Whether other machines may reach listeners that ask for no password."""

    @property
    def is_exposed(self) -> bool:
        """Whether it listens on an address that other machines may reach."""
        return not IPv4Address(self.host).is_loopback

    @property
    def client_host(self) -> str:
        """The host that clients connect to."""
        if self.host != ALL_ADDRESSES:
            return self.host
        return self.address or urlsplit(self.public_url).hostname or LOOPBACK

    def build_url(self, authority: str) -> str:
        """Return the URL of the HTTP server for clients that reach it at a host and port."""
        return self.public_url or f"{'http' if self.tls is None else 'https'}://{authority}"

    def may_open(self, *, has_password: bool) -> bool:
        """Return whether a listener may be opened, given whether it asks for a password."""
        has_certificates = self.tls is not None and self.tls.client_ca is not None
        return has_password or not self.is_exposed or has_certificates or self.allows_no_password


LOCAL_NETWORK = SandboxNetwork()
"""Loopback only, on free ports."""
