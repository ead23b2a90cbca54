"""Where the sandboxes of a run listen, whom they may call, and the warning that says so."""

import socket
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from ipaddress import IPv4Address
from typing import TypeVar

from clerkship.actors.contract import Solver
from clerkship.engine.catalog import RegisteredCatalog
from clerkship.kit.extras import describe_install
from clerkship.kit.http_client import parse_address
from clerkship.kit.tls import TlsFiles
from clerkship.model.environment import Environment
from clerkship.model.errors import InputError, InputProblem
from clerkship.model.names import did_you_mean
from clerkship.sandbox.listener import ProtocolListener
from clerkship.service.planning.freeze import FrozenRun
from clerkship.service.planning.options import NetworkOptions
from clerkship.transports.network import ALL_ADDRESSES, LOOPBACK, SandboxNetwork
from clerkship.transports.outbound.address import MAX_PORT, is_loopback, parse_ip
from clerkship.transports.outbound.policy import LOCAL_ONLY, AgentHostPolicy, OutboundPolicy
from clerkship.transports.tcp import bind, describe_host

TOKENS = "requests need the token of a sandbox"
NO_PASSWORD = "has no password: every message is accepted"
PRIVATE = "use a container or a private network, with synthetic data"

AnyRun = TypeVar("AnyRun", bound=FrozenRun)


def apply_network(run: AnyRun, options: NetworkOptions) -> AnyRun:
    """Return a run whose sandboxes listen as the options say, with a warning about who can reach them.

    Raise InputError if they cannot listen there.
    """
    environments = {snapshot.environment.name: snapshot.environment for snapshot in run.snapshots}.values()
    listeners = find_listeners(environments, run.catalog)
    agent_host = getattr(run.solver, "host", "")
    network = _build_network(options, agent_host)
    check_listener_ports(network.listener_ports, listeners.values())
    check_passwords(network, listeners.values())
    _check_ports(network)
    is_open = network.is_exposed or network.public_url
    outbound = build_policy(run.solver, agent_host) if is_open and run.outbound is LOCAL_ONLY else run.outbound
    warnings = (_describe_run(network, environments, listeners, outbound),) if is_open else ()
    return replace(run, network=network, outbound=outbound, warnings=(*run.warnings, *warnings))


def _build_network(options: NetworkOptions, agent_host: str) -> SandboxNetwork:
    host = parse_host(options.host)
    url = parse_address(options.public_url, "--public-url", "sandboxes").rstrip("/") if options.public_url else ""
    tls = None
    if options.tls_cert is not None:
        tls = TlsFiles(options.tls_cert, options.tls_key, options.client_ca)
        tls.check()
    elif options.tls_key is not None or options.client_ca is not None:
        option = "--tls-key" if options.tls_key is not None else "--client-ca"
        raise InputError.of(f"{option} has no effect without a certificate", hint="give --tls-cert FILE")
    return SandboxNetwork(
        host,
        options.port or 0,
        parse_listener_ports(options.listeners),
        url,
        _find_address_towards(agent_host) if host == ALL_ADDRESSES and not url else "",
        tls,
        allows_no_password=options.allow_no_password,
    )


def _find_address_towards(host: str) -> str:
    """Return the address of this machine on the network of another host; empty if there is no other host."""
    if not host:
        return ""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect((host, 9))  # sends nothing: it only chooses a route
        except OSError:
            hint = "give --host the address of this machine that the agent can reach"
            raise InputError.of(f"no route to the agent's host {host} over IPv4", hint=hint) from None
        return str(probe.getsockname()[0])


def build_policy(solver: Solver, host: str) -> OutboundPolicy:
    """Return which addresses sandboxes may call: the host of the agent, or this machine if the agent runs here."""
    if not host:
        return LOCAL_ONLY
    try:
        infos = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    except OSError as error:
        raise InputError.of(f"agent {solver.name}: its host cannot be resolved: {error.strerror}") from None
    ips = (str(sockaddr[0]) for *_, sockaddr in infos)
    others = tuple(dict.fromkeys(ip for ip in ips if (parsed := parse_ip(ip)) and not is_loopback(parsed)))
    return AgentHostPolicy(host.lower().rstrip("."), others) if others else LOCAL_ONLY


def _check_ports(network: SandboxNetwork) -> None:
    """Raise InputError if a port is taken, or if the host is not an address of this machine."""
    for port in {network.port, *network.listener_ports.values()}:
        try:
            bind(network.host, port).close()
        except OSError as error:
            where = f"port {port}{describe_host(network.host)}" if port else network.host
            hint = f"give --host an address of this machine, or {ALL_ADDRESSES} for all of them; or another port"
            reason = (error.strerror or str(error)).lower()
            raise InputError.of(f"cannot listen on {where}: {reason}", hint=hint) from None


def find_listeners(
    environments: Iterable[Environment], catalog: RegisteredCatalog
) -> dict[str, type[ProtocolListener]]:
    """Return the listeners of the sandboxes of environments, by name."""
    kinds = {simulator.kind for environment in environments for simulator in environment.simulators.values()}
    return {listener.name: listener for kind in sorted(kinds) for listener in catalog.simulator(kind).listeners}


def check_passwords(network: SandboxNetwork, listeners: Iterable[type[ProtocolListener]]) -> None:
    """Raise InputError for a listener without a password that other machines could reach."""
    for listener in listeners:
        if not network.may_open(has_password=listener.has_password):
            name = listener.name.upper()
            raise InputError.of(
                f"{name} {NO_PASSWORD}, so it is not opened on {network.host}",
                hint="give --allow-no-password if everyone there may send messages; with `clerkship run`, --client-ca "
                "lets in only clients with a certificate",
            )


def _describe_run(
    network: SandboxNetwork,
    environments: Iterable[Environment],
    listeners: Mapping[str, type[ProtocolListener]],
    outbound: OutboundPolicy,
) -> InputProblem:
    """Return the warning: what other machines can reach, and whom sandboxes may call."""
    names = sorted({name for environment in environments for name in environment.simulators})
    open_here = [name.upper() for name, each in listeners.items() if each.is_available()] if network.is_exposed else []
    protocols = f"{', '.join(['HTTP', *open_here][:-1])} and {open_here[-1]}" if open_here else "HTTP"
    called = "this machine" if isinstance(outbound, type(LOCAL_ONLY)) else "the host of the agent"
    return InputProblem(
        message=f"{describe_reach(network)} the sandboxes ({', '.join(names)}) over {protocols}",
        hint="; ".join([*describe_protection(network, listeners.values()), f"sandboxes can call {called} only"]),
    )


def describe_reach(network: SandboxNetwork) -> str:
    """Return who can reach sandboxes that do not listen on loopback only; the sentence goes on with what."""
    if not network.is_exposed:
        return f"everyone who can reach {network.public_url} can reach"
    where = "every network of this machine" if network.host == ALL_ADDRESSES else f"the network of {network.host}"
    also = f" and everyone who can reach {network.public_url}" if network.public_url else ""
    return f"every machine on {where}{also} can reach"


def describe_protection(network: SandboxNetwork, listeners: Iterable[type[ProtocolListener]]) -> Iterator[str]:
    """Yield what keeps others from reading or changing sandboxes, and what does not."""
    yield TOKENS
    if network.tls is None and not network.public_url.startswith("https:"):
        yield "HTTP is not encrypted (see --tls-cert)"
    if network.allows_no_password and network.is_exposed:
        yield from (f"{each.name.upper()} {NO_PASSWORD}" for each in listeners if not each.has_password)
    yield PRIVATE


def parse_host(text: str | None) -> str:
    """Return the address to listen on: loopback by default. Raise InputError unless it is an IPv4 address."""
    try:
        return str(IPv4Address(text)) if text is not None else LOOPBACK
    except ValueError:
        hint = f"expected an IPv4 address: {LOOPBACK} for this machine, {ALL_ADDRESSES} for every network"
        raise InputError.of(f"invalid --host {text}", hint=hint) from None


def parse_listener_ports(written: Iterable[str]) -> dict[str, int]:
    """Parse texts such as `mllp=2575` into ports by listener. Raise InputError."""
    ports: dict[str, int] = {}
    for text in written:
        name, equals, port = text.partition("=")
        if not name or not equals or not port.isascii() or not port.isdigit() or not 0 <= int(port) <= MAX_PORT:
            raise InputError.of(f"invalid --listener {text} (expected: a listener and a port, such as mllp=2575)")
        if name in ports:
            raise InputError.of(f"--listener {text}: {name} already has port {ports[name]}")
        if port != "0" and int(port) in ports.values():
            raise InputError.of(f"--listener {text}: another listener already has this port")
        ports[name] = int(port)
    return ports


def check_listener_ports(ports: Iterable[str], available: Iterable[type[ProtocolListener]]) -> None:
    """Raise InputError for a listener that no sandbox has, or whose package is not installed."""
    listeners = {listener.name: listener for listener in available}
    for name in ports:
        if name not in listeners:
            hint = did_you_mean(name, listeners) if listeners else "no sandbox here has a listener"
            raise InputError.of(f"unknown listener `{name}`", hint=hint)
        if not listeners[name].is_available():
            raise InputError.of(
                f"the listener {name} needs a package that is not installed: {listeners[name].package}",
                hint=f"install it with {describe_install(listeners[name].extra)}",
            )
