"""The layout of archives: ZIP files with entries stored one after another, and nothing before, between or after them.

Every byte follows from the names and the data, so that a reader can refuse all else that a ZIP file may have:
compression, encryption, links, comments, extra fields, sizes above 4 GB, entries that overlap, bytes of no entry.
See APPNOTE.TXT 6.3, sections 4.3.7 (local header), 4.3.12 (directory) and 4.3.16 (end of the directory).
"""

import io
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from struct import Struct
from typing import IO

MAX_ARCHIVE_BYTES = 2_000_000_000
"""Limit for files from elsewhere. No ZIP64 record is needed below it."""
MAX_ENTRIES = 20_000
"""Limit for files from elsewhere: each entry takes many times the memory of its record."""
MAX_ENTRY_NAME = 250
"""Limit for files from elsewhere, with which the size of a directory is known before it is read."""
_HEADER = Struct("<4s5H3L2H")
_RECORD = Struct("<4s4B4H3L5H2L")
_END = Struct("<4s4H2LH")
_STORED, _VERSION, _UNIX = 0, 20, 3
_DATE = 0x21
"""1 January 1980, the first day that a ZIP file can have."""
_FILE_MODE = 0o100644 << 16
_DAMAGED = "it is not a whole archive"


class BadLayout(ValueError):
    """A file is not an archive, or was changed. The message says what is wrong with it."""


@dataclass(frozen=True)
class StoredEntry:
    """An entry of an archive: where its header is, and the size and the CRC-32 of its data."""

    name: str
    offset: int
    size: int
    crc: int

    @property
    def header(self) -> bytes:
        """The header before the data."""
        name = self.name.encode("ascii")
        sizes = (self.crc, self.size, self.size, len(name), 0)
        return _HEADER.pack(b"PK\x03\x04", _VERSION, 0, _STORED, 0, _DATE, *sizes) + name

    @property
    def record(self) -> bytes:
        """The record in the directory."""
        name = self.name.encode("ascii")
        versions = (_VERSION, _UNIX, _VERSION, 0)
        sizes = (self.crc, self.size, self.size, len(name))
        places = (0, 0, 0, 0, _FILE_MODE, self.offset)
        return _RECORD.pack(b"PK\x01\x02", *versions, 0, _STORED, 0, _DATE, *sizes, *places) + name

    @property
    def end(self) -> int:
        """Where the next header is."""
        return self.offset + _HEADER.size + len(self.name) + self.size


def build_zip(entries: Iterable[tuple[str, bytes]]) -> bytes:
    """Return a ZIP file with entries in this order. Raise BadLayout if there are too many, or too many bytes."""
    parts, stored = list[bytes](), list[StoredEntry]()
    for name, data in entries:
        stored.append(StoredEntry(name, stored[-1].end if stored else 0, len(data), zlib.crc32(data)))
        _check_size(len(stored), stored[-1].end)
        parts += [stored[-1].header, data]
    records = [entry.record for entry in stored]
    size, start = sum(map(len, records)), stored[-1].end if stored else 0
    return b"".join((*parts, *records, _END.pack(b"PK\x05\x06", 0, 0, len(stored), len(stored), size, start, 0)))


def _check_size(count: int, size: int) -> None:
    if count > MAX_ENTRIES:
        raise BadLayout(f"it has {count:,} entries; the limit is {MAX_ENTRIES:,}")
    if size > MAX_ARCHIVE_BYTES:
        raise BadLayout(f"it has {size:,} bytes; the limit is {MAX_ARCHIVE_BYTES:,}")


def read_directory(source: IO[bytes]) -> dict[str, StoredEntry]:
    """Return the entries of a ZIP file in their order. Raise BadLayout if it is not as `build_zip` writes it."""
    end = source.seek(0, io.SEEK_END) - _END.size
    source.seek(max(end, 0))
    record = source.read(_END.size)
    if not record.startswith(b"PK\x05\x06") or len(record) < _END.size:
        raise BadLayout(f"{_DAMAGED}: the directory at its end is missing, or something follows it")
    count, size, start = _END.unpack(record)[4:7]
    _check_size(count, end)
    if record != _END.pack(b"PK\x05\x06", 0, 0, count, count, size, start, 0):
        raise BadLayout(f"{_DAMAGED}: the record at its end has a comment, or belongs to one of several files")
    if start + size != end or size > count * (_RECORD.size + MAX_ENTRY_NAME):
        raise BadLayout(f"{_DAMAGED}: its directory is not at its end, or has another size than it says")
    source.seek(start)
    return _check_order(_parse_directory(source.read(size), count), start)


def _check_order(listed: Iterable[StoredEntry], start: int) -> dict[str, StoredEntry]:
    """Return the entries by name. Raise BadLayout if they do not fill the file up to the start of the directory."""
    entries, expected = dict[str, StoredEntry](), 0
    for entry in listed:
        if entry.name in entries:
            raise BadLayout(f"it has two entries `{entry.name}`")
        if entry.offset != expected:
            raise BadLayout(f"the entry `{entry.name}` does not follow the one before it: they overlap, or have a gap")
        entries[entry.name], expected = entry, entry.end
    if expected != start:
        raise BadLayout(f"{_DAMAGED}: the directory does not follow the last entry")
    return entries


def _parse_directory(data: bytes, count: int) -> Iterator[StoredEntry]:
    position = 0
    for number in range(1, count + 1):
        if len(data) - position < _RECORD.size:
            raise BadLayout(f"{_DAMAGED}: its directory ends before entry {number}")
        fields = _RECORD.unpack_from(data, position)
        start = position + _RECORD.size
        position = start + fields[12]
        entry = StoredEntry(_decode_name(data[start:position], number), fields[18], fields[11], fields[9])
        if data[start - _RECORD.size : position] != entry.record:
            raise BadLayout(f"the entry `{entry.name}` {_describe_record(fields)}")
        yield entry
    if position != len(data):
        raise BadLayout(f"{_DAMAGED}: its directory has more than {count} entries")


def _decode_name(name: bytes, number: int) -> str:
    text = name.decode("latin-1")
    if not (text.isascii() and text.isprintable() and len(text) <= MAX_ENTRY_NAME):
        raise BadLayout(f"the name of entry {number} is not a plain one: {text[:100]!a}")
    return text


def _describe_record(fields: tuple[int, ...]) -> str:
    """Return what is wrong with the record of an entry, in words that follow its name."""
    flags, method, mode = fields[5], fields[6], fields[17]
    if flags & 1:
        return "is encrypted; entries are stored as they are"
    if method != _STORED or fields[10] != fields[11]:
        return "is compressed; entries are stored as they are"
    if mode >> 16 & 0o170000 not in (0, 0o100000):
        return "is a link or a special file"
    return "has a record that archives do not have: an extra field, a comment, a date or other flags"


def read_first(source: IO[bytes], limit: int) -> tuple[str, bytes]:
    """Return the name and the data of the first entry, without a look at the rest. Raise BadLayout if it is damaged."""
    head = source.read(_HEADER.size)
    if len(head) < _HEADER.size:
        raise BadLayout(_DAMAGED)
    fields = _HEADER.unpack(head)
    crc, size, name = fields[6], fields[8], _decode_name(source.read(min(fields[9], MAX_ENTRY_NAME)), 1)
    data = source.read(min(size, limit + 1))
    entry = StoredEntry(name, 0, size, crc)
    if head + name.encode() != entry.header or len(data) != size or zlib.crc32(data) != crc:
        raise BadLayout(f"{_DAMAGED}: its first entry was changed, is cut off, or has more than {limit:,} bytes")
    return name, data


def read_stored(source: IO[bytes], entry: StoredEntry) -> bytes:
    """Return the data of an entry. Raise BadLayout if its header or its data are not what the directory says."""
    source.seek(entry.offset)
    header = entry.header
    if source.read(len(header)) != header:
        raise BadLayout(f"the entry `{entry.name}` was changed: its header and the directory differ")
    data = source.read(entry.size)
    if len(data) != entry.size:
        raise BadLayout(f"{_DAMAGED}: the entry `{entry.name}` is cut off")
    if zlib.crc32(data) != entry.crc:
        raise BadLayout(f"the entry `{entry.name}` was changed: its CRC-32 is not that of the directory")
    return data
