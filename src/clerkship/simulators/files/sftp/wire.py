"""SFTP version 3 on the wire (draft-ietf-secsh-filexfer-02, and OpenSSH's PROTOCOL): packets to fields and back."""

import struct
import time
from collections.abc import Sequence
from enum import IntEnum
from typing import NamedTuple

VERSION = 3
LONGEST = 256 * 1024
"""Bytes in one packet, as OpenSSH has it; a longer one ends the session."""
MOST_DATA = LONGEST - 1024
"""Bytes of a file in one packet."""
MOST_ATTRS = 64
"""Extended attributes somebody may send with a file; all are passed over."""

FILE_MODE = 0o100644
FOLDER_MODE = 0o040755
OWNER = 1000
GROUP = 1000
_HALF_YEAR = 365 * 24 * 60 * 60 // 2
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")

_U32 = struct.Struct(">I")
_U64 = struct.Struct(">Q")
_HEAD = struct.Struct(">IBI")
_DATA = struct.Struct(">IBII")
_ATTRS = struct.Struct(">IQIIIII")
_STATVFS = struct.Struct(">IBI11Q")
_LIMITS = struct.Struct(">IBI4Q")


class Kind(IntEnum):
    """What a packet is."""

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
    """What a status says."""

    OK = 0
    EOF = 1
    NO_SUCH_FILE = 2
    PERMISSION_DENIED = 3
    FAILURE = 4
    BAD_MESSAGE = 5
    OP_UNSUPPORTED = 8


class Flag(IntEnum):
    """How a file is opened."""

    READ = 1
    WRITE = 2
    APPEND = 4
    CREAT = 8
    TRUNC = 16
    EXCL = 32


_SIZE, _OWNER, _PERMISSIONS, _TIMES, _MORE = 1, 2, 4, 8, 0x80000000


class BadPacket(Exception):
    """It is not SFTP, or not whole."""


class Attrs(NamedTuple):
    """What somebody wants a file to be; None where nothing is said."""

    size: int | None = None
    owner: tuple[int, int] | None = None
    permissions: int | None = None
    modified: int | None = None


class Entry(NamedTuple):
    """A file or folder as it is shown."""

    name: str
    folder: bool
    size: int
    modified: int


class Fields:
    """What stands in a packet, read in order."""

    __slots__ = ("_at", "_data")

    def __init__(self, data: memoryview) -> None:
        self._data, self._at = data, 0

    def number(self) -> int:
        """Four bytes."""
        return self._unpack(_U32)

    def long(self) -> int:
        """Eight bytes."""
        return self._unpack(_U64)

    def view(self) -> memoryview:
        """A string, not copied."""
        start = self._at + 4
        end = start + self.number()
        if end > len(self._data):
            raise BadPacket("a packet ends inside a string")
        self._at = end
        return self._data[start:end]

    def string(self) -> bytes:
        """A string."""
        return bytes(self.view())

    def attrs(self) -> Attrs:
        """Attributes of a file (§5)."""
        flags = self.number()
        size = self.long() if flags & _SIZE else None
        owner = (self.number(), self.number()) if flags & _OWNER else None
        permissions = self.number() if flags & _PERMISSIONS else None
        modified = (self.number(), self.number())[1] if flags & _TIMES else None
        if flags & _MORE:
            for _ in range(min(self.number(), MOST_ATTRS)):
                self.view(), self.view()
        return Attrs(size, owner, permissions, modified)

    def _unpack(self, form: struct.Struct) -> int:
        try:
            value: int = form.unpack_from(self._data, self._at)[0]
        except struct.error:
            raise BadPacket("a packet ends inside a number") from None
        self._at += form.size
        return value


class Splitter:
    """Bytes as they come to packets, each without its length; never holds more than one that is not whole."""

    def __init__(self) -> None:
        self._parts: list[bytes] = []
        self._size = 0
        self._wanted = 4

    def feed(self, data: bytes) -> list[memoryview]:
        """The packets that are whole now."""
        self._parts.append(data)
        self._size += len(data)
        if self._size < self._wanted:
            return []
        whole = b"".join(self._parts) if len(self._parts) > 1 else data
        view, at, found = memoryview(whole), 0, []
        self._wanted = 4
        while len(whole) - at >= 4:
            end = at + 4 + _U32.unpack_from(whole, at)[0]
            if not at + 5 <= end <= at + 4 + LONGEST:
                raise BadPacket(f"a packet has 1 to {LONGEST} bytes")
            if end > len(whole):
                self._wanted = end - at
                break
            found.append(view[at + 4 : end])
            at = end
        rest = whole[at:]
        self._parts, self._size = ([rest] if rest else []), len(rest)
        return found


def string(data: bytes) -> bytes:
    """With its length before it."""
    return _U32.pack(len(data)) + data


def _packet(kind: Kind, number: int, body: bytes) -> bytes:
    return _HEAD.pack(len(body) + 5, kind, number) + body


def render_version(extensions: Sequence[tuple[bytes, bytes]]) -> bytes:
    """Which version is spoken, and what beyond it."""
    body = b"".join(string(name) + string(data) for name, data in extensions)
    return _HEAD.pack(len(body) + 5, Kind.VERSION, VERSION) + body


def render_status(number: int, code: Code, text: str = "") -> bytes:
    """How it went."""
    said = text or code.name.replace("_", " ").capitalize()
    return _packet(Kind.STATUS, number, _U32.pack(code) + string(said.encode()) + string(b"en"))


def render_handle(number: int, handle: bytes) -> bytes:
    """What an open file goes by from now on."""
    return _packet(Kind.HANDLE, number, string(handle))


def render_data(number: int, data: memoryview) -> list[bytes | memoryview]:
    """Bytes of a file, in pieces so that they are not copied."""
    return [_DATA.pack(len(data) + 9, Kind.DATA, number, len(data)), data]


def _encode_attrs(entry: Entry) -> bytes:
    mode = FOLDER_MODE if entry.folder else FILE_MODE
    flags = _SIZE | _OWNER | _PERMISSIONS | _TIMES
    at = min(max(entry.modified, 0), 0xFFFFFFFF)
    return _ATTRS.pack(flags, entry.size, OWNER, GROUP, mode, at, at)


def render_attrs(number: int, entry: Entry) -> bytes:
    """What a file is."""
    return _packet(Kind.ATTRS, number, _encode_attrs(entry))


def render_names(number: int, entries: Sequence[Entry], now: int) -> bytes:
    """A part of a folder's listing."""
    names = b"".join(
        string(name) + string(_long_name(entry, now) + name) + _encode_attrs(entry)
        for entry in entries
        for name in [entry.name.encode()]
    )
    return _packet(Kind.NAME, number, _U32.pack(len(entries)) + names)


def render_path(number: int, path: str) -> bytes:
    """Where something is, said as a listing of one name without attributes (§6.11)."""
    name = string(path.encode())
    return _packet(Kind.NAME, number, _U32.pack(1) + name + name + _U32.pack(0))


def render_space(number: int, quota: int, free: int) -> bytes:
    """How much there is and how much is left, in blocks of one byte (`statvfs@openssh.com`)."""
    fields = (4096, 1, quota, free, free, 0, 0, 0, 0, 0, 255)
    return _STATVFS.pack(_STATVFS.size - 4, Kind.EXTENDED_REPLY, number, *fields)


def render_limits(number: int, handles: int) -> bytes:
    """How much may be asked for at once (`limits@openssh.com`)."""
    return _LIMITS.pack(_LIMITS.size - 4, Kind.EXTENDED_REPLY, number, LONGEST, MOST_DATA, MOST_DATA, handles)


def _long_name(entry: Entry, now: int) -> bytes:
    """As `ls -l` has it, up to the name. What is half a year old has its year for the hour."""
    at = time.gmtime(entry.modified)
    hour = f"{at.tm_hour:02}:{at.tm_min:02}" if now - entry.modified < _HALF_YEAR else f"{at.tm_year:5}"
    mode, links = ("drwxr-xr-x", 2) if entry.folder else ("-rw-r--r--", 1)
    when = f"{_MONTHS[at.tm_mon - 1]} {at.tm_mday:2} {hour}"
    return f"{mode} {links:4} {'drop':8} {'drop':8} {entry.size:8} {when} ".encode()
