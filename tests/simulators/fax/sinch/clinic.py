"""A clinic that faxes through the Sinch API, and the HTTP server of its agent."""

import base64
from typing import Any

import orjson

from clerkship.events.lifecycle import OutboundAttempted
from clerkship.formats.fax_pages.page import PAGE_WIDTH, FaxPage
from clerkship.model.environment import Environment, Simulator
from clerkship.playground.gateway import Gateway
from clerkship.playground.http import open_http
from clerkship.playground.in_process import open_sandboxes
from clerkship.playground.listeners import ListenerPool
from clerkship.playground.playground import Playground
from clerkship.playground.sandbox import PreparedSimulator
from clerkship.sandbox.request import Reply, Request
from clerkship.simulators.fax import SPEC
from clerkship.simulators.fax.config import FaxConfig, FaxContact
from clerkship.simulators.fax.handle import Fax
from clerkship.simulators.fax.outgoing import IncomingDocument, IncomingFax, IncomingPage
from clerkship.simulators.fax.sinch.resources import FORM, JSON, build_service_id
from clerkship.simulators.fax.state import FaxState

OWN, SECOND = "+15550100200", "+15550100201"
LAB, BUSY, SILENT, TORN, VOICE = (f"+1555010030{digit}" for digit in range(5))
UNKNOWN = "+15550100399"
CONTACTS = (
    FaxContact(name="Laboratory", number=LAB),
    FaxContact(name="Busy", number=BUSY, outcomes=("busy",)),
    FaxContact(name="Silent", number=SILENT, outcomes=("no_answer",)),
    FaxContact(name="Torn", number=TORN, outcomes=("partial",)),
    FaxContact(name="Voice", number=VOICE, outcomes=("failed",)),
)
TEXT = "Please send the notes of the visit of Ada Park.\f\nSecond page."


class FaxingClinic:
    """A playground with one fax line, in process and over HTTP."""

    def __init__(self, **options: Any) -> None:
        self.config = FaxConfig(organization="Riverbend", contacts=CONTACTS, numbers=(OWN, SECOND), **options)
        self.gateway = Gateway()
        self.pool = ListenerPool(self.gateway)
        self.http = open_http(self.gateway)
        environment = Environment(name="clinic", simulators={"line": Simulator(kind="fax")})
        prepared = PreparedSimulator(SPEC, self.config, SPEC.prepare(()))
        self.playground = Playground(environment, {"line": prepared}, "sinch")
        self.sandboxes = open_sandboxes(self.gateway, self.playground, self.http.url, self.pool)
        self.handle = self.sandboxes.get_as(Fax, "line")
        self.project = f"/v3/projects/{self.config.project}"
        self.service = f"/services/{build_service_id(self.config.project)}"

    @property
    def state(self) -> FaxState:
        """The state of the sandbox."""
        state = self.playground.sandboxes["line"].state
        assert isinstance(state, FaxState)
        return state

    def receive(self, sender: str = LAB, to: str = OWN, pages: int = 1) -> str:
        """Let a fax arrive; return its id."""
        sheets = [FaxPage(height=300, dots=bytes([n + 1]) * (300 * PAGE_WIDTH // 8)) for n in range(pages)]
        documents = (IncomingDocument(pages=tuple(IncomingPage(page=sheet) for sheet in sheets)),)
        with self.playground.lock:
            action = self.playground.context_for("line", "person")
            event = self.state.receive(action, IncomingFax(sender=sender, to=to, documents=documents))
        id: str = event.payload.header.id  # type: ignore[attr-defined]
        return id

    def send(self, method: str, path: str, body: Any = None, query: dict[str, str] | None = None) -> Reply:
        """Send a request below the project."""
        headers = {} if body is None else {"content-type": JSON}
        data = b"" if body is None else orjson.dumps(body)
        return self.handle._transport.send(Request(method, f"{self.project}{path}", query or {}, headers, data))

    def send_form(self, parts: list[tuple[str, str | bytes, str | None]]) -> Reply:
        """Send a fax as a form; a part is a name, its content, and the name of the file if it is one."""
        body = b""
        for name, content, filename in parts:
            file = f'; filename="{filename}"' if filename is not None else ""
            data = content.encode() if isinstance(content, str) else content
            body += f'--b\r\nContent-Disposition: form-data; name="{name}"{file}\r\n\r\n'.encode() + data + b"\r\n"
        headers = {"content-type": f"{FORM}; boundary=b"}
        request = Request("POST", f"{self.project}/faxes", {}, headers, body + b"--b--\r\n")
        return self.handle._transport.send(request)

    def json(self, method: str, path: str, body: Any = None, query: dict[str, str] | None = None) -> Any:
        """Send a request; return the JSON of the reply."""
        return orjson.loads(self.send(method, path, body, query).body)

    def create(self, to: Any = LAB, text: str = TEXT, **more: Any) -> Any:
        """Send a text as a fax; return the reply as JSON."""
        files = [{"file": base64.b64encode(text.encode()).decode(), "fileType": "TXT"}]
        return self.json("POST", "/faxes", {"to": to, "files": files, **more})

    def register(self, url: str, **more: str) -> Any:
        """Set the incomingWebhookUrl of the service."""
        return self.json("PATCH", self.service, {"incomingWebhookUrl": url, **more})

    def pass_time(self, text: str = "1h") -> None:
        """Let simulated time pass, with the webhooks that are due."""
        self.sandboxes.wait(text)

    @property
    def attempts(self) -> list[OutboundAttempted]:
        """The attempts to call the agent."""
        payloads = [event.payload for event in self.playground.log.events]
        return [payload for payload in payloads if isinstance(payload, OutboundAttempted)]

    @property
    def outcomes(self) -> list[tuple[str, str]]:
        """The outcome and the reason of each attempt."""
        return [(each.outcome, each.reason) for each in self.attempts]

    @property
    def kinds(self) -> list[str]:
        """The kinds of all events."""
        return [event.kind for event in self.playground.log.events]

    @property
    def log(self) -> str:
        """The whole log as text."""
        return b"\n".join(self.playground.log.lines).decode()

    def close(self) -> None:
        """End the run."""
        self.playground.close()
        self.gateway.remove_playground(self.playground)
        self.pool.close()
        self.http.close()
