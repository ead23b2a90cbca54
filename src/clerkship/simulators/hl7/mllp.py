"""The MLLP listener: HL7 v2 over TCP. One listener serves every playground; MSH-6 of a message selects the sandbox."""

import asyncio
import shlex
import ssl
from collections.abc import Sequence
from functools import partial
from typing import ClassVar, cast

from clerkship.kit.descriptors import max_connections
from clerkship.sandbox.authentication.listener_schemes import MessageAddress
from clerkship.sandbox.listener import ProtocolListener, SandboxClient, SandboxDirectory
from clerkship.sandbox.request import ConnectionInfo
from clerkship.simulators.hl7.config import Hl7Config
from clerkship.simulators.hl7.mllp_connection import FindClient, MllpConnection
from clerkship.transports.limits import ConnectionLimits
from clerkship.transports.tcp import OpenPort, TcpListener

LIMITS = ConnectionLimits(first=5.0, request=60.0)
"""`first` limits the time to the end of the first message. It applies once half of the connections are in use."""
EXAMPLE_MESSAGE = (
    r"MSH|^~\\&|AGENT|CLINIC|LAB|{facility}|20260302090000||ADT^A04^ADT_A01|1|P|2.5.1\r"
    r"EVN||20260302090000\rPID|1||1^^^CLINIC^MR||Okafor^Ada\rPV1|1|O\r"
)
"""As a Python bytes literal."""


class Mllp(ProtocolListener):
    """Receives framed messages and sends acknowledgments."""

    name: ClassVar[str] = "mllp"
    has_password: ClassVar[bool] = False

    def __init__(self, directory: SandboxDirectory, limits: ConnectionLimits = LIMITS) -> None:
        super().__init__(directory)
        self.tcp = TcpListener(limits, max_connections())
        """The main port, and the ports of single sandboxes by their address."""
        self._host, self._port = "", 0
        self._loop: asyncio.AbstractEventLoop | None = None
        self._tls: ssl.SSLContext | None = None

    async def open(self, host: str, port: int) -> None:
        self._loop = asyncio.get_running_loop()
        files = self.directory.tls
        self._tls = files.build_context(requires_client=True) if files is not None else None
        main = self.tcp.open_port(host, port)
        self._host, self._port = host, main.number
        find: FindClient = partial(MessageAddress.find, self.directory)
        await main.serve(partial(MllpConnection, find, self.directory.list_refused), self._tls)
        self.tcp.start_sweeping()

    async def close(self) -> None:
        await self.tcp.close()

    def connection_info(self, client: SandboxClient) -> ConnectionInfo:
        """Return host, port, and the facility for MSH-6."""
        port = self._own_port(client) if cast(Hl7Config, client.config).own_port else self._port
        return {"host": self._host, "port": port, "facility": client.address}

    def ports(self) -> Sequence[int]:
        """List the main port and those of single sandboxes."""
        return self.tcp.numbers()

    def example(self, info: ConnectionInfo) -> str:
        """Return a command that sends a message with Python."""
        message = EXAMPLE_MESSAGE.format(facility=info["facility"])
        script = (
            f'import socket; s = socket.create_connection(("{info["host"]}", {info["port"]})); '
            f's.sendall(b"\\x0b{message}\\x1c\\r"); print(s.recv(65536).decode().replace("\\r", "\\n"))'
        )
        return shlex.join(["python3", "-c", script])

    async def run_ended(self, address: str) -> None:
        """Close the port of this sandbox."""
        await self.tcp.close_port(address)

    def _own_port(self, client: SandboxClient) -> int:
        """Return the port of this sandbox alone. It is bound in the caller's thread and served in the listener's."""
        if self._loop is None or not client.open:
            return 0
        port = self.tcp.open_port(self._host, name=client.address)
        if not port.is_served:
            asyncio.run_coroutine_threadsafe(self._serve_own(client, port), self._loop)
        return port.number

    async def _serve_own(self, client: SandboxClient, port: OpenPort) -> None:
        if not client.open:
            await self.tcp.close_port(client.address)
        elif not port.is_served:
            find: FindClient = lambda facility: client if client.open else None  # noqa: E731
            await port.serve(partial(MllpConnection, find, self.directory.list_refused), self._tls)
