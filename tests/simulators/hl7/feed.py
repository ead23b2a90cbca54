"""Laboratories over real MLLP, and a plain TCP client."""

import socket
from dataclasses import replace
from typing import Any

from clerkship.formats.hl7.message import Hl7Message, parse_message
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
    """Build a valid message."""
    head = rf"MSH|^~\&|AGENT|CLINIC|LAB|{facility}|20260302090000||{type}|{control_id}|P|{version}"
    return f"{head}\r{BODIES[type]}".encode()


def frame_bytes(data: bytes) -> bytes:
    return START + data + END


def build_limited_listener(limits: ConnectionLimits) -> type[Mllp]:
    """Return a listener class with small limits."""

    class Limited(Mllp):
        def __init__(self, directory: SandboxDirectory) -> None:
            super().__init__(directory, limits)

    return Limited


class Feed:
    """Laboratories behind one listener, each in its own playground."""

    def __init__(self, limits: ConnectionLimits | None = None) -> None:
        self.gateway = Gateway()
        self.listener_pool = ListenerPool(self.gateway)
        self.http = open_http(self.gateway)
        self.spec = hl7.SPEC if limits is None else replace(hl7.SPEC, listeners=(build_limited_listener(limits),))
        self.playgrounds: list[Playground] = []

    def lab(self, time: Any = "stepped", **config: Any) -> "Lab":
        """Add a laboratory."""
        environment = Environment(name="lab", simulators={"lab": Simulator(kind="hl7")}, time=time)
        prepared = PreparedSimulator(self.spec, self.spec.config(**config))
        lab = Lab(self, Playground(environment, {"lab": prepared}, "feed"))
        self.playgrounds.append(lab.playground)
        return lab

    @property
    def listener(self) -> Mllp:
        [running] = self.listener_pool._running.values()
        assert isinstance(running.listener, Mllp)
        return running.listener

    def delivery(self, lab: "Lab") -> MllpDelivery:
        """Return the running delivery of a laboratory's inbox."""
        delivery = self.listener_pool._outbound._running[lab.facility, "mllp"].delivery
        assert isinstance(delivery, MllpDelivery)
        return delivery

    def close(self) -> None:
        for playground in self.playgrounds:
            playground.close()
            self.gateway.remove_playground(playground)
        self.listener_pool.close()
        self.http.close()


class Lab:
    """One `hl7` sandbox from the agent's point of view."""

    def __init__(self, feed: Feed, playground: Playground) -> None:
        self.feed, self.playground = feed, playground
        self.handle = open_sandboxes(feed.gateway, playground, feed.http.url, feed.listener_pool).get_as(Hl7)

    @property
    def connection_info(self) -> dict[str, Any]:
        return dict(self.handle.listeners["mllp"])

    @property
    def facility(self) -> str:
        return str(self.connection_info["facility"])

    def kinds(self) -> list[str]:
        """Return the kinds of all events."""
        return [event.kind for event in self.playground.log.events]

    def payloads(self, kind: str) -> list[Any]:
        """Return the payloads of events of one kind."""
        return [event.payload for event in self.playground.log.events if event.kind == kind]

    def connect(self) -> "RawConnection":
        return RawConnection(int(self.connection_info["port"]))

    def ask(self, data: bytes | None = None, **about: Any) -> Hl7Message:
        """Send one message on a new connection, and return the answer."""
        with self.connect() as connection:
            return connection.ask(message(self.facility, **about) if data is None else data)

    def arrive(self, control_id: str, type: str = "ORU^R01^ORU_R01", **changed: str) -> str:
        """Put a message into the inbox, and return its id."""
        text = message("CLINIC", type, control_id).decode()
        for old, new in changed.items():
            text = text.replace(old, new)
        with self.playground.lock:
            state, action = self.playground.state(hl7.SPEC.state, "lab")
            return state.deliver(action, parse_message(text))  # type: ignore[attr-defined, no-any-return]

    def end(self) -> None:
        """End the run."""
        self.playground.close()
        self.feed.gateway.remove_playground(self.playground)


class RawConnection:
    """A plain TCP connection."""

    def __init__(self, port: int) -> None:
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=10)
        self._rest = b""

    def send(self, data: bytes) -> None:
        self.socket.sendall(data)

    def frame(self) -> bytes | None:
        """Return the next frame; None if the connection ends first."""
        while END not in self._rest:
            try:
                chunk = self.socket.recv(65536)
            except ConnectionResetError:
                chunk = b""
            if not chunk:
                return None
            self._rest += chunk
        frame, _, self._rest = self._rest.partition(END)
        assert frame.startswith(START)
        return frame[1:]

    @property
    def unread(self) -> bytes:
        """The received bytes of an unfinished frame."""
        return self._rest

    def answer(self) -> Hl7Message:
        """Return the next message."""
        data = self.frame()
        assert data is not None, "the connection ended"
        return parse_message(data)

    def ask(self, data: bytes) -> Hl7Message:
        """Send a message and return the answer."""
        self.send(frame_bytes(data))
        return self.answer()

    def __enter__(self) -> "RawConnection":
        return self

    def __exit__(self, *_: object) -> None:
        self.socket.close()


def read_msa(ack: Hl7Message) -> tuple[str | None, str | None]:
    """Return MSA-1 and MSA-2."""
    return ack.value("MSA.1"), ack.value("MSA.2")
