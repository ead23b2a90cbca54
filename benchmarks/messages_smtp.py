"""E-mails a second by the SMTP listener of the sandbox, and by a plain aiosmtpd server that only stores them.

One asyncio client drives both, with a login on the sandbox and without one on the plain server.
"""

import asyncio
import base64
import json
import socket
import sys
import threading
import time
from typing import Any

from aiosmtpd.smtp import SMTP, Envelope, Session

from benchmarks.http_load import Load
from clerkship.model.environment import Environment
from clerkship.playground.gateway import Gateway
from clerkship.playground.in_process import open_sandboxes
from clerkship.playground.listeners import ListenerPool
from clerkship.playground.playground import Playground
from clerkship.playground.sandbox import PreparedSimulator
from clerkship.simulators import messages
from clerkship.simulators.messages.config import MessagesConfig
from clerkship.simulators.messages.handle import Messages

OWN = MessagesConfig().addresses[0]
ANA = "ana@home.example"
CONTENT = (
    f"From: {OWN}\r\nTo: {ANA}\r\nSubject: Your visit\r\nMessage-ID: <%b@client.example>\r\n\r\n"
    "Your appointment is on Tuesday at nine.\r\n.\r\n"
).encode()


def serve_mail() -> None:
    """Open a playground with an SMTP listener; print its address and the CPU time for each line read."""
    environment = Environment.model_validate({"name": "desk", "simulators": {"desk": {"kind": "messages"}}})
    config = MessagesConfig.model_validate({"contacts": [{"name": "Ana Lima", "email": ANA}]})
    simulators = {"desk": PreparedSimulator(messages.SPEC, config, messages.SPEC.prepare(()))}
    gateway = Gateway()
    pool = ListenerPool(gateway)
    playground = Playground(environment, simulators, "smtp")
    desk = open_sandboxes(gateway, playground, lambda: "http://desk.invalid", pool).get_as(Messages)
    info: dict[str, Any] = {key: desk.listeners["smtp"][key] for key in ("port", "user", "password")}
    for _ in sys.stdin:
        with playground.lock:
            stored = len([event for event in playground.log.events if event.kind == "messages.message.sent"])
        print(json.dumps({**info, "stored": stored, "cpu": time.process_time()}), flush=True)
    playground.close()
    gateway.remove_playground(playground)
    pool.close()


class StoringHandler:
    """Keeps every e-mail in a list."""

    def __init__(self) -> None:
        self.stored: list[Envelope] = []

    async def handle_DATA(self, server: SMTP, session: Session, envelope: Envelope) -> str:  # noqa: N802
        """Take one e-mail."""
        self.stored.append(envelope)
        return "250 OK"


def serve_plain_mail() -> None:
    """Serve with aiosmtpd alone; print the port and the CPU time for each line read."""
    handler = StoringHandler()
    listener = socket.create_server(("127.0.0.1", 0))
    loop = asyncio.new_event_loop()
    server = loop.run_until_complete(loop.create_server(lambda: SMTP(handler, loop=loop), sock=listener))
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    for _ in sys.stdin:
        address = {"port": listener.getsockname()[1], "stored": len(handler.stored), "cpu": time.process_time()}
        print(json.dumps(address), flush=True)
    loop.call_soon_threadsafe(server.close)
    loop.call_soon_threadsafe(loop.stop)
    thread.join()


class MailClient:
    """One SMTP connection."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self._writer = reader, writer

    async def read(self, expected: bytes) -> None:
        """Read one reply, and check its code."""
        line = await self._reader.readline()
        while line[3:4] == b"-":
            line = await self._reader.readline()
        assert line.startswith(expected), line

    async def command(self, line: bytes, expected: bytes) -> None:
        """Send a line, and check the code of the reply."""
        self._writer.write(line)
        await self.read(expected)

    async def begin(self, address: dict[str, Any]) -> None:
        """Greet, and log in if the server has users."""
        await self.read(b"220")
        await self.command(b"EHLO client.example\r\n", b"250")
        if "user" in address:
            plain = base64.b64encode(f"\0{address['user']}\0{address['password']}".encode())
            await self.command(b"AUTH PLAIN %b\r\n" % plain, b"235")

    async def send(self, number: bytes) -> None:
        """Send one e-mail."""
        await self.command(f"MAIL FROM:<{OWN}>\r\n".encode(), b"250")
        await self.command(f"RCPT TO:<{ANA}>\r\n".encode(), b"250")
        await self.command(b"DATA\r\n", b"354")
        await self.command(CONTENT % number, b"250")

    def close(self) -> None:
        """Close the connection."""
        self._writer.close()


def keep_sending(address: dict[str, Any], connections: int, seconds: float, most: int) -> Load:
    """Send e-mails over some connections for some seconds, at most so many."""
    return asyncio.run(_keep_sending(address, connections, seconds, most))


async def _keep_sending(address: dict[str, Any], connections: int, seconds: float, most: int) -> Load:
    clients = [MailClient(*await asyncio.open_connection("127.0.0.1", address["port"])) for _ in range(connections)]
    for client in clients:
        await client.begin(address)
    sent = 0
    began = time.perf_counter()

    async def work(client: MailClient) -> None:
        nonlocal sent
        while sent < most and time.perf_counter() - began < seconds:
            sent += 1
            await client.send(b"%d" % sent)

    await asyncio.gather(*map(work, clients))
    passed = time.perf_counter() - began
    for client in clients:
        client.close()
    return Load(sent, passed, b"")
