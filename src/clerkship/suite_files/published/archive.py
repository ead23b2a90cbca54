"""Read and write archives: ZIP files without compression, whose bytes depend on nothing but their content.

Compressed data differs between versions of zlib, so entries are stored as they are. An entry is read when it is needed,
and compared with its hash in the manifest. Nothing is ever extracted to a path that an archive names.
"""

import contextlib
import gzip
import hashlib
import io
import zipfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

import orjson
from pydantic import ValidationError

from clerkship.kit.atomic_write import write_atomically
from clerkship.model.errors import InputError
from clerkship.model.published import PublishedVersion
from clerkship.suite_files.published.manifest import FORMAT, MANIFEST_NAME, EntryInfo, Manifest
from clerkship.suite_files.published.places import PACKED_SUFFIX

SIGNATURE_NAME = "signature.json"
MAX_ENTRIES = 20_000
MAX_MANIFEST_BYTES = 50_000_000
MAX_ENTRY_BYTES = 2_000_000_000
MAX_PACKED_BYTES = 300_000_000
MAX_SIGNATURE_BYTES = 10_000
_DIRECTORY_RECORD = 46
"""Bytes of an entry in the directory of a ZIP file, without its name."""
_TIME = (1980, 1, 1, 0, 0, 0)
_FILE_MODE = 0o100644 << 16


def build_archive(manifest: Manifest, entries: Mapping[str, bytes], signature: bytes = b"") -> bytes:
    """Return the bytes of an archive: the manifest, its entries in order of their names, and a signature if any."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_STORED) as file:
        _add(file, MANIFEST_NAME, manifest.data)
        if signature:
            _add(file, SIGNATURE_NAME, signature)
        for name in sorted(entries):
            _add(file, name, entries[name])
    return buffer.getvalue()


def _add(file: zipfile.ZipFile, name: str, data: bytes) -> None:
    info = zipfile.ZipInfo(name, _TIME)
    info.create_system, info.external_attr = 3, _FILE_MODE  # the same on every system
    file.writestr(info, data)


def write_archive(path: Path, data: bytes) -> None:
    """Write the bytes of an archive to a file. Raise InputError if it cannot be written."""
    try:
        write_atomically(path, [data])
    except OSError as error:
        raise InputError.of(f"it cannot be written: {error.strerror}", file=str(path)) from None


def describe_entries(entries: Mapping[str, bytes]) -> dict[str, EntryInfo]:
    """Return the size and the hash of every entry."""
    return {
        name: EntryInfo(size=len(data), sha256=hashlib.sha256(data).hexdigest())
        for name, data in sorted(entries.items())
    }


@dataclass(frozen=True, eq=False)
class Archive:
    """An archive whose manifest was read and compared with the list of its entries."""

    path: Path
    manifest: Manifest
    digest: str
    """The SHA-256 of the manifest, by which the version is known."""
    signature: bytes
    _infos: Mapping[str, zipfile.ZipInfo] = field(repr=False)
    _packed: bytes | None = field(default=None, repr=False)
    """The unpacked bytes of an archive that ships with the package."""

    def read(self, name: str) -> bytes:
        """Return an entry. Raise InputError if its content is not that of the manifest."""
        expected = self.manifest.entries.get(name)
        if expected is None:
            raise self._problem(f"its manifest names no entry `{name[:100]}`")
        with _open(self.path, self._packed) as file:
            data = _read_entry(self.path, file, self._infos[name])
        if hashlib.sha256(data).hexdigest() != expected.sha256:
            raise self._problem(f"the entry `{name}` was changed: its SHA-256 is not that of the manifest")
        return data

    @property
    def version(self) -> PublishedVersion:
        """What runs record of it."""
        names = ("slug", "version", "grading", "for_agents")
        return PublishedVersion(digest=self.digest, **{name: getattr(self.manifest, name) for name in names})

    def check(self) -> None:
        """Read every entry. Raise InputError for the first whose content is not that of the manifest."""
        for name in self.manifest.entries:
            self.read(name)

    def _problem(self, message: str) -> InputError:
        return InputError.of(message, file=str(self.path), hint="get the archive again from where it was published")


def open_archive(path: Path) -> Archive:
    """Open an archive, and read its manifest. Raise InputError if anything is not as it must be."""
    return _read(path, _unpack(path) if path.name.endswith(PACKED_SUFFIX) else None)


def open_built(path: Path, data: bytes) -> Archive:
    """Open the bytes of an archive that is not written to its path yet."""
    return _read(path, data)


def _read(path: Path, packed: bytes | None) -> Archive:
    with _open(path, packed) as file:
        infos = _check_directory(path, file)
        data = _read_entry(path, file, infos.pop(MANIFEST_NAME))
        signature = _read_entry(path, file, infos.pop(SIGNATURE_NAME)) if SIGNATURE_NAME in infos else b""
    manifest = _parse_manifest(path, data)
    _compare(path, manifest, infos)
    return Archive(path, manifest, hashlib.sha256(data).hexdigest(), signature, infos, packed)


def _unpack(path: Path) -> bytes:
    try:
        with gzip.open(path) as file:
            data = file.read(MAX_PACKED_BYTES + 1)
    except (OSError, EOFError, ValueError) as error:
        raise _problem(path, f"it cannot be unpacked: {error}") from None
    if len(data) > MAX_PACKED_BYTES:
        raise _problem(path, f"it has more than {MAX_PACKED_BYTES // 1_000_000} MB when it is unpacked")
    return data


@contextlib.contextmanager
def _open(path: Path, packed: bytes | None) -> Iterator[zipfile.ZipFile]:
    try:
        with contextlib.ExitStack() as stack:
            source: IO[bytes] = stack.enter_context(path.open("rb")) if packed is None else io.BytesIO(packed)
            _check_directory_size(path, source)
            yield stack.enter_context(zipfile.ZipFile(source))
    except (zipfile.BadZipFile, EOFError, NotImplementedError, ValueError) as error:
        raise _problem(path, f"it is not a whole archive: {error}") from None
    except OSError as error:
        raise _problem(path, f"it cannot be read: {error.strerror or error}") from None


def _check_directory_size(path: Path, source: IO[bytes]) -> None:
    """Raise InputError if the directory has too many entries, before it is read into memory."""
    end = source.seek(0, io.SEEK_END)
    source.seek(max(end - 22, 0))
    record = source.read(22)
    if record[:4] != b"PK\x05\x06":
        raise _problem(path, "it is not a whole archive: the directory at its end is missing, or something follows it")
    count, size = int.from_bytes(record[10:12], "little"), int.from_bytes(record[12:16], "little")
    if count > MAX_ENTRIES or size > MAX_ENTRIES * 10 * _DIRECTORY_RECORD:
        raise _problem(path, f"it has {count:,} entries; the limit is {MAX_ENTRIES:,}")


def _check_directory(path: Path, file: zipfile.ZipFile) -> dict[str, zipfile.ZipInfo]:
    infos: dict[str, zipfile.ZipInfo] = {}
    for info in file.infolist():
        name = info.filename
        if name in infos:
            raise _problem(path, f"it has two entries `{name[:100]}`")
        if not _is_plain_name(name):
            raise _problem(path, f"the entry {name[:100]!r} has a path that leaves the archive, or is a folder")
        if info.external_attr >> 16 not in (0, _FILE_MODE >> 16):
            raise _problem(path, f"the entry `{name[:100]}` is a link or a special file")
        if info.compress_type != zipfile.ZIP_STORED or info.flag_bits & 1:
            raise _problem(path, f"the entry `{name[:100]}` is compressed or encrypted; entries are stored as they are")
        infos[name] = info
    if MANIFEST_NAME not in infos:
        raise _problem(path, f"it has no `{MANIFEST_NAME}`, so it is not a published version")
    limits = {MANIFEST_NAME: MAX_MANIFEST_BYTES, SIGNATURE_NAME: MAX_SIGNATURE_BYTES}
    for name, info in infos.items():
        limit = limits.get(name, MAX_ENTRY_BYTES)
        if info.file_size > limit or info.compress_size != info.file_size:
            raise _problem(path, f"the entry `{name[:100]}` has {info.file_size:,} bytes; the limit is {limit:,}")
    return infos


def _is_plain_name(name: str) -> bool:
    parts = name.split("/")
    return name.isprintable() and not {"", ".", ".."} & set(parts) and "\\" not in name and ":" not in parts[0]


def _read_entry(path: Path, file: zipfile.ZipFile, info: zipfile.ZipInfo) -> bytes:
    with file.open(info) as entry:
        data = entry.read(info.file_size + 1)
    if len(data) != info.file_size:
        raise _problem(path, f"it is not a whole archive: the entry `{info.filename}` is cut off")
    return data


def _parse_manifest(path: Path, data: bytes) -> Manifest:
    try:
        found = orjson.loads(data)
        if isinstance(found, dict) and found.get("format") != FORMAT:
            message = f"it has format {str(found.get('format'))[:20]}; this program reads format {FORMAT}"
            raise InputError.of(message, file=str(path), hint="use the version of Clerkship that published it")
        manifest = Manifest.model_validate(found)
    except (orjson.JSONDecodeError, RecursionError) as error:
        raise _problem(path, f"its manifest is not JSON: {error}") from None
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(map(str, first["loc"]))
        raise _problem(path, f"its manifest is invalid: {place}: {first['msg']}") from None
    return manifest


def _compare(path: Path, manifest: Manifest, infos: Mapping[str, zipfile.ZipInfo]) -> None:
    """Raise InputError if the archive does not have exactly the entries of its manifest."""
    extra, lost = sorted(infos.keys() - manifest.entries.keys()), sorted(manifest.entries.keys() - infos.keys())
    if extra or lost:
        message = f"it has an entry `{extra[0]}` that" if extra else f"it lacks the entry `{lost[0]}`, which"
        raise _problem(path, f"{message} its manifest {'does not name' if extra else 'names'}")
    for name, info in infos.items():
        if info.file_size != manifest.entries[name].size:
            raise _problem(path, f"the entry `{name}` was changed: its size is not that of the manifest")


def _problem(path: Path, message: str) -> InputError:
    return InputError.of(message, file=str(path), hint="get the archive again from where it was published")
