"""Listeners are opened once, when needed, and closed with the run; each sandbox has its own address."""

import asyncio
import gc
import socket
import threading
import weakref
from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from typing import Any, ClassVar

import orjson
import pytest

from clerkship.model.environment import Environment, Simulator
from clerkship.model.frozen import Frozen
from clerkship.playground import listeners as module
from clerkship.playground.gateway import Gateway
from clerkship.playground.in_process import open_sandboxes
from clerkship.playground.listeners import ListenerPool
from clerkship.playground.playground import Playground, SavedLog
from clerkship.playground.sandbox import PreparedSimulator
from clerkship.sandbox.faults.request_faults import ErrorFault, LatencyFault
from clerkship.sandbox.listener import ProtocolListener, SandboxClient
from clerkship.sandbox.operation import OperationCall, OperationContext, SimulatorInterface, operation
from clerkship.sandbox.request import ConnectionInfo, Refusal, Reply, json_reply, refuse_as_json
from clerkship.sandbox.route import HttpCall, Route
from clerkship.sandbox.state import State
from clerkship.simulators import files
from clerkship.transports.loop_thread import ListenerFailed, PortTaken
from clerkship.transports.network import SandboxNetwork
from clerkship.transports.outbound.delivery import OutboundDelivery
from clerkship.transports.outbound.policy import ResolvedAddress
from clerkship.transports.outbound.retry import RetryPolicy
from tests.waiting import wait_until


class PathInput(Frozen):
    """A path."""

    path: str


@operation(name="ask")
def show_sandbox(context: OperationContext[Any], place: PathInput) -> dict[str, str]:
    """Return the name of the sandbox; fail, or return a link, on request."""
    if place.path == "/breaks":
        raise ZeroDivisionError
    if place.path.startswith("/link"):
        context.register_callback("listener", place.path.removeprefix("/link/"))
    return {"address": context.secret_address}


def parse(call: HttpCall, context: OperationContext[Any]) -> PathInput:
    return PathInput(path=call.request.path)


class PlainCall(OperationCall[PathInput, dict[str, str]]):
    """A call over the listener, answered in JSON."""

    transport: ClassVar[str] = "plain"

    def render(self, context: OperationContext[Any], result: dict[str, str]) -> Reply:
        return json_reply(200, result)

    def refuse(self, refusal: Refusal, interface: SimulatorInterface | None) -> Reply:
        return refuse_as_json(refusal)


class PlainListener(ProtocolListener):
    """A listener for tests: reads `ADDRESS path` on one line, and answers with the status and the body."""

    name: ClassVar[str] = "plain"
    opened: ClassVar[int] = 0
    gone_from: ClassVar[list[str]] = []

    async def open(self, host: str, port: int) -> None:
        type(self).opened += 1
        self.server = await asyncio.start_server(self._answer, host, port)
        self.port: int = self.server.sockets[0].getsockname()[1]

    async def close(self) -> None:
        self.server.close()

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        address, _, path = (await reader.readline()).decode().strip().partition(" ")
        client = self.directory.find(address)
        reply = (
            await client.call(PlainCall(show_sandbox, PathInput(path=path), path)) if client is not None else Reply(599)
        )
        writer.write(f"{reply.status} ".encode() + reply.body)
        writer.close()

    def connection_info(self, client: SandboxClient) -> ConnectionInfo:
        return {"port": self.port, "user": client.address}

    def example(self, info: ConnectionInfo) -> str:
        return f"nc localhost {info['port']}"

    async def run_ended(self, address: str) -> None:
        self.gone_from.append(address)


class MissingPackageListener(PlainListener):
    """A listener that requires a missing package."""

    name: ClassVar[str] = "unpacked"
    package: ClassVar[str] = "no_such_package_anywhere"


class RecordingDelivery(OutboundDelivery):
    """A delivery with nothing to send, which records its address and the events."""

    name: ClassVar[str] = "calls"
    addresses: ClassVar[list[str]] = []
    seen: ClassVar[list[str]] = []
    looked_for: ClassVar[list[str]] = []
    """An entry each time it looked for messages: from the first on, it hears of events."""
    is_broken: ClassVar[bool] = False
    retry = RetryPolicy()

    @classmethod
    def configured(cls, config: Frozen) -> str | None:
        return None

    def pending(self, state: State[Any]) -> list[str]:
        if self.is_broken:
            raise ZeroDivisionError("a bug in a delivery")
        self.looked_for.append(self.address)
        return []

    async def send(self, message_id: str, resolved: ResolvedAddress) -> None:
        raise NotImplementedError

    def reset(self) -> None:
        self.addresses.append(self.address)
        super().reset()

    def hear(self, kind: str) -> None:
        self.seen.append(kind)


class ConfiguredDelivery(RecordingDelivery):
    """A delivery with an address in its config."""

    @classmethod
    def configured(cls, config: Frozen) -> str | None:
        return "127.0.0.1:6660"


class FailingListener(PlainListener):
    """A listener that fails to open."""

    name: ClassVar[str] = "broken"

    async def open(self, host: str, port: int) -> None:
        raise ValueError("no key can be made")


class StuckListener(PlainListener):
    """A listener that never opens."""

    name: ClassVar[str] = "stuck"

    async def open(self, host: str, port: int) -> None:
        await asyncio.sleep(3600)


def prepare_simulator(
    *lines: type[ProtocolListener], outbound: type[OutboundDelivery] = RecordingDelivery
) -> PreparedSimulator:
    routes = (Route("GET", "/{path*}", show_sandbox, parse=parse),)
    spec = replace(
        files.SPEC, kind="plain", operations=(show_sandbox,), routes=routes, listeners=lines, outbound=(outbound,)
    )
    return PreparedSimulator(spec, spec.config())


class ListenerSite:
    """A gateway, its listeners, and playgrounds."""

    def __init__(self) -> None:
        self.gateway = Gateway()
        self.lines = ListenerPool(self.gateway)

    def play(self, *lines: type[ProtocolListener], outbound: type[OutboundDelivery] = RecordingDelivery) -> Playground:
        environment = Environment(name="site", simulators={"box": Simulator(kind="files")})
        return Playground(
            environment, {"box": prepare_simulator(*(lines or (PlainListener,)), outbound=outbound)}, "lines"
        )

    def connection_info(self, playground: Playground, listener: str = "plain") -> ConnectionInfo:
        return self.lines.open_listeners(playground, playground.sandboxes["box"])[listener][1]

    def end(self, playground: Playground) -> None:
        playground.close()
        self.gateway.remove_playground(playground)


@pytest.fixture
def site() -> Iterator[ListenerSite]:
    PlainListener.opened = 0
    delivery = RecordingDelivery
    for messages in (PlainListener.gone_from, delivery.addresses, delivery.seen, delivery.looked_for):
        messages.clear()
    built = ListenerSite()
    yield built
    built.lines.close()


def ask(info: ConnectionInfo, path: str = "/x", user: str | None = None) -> tuple[int, Any]:
    with socket.create_connection(("127.0.0.1", int(info["port"])), timeout=10) as connection:
        connection.sendall(f"{info['user'] if user is None else user} {path}\n".encode())
        data = b"".join(iter(lambda: connection.recv(65536), b""))
    status, _, body = data.partition(b" ")
    return int(status), orjson.loads(body) if body else None


def threads(name: str) -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name == f"clerkship-{name}"]


def test_one_listener_serves_every_playground_and_each_is_found_by_its_own_address(site: ListenerSite) -> None:
    first, other = site.play(), site.play()
    info = [site.connection_info(first), site.connection_info(other)]
    assert PlainListener.opened == 1
    assert info[0]["port"] == info[1]["port"]
    assert info[0]["user"] != info[1]["user"]
    for each in info:
        address = str(each["user"])
        assert ask(each) == (200, {"address": address})
        assert ask(each, user=address.lower()) == (200, {"address": address})
    assert ask(info[0], user="nobody")[0] == 599


def test_listener_does_not_find_a_sandbox_of_another_kind(site: ListenerSite) -> None:
    info = site.connection_info(site.play())
    environment = Environment(name="site", simulators={"box": Simulator(kind="files")})
    other = Playground(environment, {"box": PreparedSimulator(files.SPEC, files.SPEC.config())}, "lines")
    address = site.gateway.assign_address(other, other.sandboxes["box"])
    assert ask(info, user=address)[0] == 599


@pytest.mark.parametrize("dismissed", [True, False])
def test_address_of_an_ended_run_finds_no_sandbox(site: ListenerSite, dismissed: bool) -> None:
    playground = site.play()
    info = site.connection_info(playground)
    assert ask(info)[0] == 200
    playground.close()
    if dismissed:
        site.gateway.remove_playground(playground)
        wait_until(lambda: PlainListener.gone_from == [info["user"]])
    assert ask(info)[0] == 599


def test_a_listener_is_not_available_without_its_package(site: ListenerSite) -> None:
    playground = site.play(MissingPackageListener)
    assert site.lines.open_listeners(playground, playground.sandboxes["box"]) == {}
    assert not MissingPackageListener.is_available()
    assert PlainListener.opened == 0


def test_nothing_starts_before_it_is_needed_unless_the_config_has_an_address(site: ListenerSite) -> None:
    open_sandboxes(site.gateway, site.play(), lambda: "http://nowhere", site.lines)
    assert PlainListener.opened == 0
    assert threads("outbound") == []
    open_sandboxes(site.gateway, site.play(outbound=ConfiguredDelivery), lambda: "http://nowhere", site.lines)
    wait_until(lambda: RecordingDelivery.addresses == ["127.0.0.1:6660"])
    assert PlainListener.opened == 0


def test_failing_delivery_errors_the_run_and_releases_the_clock(
    site: ListenerSite, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(RecordingDelivery, "is_broken", True)
    playground = site.play()
    assert ask(site.connection_info(playground), "/link/127.0.0.1:6661")[0] == 200
    wait_until(lambda: playground.broken is not None)
    assert playground.broken == "box: outbound calls: ZeroDivisionError: a bug in a delivery"
    assert not playground.clock_hold.is_used


def test_taken_port_is_an_error_and_leaves_no_thread(site: ListenerSite) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        lines = ListenerPool(site.gateway, SandboxNetwork(listener_ports={"plain": port}))
        playground = site.play()
        with pytest.raises(PortTaken, match=f"plain: cannot listen on port {port}: address already in use"):
            lines.open_listeners(playground, playground.sandboxes["box"])
    wait_until(lambda: not threads("plain"))
    assert lines.open_listeners(playground, playground.sandboxes["box"])["plain"][1]["port"] == port  # once it is free
    lines.close()


def test_listener_that_fails_to_open_reports_why_and_leaves_no_thread(
    site: ListenerSite, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(ListenerFailed, match="broken did not start: ValueError: no key can be made"):
        site.connection_info(site.play(FailingListener))
    monkeypatch.setattr(module, "MAX_START_SECONDS", 0.05)
    with pytest.raises(ListenerFailed, match="stuck did not start within"):
        site.connection_info(site.play(StuckListener))
    wait_until(lambda: not threads("broken") and not threads("stuck"))


def test_closing_the_pool_ends_listeners_and_threads(site: ListenerSite) -> None:
    playground = site.play()
    info = site.connection_info(playground)
    [thread] = threads("plain")
    site.lines.close()
    thread.join(5)
    assert not thread.is_alive()
    with pytest.raises(ConnectionRefusedError):
        ask(info)
    with pytest.raises(ListenerFailed, match="the run has ended; its listeners are closed"):
        site.connection_info(playground)
    site.end(playground)  # there is nobody left to notify
    site.lines.close()


def test_registering_an_address_starts_deliveries(site: ListenerSite) -> None:
    playground = site.play()
    info = site.connection_info(playground)
    assert ask(info, "/link/127.0.0.1:6661")[0] == 200
    wait_until(lambda: RecordingDelivery.addresses == ["127.0.0.1:6661"])
    wait_until(lambda: RecordingDelivery.looked_for)
    playground.inject(ErrorFault(sandbox="box", times=1))
    assert ask(info)[0] == 503
    wait_until(lambda: RecordingDelivery.seen == ["fault.injected"])
    playground.rewind(SavedLog())  # another log, the same watchers, which start over
    playground.inject(ErrorFault(sandbox="box", times=1))
    assert ask(info)[0] == 503
    assert RecordingDelivery.seen == ["fault.injected"] * 2
    assert ask(info, "/link/")[0] == 200
    wait_until(lambda: RecordingDelivery.addresses == ["127.0.0.1:6661", "127.0.0.1:6661", ""])


@pytest.mark.parametrize(
    ("address", "code"),
    [("10.0.0.1:6661", "not_this_machine"), ("http:example.org:80", "bad_address"), ("nonsense", "bad_address")],
)
def test_invalid_or_forbidden_address_is_not_registered(site: ListenerSite, address: str, code: str) -> None:
    playground = site.play()
    status, body = ask(site.connection_info(playground), f"/link/{address}")
    assert (status, body["error"]["code"]) == (400, code)
    assert playground.sandboxes["box"].callbacks == {}
    assert RecordingDelivery.addresses == []


def test_simulator_failure_errors_the_run_and_keeps_the_listener_open(site: ListenerSite) -> None:
    playground, other = site.play(), site.play()
    status, body = ask(site.connection_info(playground), "/breaks")
    assert (status, body["error"]["code"]) == (500, "internal_error")
    assert playground.broken == "box: ask /breaks: ZeroDivisionError: "
    assert ask(site.connection_info(other))[0] == 200


@pytest.mark.parametrize("uses_model", [True, False])
def test_waiting_in_one_playground_does_not_delay_another(site: ListenerSite, uses_model: bool) -> None:
    slow, quick = site.play(), site.play()
    slow.environment = slow.environment.model_copy(update={"time": "paced"})
    slow.people.uses_model = uses_model
    info, others = site.connection_info(slow), site.connection_info(quick)
    slow.lock.acquire()  # somebody thinks, or is at work
    try:
        waiting = threading.Thread(target=ask, args=(info,))
        waiting.start()
        for _ in range(20):
            assert ask(others)[0] == 200
        assert waiting.is_alive()
    finally:
        slow.lock.release()
    waiting.join(10)
    assert not waiting.is_alive()


def test_delayed_reply_is_awaited(site: ListenerSite) -> None:
    playground = site.play()
    playground.environment = playground.environment.model_copy(update={"time": "paced"})
    playground.inject(LatencyFault.model_validate({"by": "0.2s", "times": 1}))
    before = playground.now
    assert ask(site.connection_info(playground))[0] == 200
    assert playground.now - before >= timedelta(milliseconds=200)


def test_two_hundred_playgrounds_leave_no_resources(site: ListenerSite) -> None:
    before = threading.active_count()
    stored: list[weakref.ref[Playground]] = []
    for _ in range(200):
        playground = site.play()
        info = site.connection_info(playground)
        assert ask(info, "/link/127.0.0.1:6661")[0] == 200
        site.end(playground)
        stored.append(weakref.ref(playground))
        del playground
    wait_until(lambda: len(PlainListener.gone_from) == 200)
    assert PlainListener.opened == 1
    wait_until(lambda: threading.active_count() == before + 2)  # one for the listener, one for all deliveries
    assert len(site.gateway._addresses) == 0
    assert site.gateway.playgrounds == {}
    wait_until(lambda: gc.collect() >= 0 and sum(ref() is not None for ref in stored) <= 1)
