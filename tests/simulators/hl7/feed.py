"""A laboratory over real MLLP, and a bare client that sends what it is told to."""

import socket
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from clerkship.hl7.message import Hl7Message, parse_message
from clerkship.model.environment import Environment, Simulator
from clerkship.playground.gateway import Gateway
from clerkship.playground.http import open_http
from clerkship.playground.in_process import open_sandboxes
from clerkship.playground.listeners import ListenerPool
from clerkship.playground.playground import Playground
from clerkship.playground.sandbox import PreparedSimulator
from clerkship.sandbox.listener import SandboxDirectory
from clerkship.simulators import hl7
from clerkship.simulators.hl7.handle import Hl7
from clerkship.simulators.hl7.mllp import Mllp
from clerkship.simulators.hl7.mllp_delivery import MllpDelivery
from clerkship.transports.limits import ConnectionLimits

START, END = b"\x0b", b"\x1c\r"
BODIES = {
    "ADT^A01^ADT_A01": "EVN||20260302090000\rPID|1||MRN1^^^CLINIC^MR||Okafor^Ada||19650315|F\rPV1|1|I\r",
    "ADT^A04^ADT_A01": "EVN||20260302090000\rPID|1||MRN1^^^CLINIC^MR||Okafor^Ada||19650315|F\rPV1|1|O\r",
    "ORM^O01^ORM_O01": "PID|1||MRN1^^^CLINIC^MR||Okafor^Ada\rORC|NW|P1\rOBR|1|P1||2823-3^Potassium^LN\r",
    "ORU^R01^ORU_R01": (
        "PID|1||MRN1^^^CLINIC^MR||Okafor^Ada||19650315|F\rOBR|1|P1|F1|24323-8^CMP^LN|||20260302080000\r"
        + "".join(f"OBX|{n}|NM|2823-{n}^Potassium^LN||4.{n}|mmol/L|3.5-5.1|N|||F\r" for n in range(1, 6))
    ),
    "SIU^S12^SIU_S12": (
        "SCH|1|1||||ROUTINE^Routine^HL70276||||||||||1^Ada||||1^Ada\rPID|1||MRN1^^^CLINIC^MR||Okafor^Ada\rRGS|1\r"
    ),
    "MDM^T02^MDM_T02": (
        "EVN||20260302090000\rPID|1||MRN1^^^CLINIC^MR||Okafor^Ada\rPV1|1|O\r"
        "TXA|1|DS|TX|20260302090000||||||||DOC1|||||AU\rOBX|1|TX|1^Note^L||Seen and well.||||||F\r"
    ),
}


def message(facility: str, type: str = "ORU^R01^ORU_R01", control_id: str = "1", version: str = "2.5.1") -> bytes:
    """A message that nothing is wrong with."""
    head = rf"MSH|^~\&|AGENT|CLINIC|LAB|{facility}|20260302090000||{type}|{control_id}|P|{version}"
    return f"{head}\r{BODIES[type]}".encode()


def framed(data: bytes) -> bytes:
    """As it goes over the line."""
    return START + data + END


def until(true: Callable[[], bool], within: float = 10.0) -> None:
    """Wait for something that happens in another thread."""
    end = time.monotonic() + within
    while not true():
        assert time.monotonic() < end, "it never came to that"
        time.sleep(0.002)


def limited(limits: ConnectionLimits) -> type[Mllp]:
    """The line with limits that a test can reach."""

    class Limited(Mllp):
        """It."""

        def __init__(self, directory: SandboxDirectory) -> None:
            super().__init__(directory, limits)

    return Limited


class Feed:
    """Laboratories, each in a playground of its own, behind one listener."""

    def __init__(self, limits: ConnectionLimits | None = None) -> None:
        self.gateway = Gateway()
        self.lines = ListenerPool(self.gateway)
        self.http = open_http(self.gateway)
        self.spec = hl7.SPEC if limits is None else replace(hl7.SPEC, listeners=(limited(limits),))
        self.playgrounds: list[Playground] = []

    def lab(self, time: Any = "stepped", **config: Any) -> "Lab":
        """One more."""
        environment = Environment(name="lab", simulators={"lab": Simulator(kind="hl7")}, time=time)
        room = PreparedSimulator(self.spec, self.spec.config(**config))
        lab = Lab(self, Playground(environment, {"lab": room}, "feed"))
        self.playgrounds.append(lab.playground)
        return lab

    @property
    def line(self) -> Mllp:
        """The listener itself."""
        [running] = self.lines._running.values()
        assert isinstance(running.listener, Mllp)
        return running.listener

    def delivery(self, lab: "Lab") -> MllpDelivery:
        """The delivery of a laboratory's inbox, which must be running."""
        delivery = self.lines._outbound._running[lab.facility, "mllp"].delivery
        assert isinstance(delivery, MllpDelivery)
        return delivery

    def close(self) -> None:
        """All of it."""
        for playground in self.playgrounds:
            playground.close()
            self.gateway.remove_playground(playground)
        self.lines.close()
        self.http.close()


class Lab:
    """One sandbox, as its agent has it."""

    def __init__(self, feed: Feed, playground: Playground) -> None:
        self.feed, self.playground = feed, playground
        self.handle = open_sandboxes(feed.gateway, playground, feed.http.url, feed.lines).get_as(Hl7)

    @property
    def told(self) -> dict[str, Any]:
        """What the agent is told of MLLP."""
        return dict(self.handle.listeners["mllp"])

    @property
    def facility(self) -> str:
        """What to write in MSH-6."""
        return str(self.told["facility"])

    def kinds(self) -> list[str]:
        """What the log says has happened."""
        return [event.kind for event in self.playground.log.events]

    def payloads(self, kind: str) -> list[Any]:
        """Of one kind."""
        return [event.payload for event in self.playground.log.events if event.kind == kind]

    def connect(self) -> "Wire":
        """A connection."""
        return Wire(int(self.told["port"]))

    def ask(self, data: bytes | None = None, **about: Any) -> Hl7Message:
        """One message on a connection of its own, and what is answered."""
        with self.connect() as wire:
            return wire.ask(message(self.facility, **about) if data is None else data)

    def arrive(self, control_id: str, type: str = "ORU^R01^ORU_R01", **changed: str) -> str:
        """A message comes for the agent; its place in the inbox."""
        text = message("CLINIC", type, control_id).decode()
        for old, new in changed.items():
            text = text.replace(old, new)
        with self.playground.lock:
            state, action = self.playground.state(hl7.SPEC.state, "lab")
            return state.deliver(action, parse_message(text))  # type: ignore[attr-defined, no-any-return]

    def end(self) -> None:
        """The run is over."""
        self.playground.close()
        self.feed.gateway.remove_playground(self.playground)


class Wire:
    """A bare connection."""

    def __init__(self, port: int) -> None:
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=10)
        self._rest = b""

    def send(self, data: bytes) -> None:
        """Bytes as they are."""
        self.socket.sendall(data)

    def frame(self) -> bytes | None:
        """The next whole frame; None if the connection ends before it does."""
        while END not in self._rest:
            try:
                more = self.socket.recv(65536)
            except ConnectionResetError:
                more = b""
            if not more:
                return None
            self._rest += more
        frame, _, self._rest = self._rest.partition(END)
        assert frame.startswith(START)
        return frame[1:]

    @property
    def rest(self) -> bytes:
        """What came of a frame that did not end."""
        return self._rest

    def answer(self) -> Hl7Message:
        """The next frame, read."""
        data = self.frame()
        assert data is not None, "the connection ended"
        return parse_message(data)

    def ask(self, data: bytes) -> Hl7Message:
        """There and back."""
        self.send(framed(data))
        return self.answer()

    def __enter__(self) -> "Wire":
        """It."""
        return self

    def __exit__(self, *_: object) -> None:
        """Hang up."""
        self.socket.close()


def said(ack: Hl7Message) -> tuple[str | None, str | None]:
    """MSA-1 and MSA-2."""
    return ack.value("MSA.1"), ack.value("MSA.2")
