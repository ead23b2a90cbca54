"""An interface engine in a rig, and messages to send to it."""

from collections.abc import Mapping
from typing import Any

import orjson

from clerkship.checks.conformance.rig import SimulatorRig
from clerkship.events.event import Event
from clerkship.formats.hl7.ack import Ack, parse_ack
from clerkship.formats.hl7.message import MEDIA_TYPE, parse_message
from clerkship.playground.gateway import Gateway
from clerkship.playground.in_process import open_sandboxes
from clerkship.playground.playground import replay
from clerkship.sandbox.request import Reply, Request
from clerkship.simulators.hl7 import SPEC
from clerkship.simulators.hl7.config import Hl7Config
from clerkship.simulators.hl7.handle import Hl7
from clerkship.simulators.hl7.state import Hl7State
from clerkship.simulators.hl7.steps.send import Hl7Send


def build_msh(id: str, type: str, *, accept: str = "", version: str = "2.5.1", to: str = "CLERKSHIP") -> str:
    """Build an MSH; `accept` is MSH-15 and MSH-16."""
    return f"MSH|^~\\&|EHR|CLINIC|LAB|{to}|20260302090000||{type}|{id}|P|{version}|||{accept}".rstrip("|")


def admission(id: str = "A1", *, name: str = "Okafor^Ada", mrn: str = "4711", **header_fields: str) -> str:
    """Build an ADT^A01."""
    pid = f"PID|1||{mrn}^^^CLINIC^MR||{name}||19650315|F"
    return "\r".join((build_msh(id, "ADT^A01^ADT_A01", **header_fields), "EVN||20260302090000", pid, "PV1|1|O", ""))


def results(id: str = "R1", *values: str, mrn: str = "4711", **header_fields: str) -> str:
    """Build an ORU^R01 with potassium values."""
    lines = [build_msh(id, "ORU^R01^ORU_R01", **header_fields), f"PID|1||{mrn}^^^CLINIC^MR||Okafor^Ada||19650315|F"]
    lines += [
        "OBR|1|O-1|L-1|24323-8^Metabolic panel^LN|||20260302083000|||||||||1234^May^Ida||||||20260302085500||CH|F"
    ]
    lines += [
        f"OBX|{number}|NM|2823-3^Potassium^LN||{value}|mmol/L|3.5-5.1|N|||F|||20260302083000"
        for number, value in enumerate(values or ("4.2",), 1)
    ]
    return "\r".join((*lines, ""))


class Interface:
    """One interface engine."""

    def __init__(self, **config: Any) -> None:
        self.rig = SimulatorRig(SPEC)
        self.config = Hl7Config(**config)
        self.state.config = self.config

    @property
    def state(self) -> Hl7State:
        state = self.rig.playground.sandboxes[self.rig.name].state
        assert isinstance(state, Hl7State)
        return state

    @property
    def kinds(self) -> list[str]:
        """The kinds of all events, including HTTP refusals."""
        return [event.kind for event in self.rig.playground.log.events]

    @property
    def last(self) -> Event:
        return self.rig.playground.log.events[-1]

    def ask(self, method: str, path: str, body: str | bytes = b"", **query: str) -> Reply:
        """Send a request."""
        data = body.encode() if isinstance(body, str) else body
        headers = {"content-type": MEDIA_TYPE} if body else {}
        return self.rig.send(Request(method, path, query, headers, data))

    def post(self, body: str | bytes, headers: Mapping[str, str] | None = None) -> Reply:
        """Send a body as a message."""
        data = body.encode() if isinstance(body, str) else body
        return self.rig.send(Request("POST", "/hl7/outbound", {}, headers or {}, data))

    def send(self, message: str) -> Ack:
        """Send a message and parse its acknowledgment."""
        reply = self.post(message)
        assert reply.status == 200, reply
        return parse_ack(parse_message(reply.body))

    def inbox(self, **query: str) -> list[dict[str, Any]]:
        reply = self.ask("GET", "/hl7/inbox", **query)
        assert reply.status == 200, reply
        messages: list[dict[str, Any]] = orjson.loads(reply.body)["messages"]
        return messages

    def arrive(self, **step: Any) -> None:
        """Deliver a message with the step `hl7.send`."""
        self.rig.playground.steps.run(Hl7Send(**step))
        assert self.kinds[-1] == "scenario.step.ran", self.last

    def handle(self) -> Hl7:
        """Return the handle of an in-process agent. Afterwards the rig cannot be used for requests."""
        playground = self.rig.playground
        playground.id = ""
        return open_sandboxes(Gateway(), playground, self.rig.url).get_as(Hl7)

    def replays_to_same_state(self) -> bool:
        """Return whether replaying the log gives the same state."""
        states = replay(self.rig.prepared_simulators, self.rig.playground.log.events)
        return bool(states[self.rig.name].dump() == self.state.dump())
