"""A clinic that texts through the Twilio API, and the HTTP server of its agent."""

from typing import Any
from urllib.parse import urlencode

import orjson

from clerkship.events.lifecycle import OutboundAttempted
from clerkship.model.environment import Environment, Simulator
from clerkship.playground.gateway import Gateway
from clerkship.playground.http import open_http
from clerkship.playground.in_process import open_sandboxes
from clerkship.playground.listeners import ListenerPool
from clerkship.playground.playground import Playground
from clerkship.playground.sandbox import PreparedSimulator
from clerkship.sandbox.handle import Handle
from clerkship.sandbox.request import Reply, Request
from clerkship.simulators.messages import SPEC
from clerkship.simulators.messages.config import Contact, MessagesConfig
from clerkship.simulators.messages.events import MessageSent
from clerkship.simulators.messages.outgoing import IncomingMessage, NewAttachment
from clerkship.simulators.messages.state import MessagesState
from clerkship.simulators.messages.twilio.form import FORM
from clerkship.simulators.messages.twilio.resources import build_number_sid

OWN, ADA, LAND, LOST, GONE = "+15550100100", "+15550100111", "+15550100112", "+15550100113", "+15550100114"
SECOND = "+15550100101"
CONTACTS = (
    Contact(name="Ada Park", phone=ADA),
    Contact(name="Office", phone=LAND, landline=True),
    Contact(name="Lost", phone=LOST, unreachable=True),
    Contact(name="Gone", phone=GONE, opted_out=True),
)


class TextingClinic:
    """A playground with one sandbox for text messages, in process and over HTTP."""

    def __init__(self, **options: Any) -> None:
        self.config = MessagesConfig(contacts=CONTACTS, numbers=(OWN, SECOND), **options)
        self.gateway = Gateway()
        self.pool = ListenerPool(self.gateway)
        self.http = open_http(self.gateway)
        environment = Environment(name="clinic", simulators={"texts": Simulator(kind="messages")})
        self.playground = Playground(
            environment, {"texts": PreparedSimulator(SPEC, self.config, SPEC.prepare(()))}, "twilio"
        )
        self.sandboxes = open_sandboxes(self.gateway, self.playground, self.http.url, self.pool)
        self.handle = self.sandboxes.get_as(Handle, "texts")
        self.account = f"/2010-04-01/Accounts/{self.config.account_sid}"

    @property
    def state(self) -> MessagesState:
        """The state of the sandbox."""
        state = self.playground.sandboxes["texts"].state
        assert isinstance(state, MessagesState)
        return state

    def receive(self, text: str, sender: str = ADA, to: str = OWN, *attachments: NewAttachment) -> str:
        """Let a text message arrive; return its id."""
        with self.playground.lock:
            action = self.playground.context_for("texts", "person")
            message = IncomingMessage(channel="sms", sender=sender, to=(to,), text=text, attachments=attachments)
            event = self.state.receive(action, message)
        id: str = event.payload.header.id  # type: ignore[attr-defined]
        return id

    def send(
        self, method: str, path: str, form: dict[str, Any] | None = None, query: dict[str, str] | None = None
    ) -> Reply:
        """Send a request below the account, as the SDK does."""
        headers = {"content-type": FORM} if form is not None else {}
        body = urlencode(form or {}, doseq=True).encode()
        return self.handle._transport.send(Request(method, f"{self.account}{path}", query or {}, headers, body))

    def json(
        self, method: str, path: str, form: dict[str, Any] | None = None, query: dict[str, str] | None = None
    ) -> Any:
        """Send a request; return the JSON of the reply."""
        return orjson.loads(self.send(method, path, form, query).body)

    def create(self, text: str = "Hello", to: str = ADA, **more: str | list[str]) -> Any:
        """Send a text message; return the reply as JSON."""
        return self.json("POST", "/Messages.json", {"To": to, "From": OWN, "Body": text, **more})

    def register(self, url: str, number: str = OWN) -> Any:
        """Set the SmsUrl of a number."""
        return self.json("POST", f"/IncomingPhoneNumbers/{build_number_sid(number)}.json", {"SmsUrl": url})

    def pass_time(self, text: str = "1m") -> None:
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
    def sent_by_agent(self) -> list[MessageSent]:
        """The messages that the agent sent."""
        events = [event for event in self.playground.log.events if event.actor == "agent"]
        return [event.payload for event in events if isinstance(event.payload, MessageSent)]

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
