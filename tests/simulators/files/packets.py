"""SFTP packets written by hand, over a real connection."""

import asyncio
import struct
from collections.abc import Coroutine
from enum import IntEnum
from typing import Any

import asyncssh

from tests.simulators.files.served import Served


class Kind(IntEnum):
    """The kinds of packets (draft-ietf-secsh-filexfer-02 §3)."""

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


class Code(IntEnum):
    """What a status says (§7)."""

    OK = 0
    EOF = 1
    NO_SUCH_FILE = 2
    PERMISSION_DENIED = 3
    FAILURE = 4
    BAD_MESSAGE = 5
    OP_UNSUPPORTED = 8


class Flag(IntEnum):
    """How a file is opened (§6.3)."""

    READ = 1
    WRITE = 2
    APPEND = 4
    CREAT = 8
    TRUNC = 16
    EXCL = 32


def string(data: bytes) -> bytes:
    """Bytes with their length before them."""
    return struct.pack(">I", len(data)) + data


class Raw:
    """A session whose packets are written by hand."""

    def __init__(self, stdin: Any, stdout: Any) -> None:
        self.stdin, self.stdout = stdin, stdout

    async def ask(self, kind: int, body: bytes) -> tuple[int, bytes]:
        """Send a packet; return the kind of the answer, and what follows its number."""
        self.stdin.write(string(bytes([kind]) + body))
        return await self.answer()

    async def answer(self) -> tuple[int, bytes]:
        """Read the next answer."""
        (length,) = struct.unpack(">I", await self.stdout.readexactly(4))
        packet = await self.stdout.readexactly(length)
        return packet[0], packet[5:]

    async def code(self, kind: int, *fields: bytes) -> Code:
        """Send a packet; return the code of the status that answers it."""
        answered, body = await self.ask(kind, struct.pack(">I", 7) + b"".join(fields))
        assert answered == Kind.STATUS, answered
        return Code(struct.unpack_from(">I", body)[0])

    async def open(self, path: bytes, flags: int) -> bytes:
        """Open a file; return its handle, as it goes into a packet."""
        kind, handle = await self.ask(Kind.OPEN, struct.pack(">I", 1) + string(path) + struct.pack(">II", flags, 0))
        assert kind == Kind.HANDLE, handle
        return handle

    async def write(self, handle: bytes, data: bytes, offset: int = 0) -> Code:
        """Write to a file."""
        return await self.code(Kind.WRITE, handle, struct.pack(">Q", offset), string(data))


def connect(drop: Served) -> Any:
    """Connect to a drop, by password."""
    return asyncssh.connect(
        "127.0.0.1", drop.port, username=drop.user, password=drop.password, known_hosts=None, config=None
    )


async def open_raw(connection: Any, *, begin: bool = True) -> Raw:
    """Open a channel for SFTP without a client on it."""
    stdin, stdout, _ = await connection.open_session(subsystem="sftp", encoding=None)
    session = Raw(stdin, stdout)
    if begin:
        assert (await session.ask(Kind.INIT, struct.pack(">I", 3)))[0] == Kind.VERSION
    return session


async def raw(drop: Served, work: Any, *, begin: bool = True) -> Any:
    """Work on a channel without a client on it."""
    async with connect(drop) as connection:
        return await work(await open_raw(connection, begin=begin))


def within(seconds: float, work: Coroutine[Any, Any, Any]) -> Any:
    """Run something that has to end in time."""
    return asyncio.run(asyncio.wait_for(work, seconds))
