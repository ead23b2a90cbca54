"""The fax line of a clinic in a playground, with machines elsewhere that behave in different ways."""

from collections.abc import Mapping
from datetime import timedelta
from functools import cached_property
from typing import Any, Self

import orjson

from clerkship.checks.conformance.rig import SimulatorRig
from clerkship.events.event import Event
from clerkship.formats.fax_pages.page import PageWords
from clerkship.formats.fax_pages.text_pages import render_text
from clerkship.playground.in_process import InProcessTransport
from clerkship.playground.sandbox import PreparedSimulator
from clerkship.sandbox.request import Reply, Request
from clerkship.simulators.fax import SPEC
from clerkship.simulators.fax.config import FaxConfig
from clerkship.simulators.fax.handle import Fax
from clerkship.simulators.fax.outgoing import IncomingDocument, IncomingFax, IncomingPage
from clerkship.simulators.fax.state import FaxState

OWN, BACK_OFFICE = "+15550100200", "+15550100201"
LAB, BUSY, SILENT, VOICE, BROKEN, FLAKY = (f"+1555010030{number}" for number in range(6))
UNKNOWN = "+15559990000"
CONTACTS: list[dict[str, Any]] = [
    {"name": "Harbor Laboratory", "number": LAB},
    {"name": "Busy Clinic", "number": BUSY, "outcomes": ["busy", "busy", "ok"]},
    {"name": "Silent Clinic", "number": SILENT, "outcomes": ["no_answer"]},
    {"name": "Voice Line", "number": VOICE, "outcomes": ["failed"]},
    {"name": "Broken Machine", "number": BROKEN, "outcomes": ["partial"], "partial_pages": 1},
    {"name": "Flaky Machine", "number": FLAKY, "outcomes": ["partial", "no_answer", "ok"]},
]
TWO_PAGES = "Referral of Ada Okafor, MRN 4471902.\fPlease book a visit in cardiology."


class FaxClinic:
    """A sandbox, and a client that sends requests to it."""

    def __init__(
        self, rig: SimulatorRig | None = None, texts: Mapping[str, PageWords] | None = None, **config: Any
    ) -> None:
        numbers = [OWN, BACK_OFFICE]
        organization = "Riverbend Family Medicine"
        fields = {"numbers": numbers, "contacts": CONTACTS, "organization": organization, **config}
        settings = FaxConfig.model_validate(fields)
        self.rig = rig or SimulatorRig(SPEC, prepared=PreparedSimulator(SPEC, settings, {} if texts is None else texts))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.rig.__exit__(*error)

    @property
    def state(self) -> FaxState:
        state = self.rig.playground.sandboxes[self.rig.name].state
        assert isinstance(state, FaxState)
        return state

    @cached_property
    def handle(self) -> Fax:
        return Fax(InProcessTransport(self.rig.gateway, self.rig.playground, self.rig.name, str))

    @property
    def events(self) -> list[Event]:
        return [event for event in self.rig.playground.log.events if event.kind.startswith("fax.")]

    @property
    def kinds(self) -> list[str]:
        return [event.kind.removeprefix("fax.") for event in self.events]

    def statuses(self, id: str) -> list[tuple[str, int, int]]:
        """Return the status, the attempt and the pages of each change of a fax."""
        changes = [event.payload for event in self.events if event.kind == "fax.status_changed"]
        return [(each.status, each.attempt, each.pages_sent) for each in changes if each.id == id]  # type: ignore[attr-defined]

    def post(self, body: bytes, media: str = "application/json") -> Reply:
        return self.rig.send(Request("POST", "/faxes", {}, {"content-type": media}, body))

    def send(self, to: str = LAB, text: str = TWO_PAGES, **fields: Any) -> dict[str, Any]:
        reply = self.post(orjson.dumps({"to": to, "documents": [{"text": text}], **fields}))
        result: dict[str, Any] = orjson.loads(reply.body)
        assert ("error" in result) == (reply.status >= 400)
        return result

    def refusal(self, to: str = LAB, text: str = TWO_PAGES, **fields: Any) -> str:
        code: str = self.send(to, text, **fields)["error"]["code"]
        return code

    def receive(self, text: str = TWO_PAGES, sender: str = LAB, **fields: Any) -> str:
        state, action = self.rig.playground.state(FaxState, None)
        pages = tuple(IncomingPage(page=page, words=words) for page, words in render_text(text, "fine"))
        documents = (IncomingDocument(name="letter", format="text", pages=pages),)
        event = state.receive(action, IncomingFax(sender=sender, documents=documents, **fields))
        id: str = event.payload.header.id  # type: ignore[attr-defined]
        return id

    def wait(self, seconds: float = 3600) -> None:
        self.rig.playground.clock.advance(timedelta(seconds=seconds))

    def request(self, method: str, path: str, query: Mapping[str, str] | None = None, body: bytes = b"") -> Reply:
        return self.rig.send(Request(method, path, query or {}, {}, body))

    def get(self, path: str, **query: str) -> Any:
        reply = self.request("GET", path, query)
        assert reply.status == 200, reply
        return orjson.loads(reply.body)
