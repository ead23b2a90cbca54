"""Parsing of outbound addresses, and which hosts each policy allows."""

import asyncio
from collections.abc import Sequence

import pytest

from clerkship.playground.gateway import Gateway
from clerkship.transports.outbound.address import BadAddress, OutboundAddress
from clerkship.transports.outbound.policy import AgentHostPolicy, LocalPolicy, OutboundRefused, PublicPolicy

parse = OutboundAddress.parse


@pytest.mark.parametrize(
    ("text", "scheme", "host", "port", "target"),
    [
        ("127.0.0.1:6661", "tcp", "127.0.0.1", 6661, ""),
        ("localhost:1", "tcp", "localhost", 1, ""),
        ("[::1]:65535", "tcp", "::1", 65535, ""),
        ("::1:6661", "tcp", "::1", 6661, ""),
        ("http://127.0.0.1:8080/hook?t=1", "http", "127.0.0.1", 8080, "/hook?t=1"),
        ("https://Example.ORG", "https", "example.org", 443, "/"),
        ("http://[::1]/a#b", "http", "::1", 80, "/a"),
    ],
)
def test_address_is_host_and_port_or_a_url(text: str, scheme: str, host: str, port: int, target: str) -> None:
    address = parse(text)
    assert (address.scheme, address.host, address.port, address.target) == (scheme, host, port, target)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "expected host and port"),
        ("127.0.0.1", "expected host and port"),
        ("127.0.0.1:0", "expected host and port"),
        ("127.0.0.1:65536", "expected host and port"),
        ("127.0.0.1:99999999999", "expected host and port"),
        ("a b:1", "printable ASCII"),
        ("bücher.example:1", "printable ASCII"),
        ("-x-:1", "neither a host name nor an IP address"),
        ("fe80::1%eth0:1", "zone"),
        ("ftp://127.0.0.1/", "unknown scheme 'ftp'"),
        ("http://user:secret@127.0.0.1/", "must not contain a user name"),
        ("http:///path", "neither a host name"),
        ("http://127.0.0.1:99999/", "not a URL"),
        ("http://127.0.0.1:0/", "from 1 to 65535"),
        ("http://[::1", "not a URL"),
    ],
)
def test_invalid_address_is_rejected_with_a_reason(text: str, reason: str) -> None:
    with pytest.raises(BadAddress, match=reason) as caught:
        parse(text)
    assert "secret" not in str(caught.value)


def test_repr_of_an_address_hides_the_path_and_url_keeps_it() -> None:
    address = parse("http://127.0.0.1:8080/hook?token=secret")
    assert "secret" not in repr(address)
    assert address.url == "http://127.0.0.1:8080/hook?token=secret"
    assert parse("https://[2606:4700::1111]:443/x").authority == "[2606:4700::1111]"


@pytest.mark.parametrize("host", ["127.0.0.1", "127.3.2.1", "[::1]"])
def test_local_policy_allows_loopback_addresses(host: str) -> None:
    resolved = asyncio.run(LocalPolicy().check(parse(f"{host}:6661")))
    assert resolved.ips == (host.strip("[]"),)


def test_local_policy_resolves_localhost_without_a_name_server() -> None:
    assert asyncio.run(LocalPolicy().check(parse("http://localhost/"))).ips == ("127.0.0.1", "::1")


@pytest.mark.parametrize(
    "host",
    [
        "10.0.0.1",
        "example.org",
        "0.0.0.0",
        "169.254.169.254",
        "127.0.0.1.evil.example",
        "localhost.",
        "127.1",
        "2130706433",
        "[::ffff:127.0.0.1]",
        "[::]",
        "8.8.8.8",
    ],
)
def test_local_policy_refuses_every_other_host(host: str) -> None:
    with pytest.raises(OutboundRefused, match="on this machine") as refused:
        asyncio.run(LocalPolicy().check(parse(f"{host}:6661")))
    assert refused.value.code == "not_this_machine"


@pytest.mark.parametrize(
    "host",
    [
        "127.0.0.1",
        "localhost",
        "printer.local",
        "metadata.google.internal",
        "0.0.0.0",
        "0.1.2.3",
        "10.0.0.1",
        "100.64.0.1",
        "169.254.169.254",
        "172.16.0.1",
        "192.0.2.1",
        "192.168.1.1",
        "198.18.0.1",
        "224.0.0.1",
        "240.0.0.1",
        "255.255.255.255",
        "[::1]",
        "[::]",
        "[::ffff:8.8.8.8]",
        "[::8.8.8.8]",
        "[64:ff9b::7f00:1]",
        "[2002:7f00:1::]",
        "[2001::1]",
        "[fc00::1]",
        "[fe80::1]",
        "[fec0::1]",
        "[ff02::1]",
        "[2001:db8::1]",
    ],
)
def test_public_policy_refuses_to_register_a_non_public_address(host: str) -> None:
    with pytest.raises(OutboundRefused, match="only public addresses"):
        PublicPolicy().check_written(parse(f"{host}:443"))


@pytest.mark.parametrize("host", ["8.8.8.8", "[2606:4700:4700::1111]"])
def test_public_policy_allows_public_addresses(host: str) -> None:
    assert asyncio.run(PublicPolicy().check(parse(f"https://{host}/"))).ips == (host.strip("[]"),)


class NameServer:
    """A resolver that returns these answers in turn."""

    def __init__(self, *answers: Sequence[str]) -> None:
        self.answers = list(answers)

    async def resolve(self, host: str, port: int) -> Sequence[str]:
        return self.answers.pop(0)


def test_name_is_resolved_once_per_check_and_only_checked_ips_are_returned() -> None:
    server = NameServer(["8.8.8.8", "8.8.8.8", "2606:4700:4700::1111"], ["127.0.0.1"])
    policy = PublicPolicy(server.resolve)
    assert asyncio.run(policy.check(parse("https://agent.example/"))).ips == ("8.8.8.8", "2606:4700:4700::1111")
    assert len(server.answers) == 1
    with pytest.raises(OutboundRefused):
        asyncio.run(policy.check(parse("https://agent.example/")))


@pytest.mark.parametrize("ip", ["127.0.0.1", "10.0.0.1", "169.254.169.254", "::ffff:10.0.0.1", "fe80::1%eth0"])
def test_name_with_one_non_public_ip_is_refused(ip: str) -> None:
    policy = PublicPolicy(NameServer(["8.8.8.8", ip]).resolve)
    with pytest.raises(OutboundRefused):
        asyncio.run(policy.check(parse("agent.example:443")))


def test_name_without_an_ip_raises_os_error() -> None:
    with pytest.raises(OSError, match="no IP address"):
        asyncio.run(PublicPolicy(NameServer([]).resolve).check(parse("agent.example:443")))


def test_numeric_hosts_are_checked_as_the_ip_they_stand_for() -> None:
    for host in ("127.1", "2130706433", "0x7f000001"):
        with pytest.raises(OutboundRefused):
            asyncio.run(PublicPolicy().check(parse(f"{host}:443")))


def test_own_listeners_cannot_be_called_by_any_address_or_name_of_this_machine() -> None:
    gateway = Gateway(AgentHostPolicy("agent.example", ("127.0.0.3",)))
    gateway.http_ports = lambda: (6661,)
    with pytest.raises(OutboundRefused, match="a simulator listens on that port"):
        gateway.check_address(parse("127.0.0.3:6661"))
    gateway.check_address(parse("agent.example:6661"))
    with pytest.raises(OutboundRefused, match="a simulator listens on that port"):
        asyncio.run(gateway.resolve(parse("agent.example:6661")))
    assert asyncio.run(gateway.resolve(parse("agent.example:6662"))).ips == ("127.0.0.3",)
