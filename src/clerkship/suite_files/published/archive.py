"""Read and write archives: ZIP files without compression, whose bytes depend on nothing but their content.

Compressed data differs between versions of zlib, so entries are stored as they are. An entry is read when it is needed,
and compared with its hash in the manifest. Nothing is ever extracted to a path that an archive names.
"""

import contextlib
import gzip
import hashlib
import io
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import IO, cast

import orjson
from pydantic import ValidationError

from clerkship.kit.atomic_write import write_atomically
from clerkship.model.errors import InputError
from clerkship.model.published import PublishedVersion
from clerkship.suite_files.published.manifest import (
    FORMAT,
    MANIFEST_NAME,
    EntryInfo,
    Manifest,
    describe_invalid,
    is_plain_path,
)
from clerkship.suite_files.published.places import PACKED_SUFFIX, get_archive_name, split_name
from clerkship.suite_files.published.zip_layout import (
    MAX_ARCHIVE_BYTES,
    BadLayout,
    StoredEntry,
    build_zip,
    read_directory,
    read_first,
    read_stored,
)

SIGNATURE_NAME = "signature.json"
# Limits for files from elsewhere: JSON takes up to thirty times its bytes when it is parsed.
MAX_MANIFEST_BYTES = 20_000_000
MAX_JSON_BYTES = 50_000_000
MAX_PACKED_BYTES = 300_000_000
MAX_SIGNATURE_BYTES = 10_000
_DATASETS = "datasets/"
"""The start of the names of entries that may be as large as an archive."""


def build_archive(manifest: Manifest, entries: Mapping[str, bytes], signature: bytes = b"") -> bytes:
    """Return the bytes of an archive: the manifest, its entries in order of their names, and a signature if any.

    Raise InputError if it would be too large.
    """
    return _build(manifest.data, entries, signature)


def _build(manifest: bytes, entries: Mapping[str, bytes], signature: bytes) -> bytes:
    head = {MANIFEST_NAME: manifest} | ({SIGNATURE_NAME: signature} if signature else {})
    try:
        return build_zip([*head.items(), *sorted(entries.items())])
    except BadLayout as error:
        raise InputError.of(f"the archive is too large: {error}", hint="publish fewer tasks or records") from None


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
    _entries: Mapping[str, StoredEntry] = field(repr=False)
    _packed: bytes | None = field(default=None, repr=False)
    """The unpacked bytes of an archive that ships with the package."""

    def read(self, name: str) -> bytes:
        """Return an entry. Raise InputError if its content is not that of the manifest."""
        expected = self.manifest.entries.get(name)
        if expected is None:
            raise self._problem(f"its manifest names no entry `{name[:100]}`")
        data = self._read_stored(name)
        if hashlib.sha256(data).hexdigest() != expected.sha256:
            raise self._problem(f"the entry `{name}` was changed: its SHA-256 is not that of the manifest")
        return data

    @property
    def version(self) -> PublishedVersion:
        """What runs record of it."""
        return self.manifest.to_version(self.digest)

    def check(self) -> None:
        """Read every entry. Raise InputError for the first whose content is not that of the manifest."""
        for name in self.manifest.entries:
            self.read(name)

    def add_signature(self, signature: bytes) -> bytes:
        """Return the bytes of the archive with a signature. Raise InputError if an entry was changed."""
        entries = {name: self.read(name) for name in self.manifest.entries}
        return _build(self._read_stored(MANIFEST_NAME), entries, signature)

    def _read_stored(self, name: str) -> bytes:
        with _open(self.path, self._packed) as source:
            return read_stored(source, self._entries[name])

    def _problem(self, message: str) -> InputError:
        return _problem(self.path, message)


def open_archive(path: Path) -> Archive:
    """Open an archive, and read its manifest. Raise InputError if anything is not as it must be."""
    return _read(path, _unpack_once(path) if path.name.endswith(PACKED_SUFFIX) else None)


def read_manifest(path: Path) -> tuple[Manifest, str]:
    """Return the manifest of an archive with its digest, without a look at the rest of the file."""
    try:
        with gzip.open(path) if path.name.endswith(PACKED_SUFFIX) else path.open("rb") as file:
            name, data = read_first(cast(IO[bytes], file), MAX_MANIFEST_BYTES)
    except (OSError, EOFError, ValueError, zlib.error) as error:
        raise _problem(path, f"it cannot be read: {error}") from None
    if name != MANIFEST_NAME:
        raise _problem(path, f"its first entry is not `{MANIFEST_NAME}`")
    return _parse_manifest(path, data), hashlib.sha256(data).hexdigest()


def open_built(path: Path, data: bytes) -> Archive:
    """Open the bytes of an archive that is not written to its path yet."""
    return _read(path, data)


def _read(path: Path, packed: bytes | None) -> Archive:
    with _open(path, packed) as source:
        entries = read_directory(source)
        _check_entries(path, entries)
        data = read_stored(source, entries[MANIFEST_NAME])
        signature = read_stored(source, entries[SIGNATURE_NAME]) if SIGNATURE_NAME in entries else b""
    manifest = _parse_manifest(path, data)
    _compare(path, manifest, entries)
    return Archive(path, manifest, hashlib.sha256(data).hexdigest(), signature, entries, packed)


def _unpack_once(path: Path) -> bytes:
    """Return the bytes of a packed archive. The last one is kept: a run opens its archive for tasks and recordings."""
    try:
        facts = path.stat()
    except OSError as error:
        raise InputError.of(f"it cannot be read: {error.strerror}", file=str(path)) from None
    return _unpack(path, facts.st_mtime_ns, facts.st_size)


@lru_cache(maxsize=1)
def _unpack(path: Path, modified: int, size: int) -> bytes:
    try:
        with gzip.open(path) as file:
            data = file.read(MAX_PACKED_BYTES + 1)
    except (OSError, EOFError, ValueError, zlib.error) as error:
        raise _problem(path, f"it cannot be unpacked: {error}") from None
    if len(data) > MAX_PACKED_BYTES:
        raise _problem(path, f"it has more than {MAX_PACKED_BYTES // 1_000_000} MB when it is unpacked")
    return data


@contextlib.contextmanager
def _open(path: Path, packed: bytes | None) -> Iterator[IO[bytes]]:
    try:
        with path.open("rb") if packed is None else io.BytesIO(packed) as source:
            yield source
    except BadLayout as error:
        raise _problem(path, str(error)) from None
    except OSError as error:
        raise InputError.of(f"it cannot be read: {error.strerror or error}", file=str(path)) from None


def _check_entries(path: Path, entries: Mapping[str, StoredEntry]) -> None:
    """Raise InputError for an entry with a name or a size that no entry has."""
    if MANIFEST_NAME not in entries:
        raise _problem(path, f"it has no `{MANIFEST_NAME}`, so it is not a published version")
    limits = {MANIFEST_NAME: MAX_MANIFEST_BYTES, SIGNATURE_NAME: MAX_SIGNATURE_BYTES}
    for name, entry in entries.items():
        if not is_plain_path(name):
            raise _problem(path, f"the entry {name[:100]!r} has a path that leaves the archive, or is a folder")
        limit = limits.get(name, MAX_ARCHIVE_BYTES if name.startswith(_DATASETS) else MAX_JSON_BYTES)
        if entry.size > limit:
            raise _problem(path, f"the entry `{name}` has {entry.size:,} bytes; the limit is {limit:,}")


def _parse_manifest(path: Path, data: bytes) -> Manifest:
    try:
        found = orjson.loads(data)
        if isinstance(found, dict) and found.get("format") != FORMAT:
            message = f"it has format {str(found.get('format'))[:20]!a}; this program reads format {FORMAT}"
            raise InputError.of(message, file=str(path), hint="use the version of Clerkship that published it")
        manifest = Manifest.model_validate(found)
        _check_name(path, manifest)
    except (orjson.JSONDecodeError, RecursionError) as error:
        raise _problem(path, f"its manifest is not JSON: {error}") from None
    except ValidationError as error:
        raise _problem(path, f"its manifest is invalid: {describe_invalid(error)}") from None
    return manifest


def _check_name(path: Path, manifest: Manifest) -> None:
    """Raise InputError if the file has the name of another version: versions are found by the names of files."""
    name = split_name(path)
    if name not in (None, (manifest.slug, manifest.version, manifest.for_agents)):
        right = get_archive_name(manifest.slug, manifest.version, for_agents=manifest.for_agents)
        message = f"it contains {manifest.name}{', for agents' if manifest.for_agents else ''}"
        raise InputError.of(f"{message}, which its name does not say", file=str(path), hint=f"rename it to {right}")
    if (manifest.benchmark.slug, manifest.benchmark.version) != (manifest.slug, manifest.version):
        raise _problem(path, f"its manifest is invalid: {manifest.name} has a benchmark of another name")


def _compare(path: Path, manifest: Manifest, entries: Mapping[str, StoredEntry]) -> None:
    """Raise InputError if the archive does not have exactly the entries of its manifest."""
    names = entries.keys() - {MANIFEST_NAME, SIGNATURE_NAME}
    extra, lost = sorted(names - manifest.entries.keys()), sorted(manifest.entries.keys() - names)
    if extra or lost:
        message = f"it has an entry `{extra[0]}` that" if extra else f"it lacks the entry `{lost[0][:100]}`, which"
        raise _problem(path, f"{message} its manifest {'does not name' if extra else 'names'}")
    for name in names:
        if entries[name].size != manifest.entries[name].size:
            raise _problem(path, f"the entry `{name}` was changed: its size is not that of the manifest")


def _problem(path: Path, message: str) -> InputError:
    return InputError.of(message, file=str(path), hint="get the archive again from where it was published")
