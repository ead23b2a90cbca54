"""An organization's messages served over SMTP, in its own playground."""

import base64
import smtplib
import socket
import ssl
from typing import Any, Literal

from clerkship.model.environment import Environment, Simulator
from clerkship.playground.gateway import Gateway
from clerkship.playground.in_process import open_sandboxes
from clerkship.playground.listeners import ListenerPool
from clerkship.playground.playground import Playground
from clerkship.playground.sandbox import PreparedSimulator
from clerkship.sandbox.request import ConnectionInfo
from clerkship.simulators import messages
from clerkship.simulators.messages.config import Contact
from clerkship.simulators.messages.contacts import PatientContacts
from clerkship.simulators.messages.state import MessagesState

OWN = "frontdesk@clinic.example"
ANA = "ana@home.example"
PLAIN = b"From: frontdesk@clinic.example\r\nTo: ana@home.example\r\nSubject: Visit\r\n\r\nSee you on Monday.\r\n"


class SmtpClinic:
    """One playground with one organization. Several may share a gateway and its listeners."""

    def __init__(
        self,
        gateway: Gateway,
        pool: ListenerPool,
        seed: str = "smtp",
        time: Literal["stepped", "paced"] = "stepped",
        **config: Any,
    ) -> None:
        contacts = (Contact(name="Ana Lima", email=ANA), Contact(name="Bo Chen", email="bo@home.example"))
        settings = messages.SPEC.config(**{"contacts": contacts} | config)
        environment = Environment(name="desk", simulators={"mail": Simulator(kind="messages")}, time=time)
        prepared = PreparedSimulator(messages.SPEC, settings, PatientContacts(()))
        self.gateway, self.prepared = gateway, prepared
        self.playground = Playground(environment, {"mail": prepared}, seed)
        handles = open_sandboxes(gateway, self.playground, lambda: "http://nowhere.invalid", pool)
        self.handle = handles["mail"]
        self.connection_info: ConnectionInfo = self.handle.listeners.get("smtp", {})
        self.clients: list[smtplib.SMTP | RawSmtp] = []
        """Closed after the test."""

    @property
    def port(self) -> int:
        return int(self.connection_info["port"])

    @property
    def user(self) -> str:
        return str(self.connection_info["user"])

    @property
    def password(self) -> str:
        return str(self.connection_info["password"])

    @property
    def state(self) -> MessagesState:
        state = self.playground.sandboxes["mail"].state
        assert isinstance(state, MessagesState)
        return state

    def events(self, kind: str = "messages.message.") -> list[Any]:
        """Return the payloads of events whose kind starts so, in order."""
        return [event.payload for event in self.playground.log.events if event.kind.startswith(kind)]

    def sent(self) -> list[Any]:
        """Return the messages that were sent."""
        return self.events("messages.message.sent")

    def refused(self) -> list[Any]:
        """Return the messages that were refused."""
        return self.events("messages.message.refused")

    def connect(self, *, tls: bool = False, login: bool = True) -> smtplib.SMTP:
        """Return a connected client of the standard library."""
        client = smtplib.SMTP("127.0.0.1", self.port, timeout=30)
        self.clients.append(client)
        if tls:
            client.starttls(context=self.tls_context())
        if login:
            client.login(self.user, self.password)
        return client

    def tls_context(self) -> ssl.SSLContext:
        """Return settings that trust the certificate of the listener and nothing else."""
        return ssl.create_default_context(cadata=str(self.connection_info["certificate"]))

    def end(self) -> None:
        """End the run."""
        self.playground.close()
        self.gateway.remove_playground(self.playground)


class RawSmtp:
    """A client that sends any bytes."""

    def __init__(self, clinic: SmtpClinic, *, login: bool = True) -> None:
        self.socket = socket.create_connection(("127.0.0.1", clinic.port), timeout=30)
        self.replies = self.socket.makefile("rb")
        clinic.clients.append(self)
        self.greeting = self.read()
        if login:
            self.command(b"EHLO test.example")
            plain = base64.b64encode(f"\0{clinic.user}\0{clinic.password}".encode())
            reply = self.command(b"AUTH PLAIN " + plain)
            assert reply.startswith("235"), reply

    def read(self) -> str:
        """Return the last line of one reply; empty once the connection is closed."""
        while True:
            line = self.replies.readline().decode()
            if line[3:4] != "-":
                return line.rstrip("\r\n")

    def command(self, line: bytes) -> str:
        """Send a line and return the reply."""
        self.socket.sendall(line + b"\r\n")
        return self.read()

    def begin(self, *recipients: str) -> None:
        """Begin an e-mail up to its content."""
        assert self.command(f"MAIL FROM:<{OWN}>".encode()).startswith("250")
        for recipient in recipients or (ANA,):
            assert self.command(f"RCPT TO:<{recipient}>".encode()).startswith("250")
        assert self.command(b"DATA").startswith("354")

    def send(self, content: bytes) -> str:
        """Send a whole e-mail; return the reply to its content."""
        self.begin()
        return self.command(content + b"\r\n.")

    def close(self) -> None:
        self.replies.close()
        self.socket.close()
