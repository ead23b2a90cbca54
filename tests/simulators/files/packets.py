"""Hand-written SFTP packets over a real connection."""

import asyncio
import struct
from collections.abc import Coroutine
from enum import IntEnum
from typing import Any

import asyncssh

from tests.simulators.files.served import SftpDrop


class PacketType(IntEnum):
    """Packet types (draft-ietf-secsh-filexfer-02 §3)."""

    INIT = 1
    VERSION = 2
    OPEN = 3
    CLOSE = 4
    READ = 5
    WRITE = 6
    LSTAT = 7
    FSTAT = 8
    SETSTAT = 9
    FSETSTAT = 10
    OPENDIR = 11
    READDIR = 12
    REMOVE = 13
    MKDIR = 14
    RMDIR = 15
    REALPATH = 16
    STAT = 17
    RENAME = 18
    READLINK = 19
    SYMLINK = 20
    STATUS = 101
    HANDLE = 102
    DATA = 103
    NAME = 104
    ATTRS = 105
    EXTENDED = 200
    EXTENDED_REPLY = 201


class StatusCode(IntEnum):
    """Status codes (§7)."""

    OK = 0
    EOF = 1
    NO_SUCH_FILE = 2
    PERMISSION_DENIED = 3
    FAILURE = 4
    BAD_MESSAGE = 5
    OP_UNSUPPORTED = 8


class OpenFlag(IntEnum):
    """Flags of open (§6.3)."""

    READ = 1
    WRITE = 2
    APPEND = 4
    CREAT = 8
    TRUNC = 16
    EXCL = 32


def encode_string(data: bytes) -> bytes:
    """Return bytes with their length in front."""
    return struct.pack(">I", len(data)) + data


class RawSession:
    """A session whose packets are hand-written."""

    def __init__(self, stdin: Any, stdout: Any) -> None:
        self.stdin, self.stdout = stdin, stdout

    async def ask(self, kind: int, body: bytes) -> tuple[int, bytes]:
        """Send a packet; return the type of the reply, and its content after the request id."""
        self.stdin.write(encode_string(bytes([kind]) + body))
        return await self.answer()

    async def answer(self) -> tuple[int, bytes]:
        """Read the next reply."""
        (length,) = struct.unpack(">I", await self.stdout.readexactly(4))
        packet = await self.stdout.readexactly(length)
        return packet[0], packet[5:]

    async def code(self, kind: int, *fields: bytes) -> StatusCode:
        """Send a packet; return the status code of the reply."""
        answered, body = await self.ask(kind, struct.pack(">I", 7) + b"".join(fields))
        assert answered == PacketType.STATUS, answered
        return StatusCode(struct.unpack_from(">I", body)[0])

    async def open(self, path: bytes, flags: int) -> bytes:
        """Open a file; return its handle, encoded for a packet."""
        kind, handle = await self.ask(
            PacketType.OPEN, struct.pack(">I", 1) + encode_string(path) + struct.pack(">II", flags, 0)
        )
        assert kind == PacketType.HANDLE, handle
        return handle

    async def write(self, handle: bytes, data: bytes, offset: int = 0) -> StatusCode:
        """Write to a file."""
        return await self.code(PacketType.WRITE, handle, struct.pack(">Q", offset), encode_string(data))


def connect(drop: SftpDrop) -> Any:
    """Connect to a drop by password."""
    return asyncssh.connect(
        "127.0.0.1", drop.port, username=drop.user, password=drop.password, known_hosts=None, config=None
    )


async def open_raw_session(connection: Any, *, begin: bool = True) -> RawSession:
    """Open an SFTP channel without a client."""
    stdin, stdout, _ = await connection.open_session(subsystem="sftp", encoding=None)
    session = RawSession(stdin, stdout)
    if begin:
        assert (await session.ask(PacketType.INIT, struct.pack(">I", 3)))[0] == PacketType.VERSION
    return session


async def run_raw_session(drop: SftpDrop, work: Any, *, begin: bool = True) -> Any:
    """Run work on an SFTP channel without a client."""
    async with connect(drop) as connection:
        return await work(await open_raw_session(connection, begin=begin))


def run_within(seconds: float, work: Coroutine[Any, Any, Any]) -> Any:
    """Run work that must end in time."""
    return asyncio.run(asyncio.wait_for(work, seconds))
