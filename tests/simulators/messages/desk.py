"""The front desk of a clinic in a playground: a `messages` sandbox with two contacts and a patient."""

from datetime import timedelta
from typing import Any, Self

import orjson

from clerkship.checks.conformance.rig import SimulatorRig
from clerkship.playground.sandbox import PreparedSimulator
from clerkship.sandbox.request import Reply, Request
from clerkship.simulators.messages import SPEC
from clerkship.simulators.messages.config import MessagesConfig
from clerkship.simulators.messages.outgoing import IncomingMessage
from clerkship.simulators.messages.state import MessagesState

OWN = "+15550100100"
ANA = "+15555550142"
ADA = "+15555550171"
"""The mobile number of the patient of the dataset."""
CONTACTS = [
    {"name": "Ana Rivera", "phone": ANA, "email": "ana@mail.example"},
    {"name": "Old Phone", "phone": "+15555550143", "unreachable": True},
    {"name": "Opted Out", "phone": "+15555550144", "opted_out": True},
]


class FrontDesk:
    """A sandbox, and a client that sends requests to it."""

    def __init__(self, **config: Any) -> None:
        settings = MessagesConfig.model_validate({"contacts": CONTACTS, **config})
        self.rig = SimulatorRig(SPEC, prepared=PreparedSimulator(SPEC, settings, SPEC.prepare(SPEC.exercise_datasets)))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.rig.__exit__(*error)

    @property
    def state(self) -> MessagesState:
        state = self.rig.playground.sandboxes[self.rig.name].state
        assert isinstance(state, MessagesState)
        return state

    @property
    def kinds(self) -> list[str]:
        return [event.kind.removeprefix("messages.") for event in self.rig.playground.log.events]

    def post(self, body: bytes) -> Reply:
        return self.rig.send(Request("POST", "/messages", {}, {"content-type": "application/json"}, body))

    def send(self, channel: str, to: str, text: str = "Hello.", **fields: Any) -> dict[str, Any]:
        reply = self.post(orjson.dumps({"channel": channel, "to": [to], "text": text, **fields}))
        result: dict[str, Any] = orjson.loads(reply.body)
        assert ("error" in result) == (reply.status >= 400)
        return result

    def refusal(self, channel: str, to: str, text: str = "Hello.", **fields: Any) -> str:
        code: str = self.send(channel, to, text, **fields)["error"]["code"]
        return code

    def receive(self, channel: str, sender: str, text: str, **fields: Any) -> str:
        state, action = self.rig.playground.state(MessagesState, None)
        message = IncomingMessage.model_validate({"channel": channel, "sender": sender, "text": text, **fields})
        id: str = state.receive(action, message).payload.header.id  # type: ignore[attr-defined]
        self.wait(0)
        return id

    def wait(self, seconds: float = 60) -> None:
        self.rig.playground.clock.advance(timedelta(seconds=seconds))

    def get(self, path: str, **query: str) -> Any:
        reply = self.rig.send(Request("GET", path, query))
        assert reply.status == 200, reply
        return orjson.loads(reply.body)
