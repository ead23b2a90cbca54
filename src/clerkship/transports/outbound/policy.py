"""Policies: which addresses a sandbox may connect to. The entry point (command line, pytest, server) chooses one."""

import asyncio
import ipaddress
import socket
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

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
"""IPv6 ranges that lead to an IPv4 address, which would have to be checked in turn, or to a site's own network."""

Resolve = Callable[[str, int], Awaitable[Sequence[str]]]
"""Returns the IP addresses of a host name; raises OSError where there is none."""


class OutboundRefused(Exception):
    """The policy does not allow an address. Neither code nor reason contains it: addresses are not logged."""

    def __init__(self, code: str, reason: str) -> None:
        super().__init__(reason)
        self.code = code
        self.reason = reason


@dataclass(frozen=True, slots=True)
class ResolvedAddress:
    """An address that was checked, with the IP addresses to connect to: these and no others."""

    address: OutboundAddress
    ips: tuple[str, ...]


class OutboundPolicy(Protocol):
    """Decides which addresses a sandbox may connect to."""

    def check_written(self, address: OutboundAddress) -> None:
        """Raise OutboundRefused for an address that can be refused as it is written, before any name is resolved.

        Called when an agent registers the address, so that it gets the refusal as the answer to that request.
        """

    async def check(self, address: OutboundAddress) -> ResolvedAddress:
        """Resolve an address, check every IP address found, and return them; raises OutboundRefused, or OSError where
        the name cannot be resolved. Called before each connection, and for each redirect."""


@dataclass(frozen=True, slots=True)
class LocalPolicy:
    """Loopback only: the policy of the command line and of pytest. No host name but `localhost` is resolved."""

    def check_written(self, address: OutboundAddress) -> None:
        """Raise OutboundRefused for any host but `localhost`, 127.0.0.0/8 and ::1."""
        if not address.is_loopback:
            raise OutboundRefused("not_this_machine", "a listener is on this machine: 127.0.0.1, ::1 or localhost")

    async def check(self, address: OutboundAddress) -> ResolvedAddress:
        """Return the address itself; `localhost` is both loopback addresses."""
        self.check_written(address)
        return ResolvedAddress(address, LOCALHOST if address.ip is None else (str(address.ip),))


LOCAL_ONLY = LocalPolicy()


async def _resolve_name(host: str, port: int) -> Sequence[str]:
    loop = asyncio.get_running_loop()
    async with asyncio.timeout(MAX_RESOLVE_SECONDS):
        found = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return [str(sockaddr[0]) for *_, sockaddr in found]


@dataclass(frozen=True, slots=True)
class PublicPolicy:
    """Public addresses only: the policy of a server that others use. A name is resolved once per connection; the
    connection goes to an address that was checked, so a later answer of the name server changes nothing."""

    resolve: Resolve = _resolve_name

    def check_written(self, address: OutboundAddress) -> None:
        """Raise OutboundRefused for `localhost` and for IP addresses that are not public."""
        if address.host.rstrip(".").rpartition(".")[2] in ("localhost", "local", "internal"):
            raise _build_not_public_error()
        if address.ip is not None:
            check_public(address.ip)

    async def check(self, address: OutboundAddress) -> ResolvedAddress:
        """Resolve the name; one address that is not public is enough to refuse it."""
        self.check_written(address)
        found = [str(address.ip)] if address.ip is not None else await self.resolve(address.host, address.port)
        ips = tuple(dict.fromkeys(found))
        if not ips:
            raise OSError("the host name has no address")
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
    return OutboundRefused("not_public", "only public addresses can be called from here")
