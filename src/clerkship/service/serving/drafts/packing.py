"""Pack the files of a folder into one archive, and take an archive apart in bounded memory.

Nothing is ever written to a path that an archive names: the files are returned by their checked names.
"""

import gzip
import io
import os
import tarfile
import zipfile
import zlib
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import IO

from clerkship.model.errors import InputError
from clerkship.suite_files.published.manifest import is_plain_path

# Limits for archives from elsewhere, of which a few bytes may stand for many.
MAX_FILES = 5_000
MAX_FILE_BYTES = 32_000_000
MAX_TOTAL_BYTES = 128_000_000
MAX_PATH_LENGTH = 300
MAX_PATH_DEPTH = 20
_MAX_DIRECTORY_BYTES = MAX_FILES * 500
"""Of the list of entries at the end of a ZIP file, which is read as a whole."""
MEDIA_TYPE = "application/gzip"
IGNORED = frozenset(
    {".git", ".hg", ".svn", ".venv", "__pycache__", "node_modules", ".clerkship", ".cache", ".DS_Store"}
)
"""Names of files and folders beside a suite that are no part of it."""
_BAD_ARCHIVE = (
    *(tarfile.TarError, zipfile.BadZipFile, zlib.error, OSError, EOFError),
    *(ValueError, NotImplementedError, RecursionError),
)
"""What the libraries raise for an archive that is cut off or wrong."""
_GZIP, _ZIP = b"\x1f\x8b", b"PK"
_END_OF_ZIP, _END_OF_ZIP64 = b"PK\x05\x06", b"PK\x06\x07"


def read_suite_folder(folder: Path) -> dict[str, bytes]:
    """Return the files of a folder by their paths in it, without those that are no part of a suite.

    Raise InputError for links, and if there is more than a server takes.
    """
    collected = _Collected()
    for place, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if name not in IGNORED and not name.endswith(".egg-info"))
        for name in sorted(name for name in names if name not in IGNORED):
            path = Path(place, name)
            if not path.resolve().is_relative_to(folder.resolve()):
                raise InputError.of("it is a link to a file outside the folder", file=str(path), hint="copy the file")
            with path.open("rb") as file:
                collected.add(path.relative_to(folder).as_posix(), file)
    return collected.files


def pack(files: Mapping[str, bytes]) -> bytes:
    """Return a gzipped tar archive, whose bytes depend on nothing but the files."""
    packed = io.BytesIO()
    with (
        gzip.GzipFile(fileobj=packed, mode="wb", mtime=0, compresslevel=6) as zipped,
        tarfile.open(fileobj=zipped, mode="w|", format=tarfile.PAX_FORMAT) as archive,
    ):
        for path, data in sorted(files.items()):
            entry = tarfile.TarInfo(path)
            entry.size, entry.mode = len(data), 0o644
            archive.addfile(entry, io.BytesIO(data))
    return packed.getvalue()


def unpack(packed: bytes) -> dict[str, bytes]:
    """Return the files of an archive: tar, gzipped tar or ZIP. Raise InputError if it is none, or not safe."""
    collected = _Collected()
    try:
        if packed.startswith(_ZIP):
            _unpack_zip(packed, collected)
        else:
            stream = io.BytesIO(packed)
            _unpack_tar(_Limited(gzip.GzipFile(fileobj=stream) if packed.startswith(_GZIP) else stream), collected)
    except _BAD_ARCHIVE as error:
        hint = "send a folder as `tar -C FOLDER -cz .` packs it, or a ZIP file"
        raise InputError.of(f"it is not a complete archive: {str(error)[:200]}", hint=hint) from None
    except RuntimeError:  # how zipfile refuses an encrypted entry
        raise InputError.of("the archive is encrypted") from None
    if not collected.files:
        raise InputError.of("the archive has no files")
    return collected.files


def require_plain_paths(paths: Collection[str]) -> None:
    """Raise InputError for a path that leaves its folder, is too long, or is a folder of another one."""
    folders = {"/".join(parts[:end]) for path in paths for parts in [path.split("/")] for end in range(1, len(parts))}
    for path in paths:
        shown = ascii(path[:100])
        if not is_plain_path(path):
            raise InputError.of(f"the path {shown} is absolute, leaves its folder, or has signs that cannot be printed")
        if len(path.encode()) > MAX_PATH_LENGTH or path.count("/") >= MAX_PATH_DEPTH:
            limit = f"{MAX_PATH_LENGTH} bytes and {MAX_PATH_DEPTH} folders"
            raise InputError.of(f"the path {shown} is too long; the limits are {limit}")
        if any(part.casefold() == ".git" for part in path.split("/")):
            raise InputError.of(f"the path {shown} is of a repository", hint="send the files of the suite only")
        if path in folders:
            raise InputError.of(f"{shown} is both a file and a folder")


class _Collected:
    """The files of an archive so far, within the limits."""

    def __init__(self) -> None:
        self.files: dict[str, bytes] = {}
        self._size = self._entries = 0

    def count(self) -> None:
        """Count an entry, whatever it is. Raise InputError if there are too many."""
        self._entries += 1
        if self._entries > MAX_FILES:
            raise InputError.of(f"the archive has more than {MAX_FILES:,} entries")

    def add(self, path: str, source: IO[bytes]) -> None:
        """Read a file. Raise InputError if it has a path that no file may have, or if it is too large."""
        path = path.removeprefix("./")
        require_plain_paths([path])
        if path in self.files:
            raise InputError.of(f"the archive has two files `{path[:100]}`")
        data = source.read(MAX_FILE_BYTES + 1)
        self._size += max(len(data), _measure_unpacked(path, data))
        if len(data) > MAX_FILE_BYTES:
            raise InputError.of(f"`{path[:100]}` has more than {MAX_FILE_BYTES // 1_000_000} MB", hint="split it")
        if self._size > MAX_TOTAL_BYTES:
            raise InputError.of(f"the files have more than {MAX_TOTAL_BYTES // 1_000_000} MB together")
        self.files[path] = data


class _Limited(io.RawIOBase):
    """A stream from which no more can be read than all files and their headers may have."""

    def __init__(self, source: IO[bytes] | gzip.GzipFile) -> None:
        self._source, self._left = source, MAX_TOTAL_BYTES + MAX_FILES * 4096

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: "bytearray | memoryview") -> int:  # type: ignore[override]
        data = self._source.read(min(len(buffer), 1 << 20))
        self._left -= len(data)
        if self._left < 0:
            raise InputError.of(f"the archive has more than {MAX_TOTAL_BYTES // 1_000_000} MB when it is unpacked")
        buffer[: len(data)] = data
        return len(data)


def _unpack_tar(stream: _Limited, collected: _Collected) -> None:
    with tarfile.open(fileobj=stream, mode="r|") as archive:
        for entry in archive:
            collected.count()
            if entry.isdir():
                continue
            if entry.type not in (tarfile.REGTYPE, tarfile.AREGTYPE) or entry.issparse():
                raise InputError.of(f"{entry.name[:100]!a} is a link or a device; an archive may have files only")
            source = archive.extractfile(entry)
            assert source is not None  # it is a file
            collected.add(entry.name, source)


def _unpack_zip(packed: bytes, collected: _Collected) -> None:
    end = packed.rfind(_END_OF_ZIP)
    size = int.from_bytes(packed[end + 12 : end + 16], "little") if end >= 0 else 0
    if size > _MAX_DIRECTORY_BYTES or _END_OF_ZIP64 in packed[max(end - 20, 0) : max(end, 0)]:
        raise InputError.of(f"the archive has more than {MAX_FILES:,} entries")
    with zipfile.ZipFile(io.BytesIO(packed)) as archive:
        for entry in _list_zip_files(archive, collected):
            with archive.open(entry) as source:
                collected.add(entry.filename, source)


def _list_zip_files(archive: zipfile.ZipFile, collected: _Collected) -> Iterator[zipfile.ZipInfo]:
    for entry in archive.infolist():
        collected.count()
        kind = (entry.external_attr >> 16) & 0o170000
        if entry.is_dir():
            continue
        if kind not in (0, 0o100000):
            raise InputError.of(f"{entry.filename[:100]!a} is a link or a device; an archive may have files only")
        yield entry


def _measure_unpacked(path: str, data: bytes) -> int:
    """Return how many bytes a compressed file of a dataset stands for, up to a little over the limit."""
    if not path.endswith(".gz"):
        return 0
    size = 0
    try:
        with gzip.GzipFile(fileobj=io.BytesIO(data)) as source:
            while size <= MAX_FILE_BYTES and (chunk := source.read(1 << 20)):
                size += len(chunk)
    except (OSError, EOFError, zlib.error):  # it is reported when the dataset is read
        return size
    if size > MAX_FILE_BYTES:
        raise InputError.of(f"`{path[:100]}` has more than {MAX_FILE_BYTES // 1_000_000} MB when it is unpacked")
    return size


def require_limits(sizes: Mapping[str, int]) -> None:
    """Raise InputError if files with these sizes are more than a server keeps of one suite."""
    require_plain_paths(sizes)
    if len(sizes) > MAX_FILES:
        raise InputError.of(f"there are more than {MAX_FILES:,} files")
    if sum(sizes.values()) > MAX_TOTAL_BYTES:
        raise InputError.of(f"the files have more than {MAX_TOTAL_BYTES // 1_000_000} MB together")
