"""Policies for outbound addresses: where a sandbox may connect to. The entry point chooses the policy."""

import ipaddress
import socket
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from clerkship.by_name import load
from clerkship.transports.outbound.address import IpAddress, OutboundAddress, is_loopback, parse_ip

MAX_RESOLVE_SECONDS = 5.0
LOCALHOST = ("127.0.0.1", "::1")
_NON_PUBLIC_IPV6 = tuple(
    ipaddress.IPv6Network(each)
    for each in (
        "::/96",  # IPv4-compatible (deprecated)
        "::ffff:0:0/96",  # IPv4-mapped
        "64:ff9b::/96",  # NAT64
        "64:ff9b:1::/48",  # NAT64, local use
        "2001::/32",  # Teredo
        "2002::/16",  # 6to4
        "fec0::/10",  # site-local (deprecated)
    )
)
"""IPv6 ranges that map to IPv4 addresses, which would need a check too, or to a private network."""

Resolve = Callable[[str, int], Awaitable[Sequence[str]]]
"""Returns the IP addresses of a host name; raises OSError if there is none."""


class OutboundRefused(Exception):
    """The policy does not allow an address. Code and reason do not contain it, because addresses are not logged."""

    def __init__(self, code: str, reason: str) -> None:
        super().__init__(reason)
        self.code = code
        self.reason = reason


@dataclass(frozen=True, slots=True)
class ResolvedAddress:
    """An address that was checked, with the only IP addresses to connect to."""

    address: OutboundAddress
    ips: tuple[str, ...]


class OutboundPolicy(Protocol):
    """Decides which addresses a sandbox may connect to."""

    def check_written(self, address: OutboundAddress) -> None:
        """Raise OutboundRefused for an address that can be refused before its name is resolved.

        Called when an agent registers an address, so that the reply to that request contains the refusal.
        """

    async def check(self, address: OutboundAddress) -> ResolvedAddress:
        """Resolve an address, check all its IP addresses, and return them. Called for each connection and each
        redirect.

        Raise OutboundRefused, or OSError if the name cannot be resolved.
        """


@dataclass(frozen=True, slots=True)
class LocalPolicy:
    """Allow loopback only: the policy of the command line and of pytest. Only `localhost` is resolved."""

    def check_written(self, address: OutboundAddress) -> None:
        """Raise OutboundRefused for all hosts except `localhost`, 127.0.0.0/8 and ::1."""
        if not address.is_loopback:
            reason = "the agent's listener must be on this machine (expected: 127.0.0.1, ::1 or localhost)"
            raise OutboundRefused("not_this_machine", reason)

    async def check(self, address: OutboundAddress) -> ResolvedAddress:
        """Return the address itself; `localhost` resolves to both loopback addresses."""
        self.check_written(address)
        return ResolvedAddress(address, LOCALHOST if address.ip is None else (str(address.ip),))


LOCAL_ONLY = LocalPolicy()


@dataclass(frozen=True, slots=True)
class AgentHostPolicy:
    """Allow the host of the agent only: the policy of a run whose agent is on another machine.

    The name of the host is resolved once, before the run.
    """

    host: str
    """In lower case."""
    ips: tuple[str, ...]

    def check_written(self, address: OutboundAddress) -> None:
        """Raise OutboundRefused unless the address has the name of the host or one of its IP addresses."""
        if address.host.rstrip(".") != self.host and address.host not in self.ips:
            raise OutboundRefused("not_the_agent", "sandboxes of this run can only call the host of the agent")

    async def check(self, address: OutboundAddress) -> ResolvedAddress:
        """Return the address with the IP addresses of the agent's host, or with the one that was given."""
        self.check_written(address)
        return ResolvedAddress(address, self.ips if address.ip is None else (str(address.ip),))


async def _resolve_name(host: str, port: int) -> Sequence[str]:
    asyncio = load("asyncio")  # not above: the requests of `clerkship run` name a policy, and its help needs no loop
    loop = asyncio.get_running_loop()
    async with asyncio.timeout(MAX_RESOLVE_SECONDS):
        infos = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return [str(sockaddr[0]) for *_, sockaddr in infos]


@dataclass(frozen=True, slots=True)
class PublicPolicy:
    """Allow public addresses only: the policy of a server that other people use.

    A name is resolved once per connection, and the connection goes to an IP address that was checked. A name server
    that later gives another answer has no effect.
    """

    resolve: Resolve = _resolve_name

    def check_written(self, address: OutboundAddress) -> None:
        """Raise OutboundRefused for `localhost` and for IP addresses that are not public."""
        if address.host.rstrip(".").rpartition(".")[2] in ("localhost", "local", "internal"):
            raise _build_not_public_error()
        if address.ip is not None:
            check_public(address.ip)

    async def check(self, address: OutboundAddress) -> ResolvedAddress:
        """Resolve the name; refuse it if one of its IP addresses is not public."""
        self.check_written(address)
        resolved = [str(address.ip)] if address.ip is not None else await self.resolve(address.host, address.port)
        ips = tuple(dict.fromkeys(resolved))
        if not ips:
            raise OSError("the host name has no IP address")
        for text in ips:
            ip = parse_ip(text)
            if ip is None:  # an address with a zone, which is link-local
                raise _build_not_public_error()
            check_public(ip)
        return ResolvedAddress(address, ips)


def check_public(ip: IpAddress) -> None:
    """Raise OutboundRefused unless an IP address is public unicast."""
    translated = ip.version == 6 and any(ip in network for network in _NON_PUBLIC_IPV6)
    special = ip.is_multicast or ip.is_reserved or ip.is_unspecified or ip.is_link_local or is_loopback(ip)
    if translated or special or ip.is_private or not ip.is_global or getattr(ip, "scope_id", None):
        raise _build_not_public_error()


def _build_not_public_error() -> OutboundRefused:
    return OutboundRefused("not_public", "only public addresses can be called from this server")
