"""Parse addresses of agents: `host:port`, or an http or https URL."""

import ipaddress
import re
from dataclasses import dataclass, field
from typing import Literal
from urllib.parse import SplitResult, urlsplit

Scheme = Literal["tcp", "http", "https"]
IpAddress = ipaddress.IPv4Address | ipaddress.IPv6Address
MAX_PORT = 65535
MAX_QUOTED = 60
"""Characters of an address that an error message quotes."""
DEFAULT_PORTS: dict[Scheme, int] = {"http": 80, "https": 443}
_HOST_NAME = re.compile(r"(?=.{1,253}\Z)[a-z0-9_]([a-z0-9_-]{0,62})(\.[a-z0-9_][a-z0-9_-]{0,62})*\.?", re.ASCII)


class BadAddress(ValueError):
    """The text is not a supported address."""


@dataclass(frozen=True, slots=True)
class OutboundAddress:
    """Where an agent accepts calls. The host name is not resolved."""

    scheme: Scheme
    host: str
    """A host name or an IP address, in lower case and without brackets."""
    port: int
    target: str = field(default="", repr=False)
    """Path and query of a URL; they may hold a token, so they are not shown."""

    @classmethod
    def parse(cls, text: str) -> "OutboundAddress":
        """Parse `host:port` or a URL. Raise BadAddress."""
        if not text.isascii() or not text.isprintable() or " " in text:
            raise BadAddress("an address must consist of printable ASCII characters; percent-encode others")
        return _parse_url(text) if "://" in text else _parse_host_and_port(text)

    @property
    def ip(self) -> IpAddress | None:
        """The IP address, if the host is one."""
        return parse_ip(self.host)

    @property
    def is_loopback(self) -> bool:
        """Whether the host is `localhost` or a loopback address; no name is resolved."""
        return self.host == "localhost" or (self.ip is not None and is_loopback(self.ip))

    @property
    def authority(self) -> str:
        """Host and port as in the Host header: without the port if it is the default of the scheme."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == DEFAULT_PORTS.get(self.scheme) else f"{host}:{self.port}"

    @property
    def url(self) -> str:
        return f"{self.scheme}://{self.authority}{self.target}"


def parse_ip(host: str) -> IpAddress | None:
    """Return the text as an IP address, or None if it is not one."""
    try:
        return ipaddress.ip_address(host)
    except ValueError:
        return None


def is_loopback(ip: IpAddress) -> bool:
    """Return whether an IP address is in 127.0.0.0/8 or is ::1.

    Python 3.13 counts `::ffff:127.0.0.1` as loopback, earlier versions do not; this function never does.
    """
    return ip.is_loopback and getattr(ip, "ipv4_mapped", None) is None


def _parse_host_and_port(text: str) -> OutboundAddress:
    host, _, port = text.rpartition(":")
    if not host or not port.isdecimal() or len(port) > 5 or not 0 < int(port) <= MAX_PORT:
        raise BadAddress(f"expected host and port, such as 127.0.0.1:6661, not {text[:MAX_QUOTED]!r}")
    return OutboundAddress("tcp", _parse_host(host.removeprefix("[").removesuffix("]")), int(port))


def _parse_url(text: str) -> OutboundAddress:
    try:
        parts = urlsplit(text)
        port = parts.port
    except ValueError:
        raise BadAddress("not a URL (expected: http://host:port/path or https://host/path)") from None
    if parts.scheme not in ("http", "https"):
        raise BadAddress(f"unknown scheme {parts.scheme[:20]!r} (expected: http, https, or host:port without a scheme)")
    if "@" in parts.netloc:
        raise BadAddress("a URL must not contain a user name or password; sign the requests instead")
    if port == 0:
        raise BadAddress(f"port 0 is not allowed (expected: a number from 1 to {MAX_PORT})")
    scheme: Scheme = "https" if parts.scheme == "https" else "http"
    return OutboundAddress(
        scheme, _parse_host(parts.hostname or ""), port or DEFAULT_PORTS[scheme], _build_target(parts)
    )


def _build_target(parts: SplitResult) -> str:
    """Return path and query; a fragment is never sent (RFC 9110 §7.1)."""
    query = f"?{parts.query}" if parts.query else ""
    return f"{parts.path or '/'}{query}"


def _parse_host(host: str) -> str:
    host = host.lower()
    ip = parse_ip(host)
    if ip is None and not _HOST_NAME.fullmatch(host):
        raise BadAddress(f"{host[:MAX_QUOTED]!r} is neither a host name nor an IP address")
    if getattr(ip, "scope_id", None):
        raise BadAddress("an IPv6 address with a zone is not supported; remove the % and what follows it")
    return host
