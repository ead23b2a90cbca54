"""A type of dataset: its keys, how it is loaded, how its records are found. Simulators and plug-ins provide types."""

import contextlib
import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple, Protocol, TypeVar, runtime_checkable

import orjson

from clerkship.kit.atomic_write import write_atomically
from clerkship.model.dataset import Dataset, DatasetFile
from clerkship.model.errors import InputProblem
from clerkship.suite_files.document import FileDocument, FileFormats, open_document, open_document_folder
from clerkship.suite_files.entities import EntityFinder, RecordFinder
from clerkship.suite_files.source import SourceFolder, Unreadable
from clerkship.suite_files.yaml import SourceLocation

CACHE_FORMAT = "1"
"""Increment it whenever the same files would give another dataset and no part of the key changes."""
MAX_ENTRIES = 64
MAX_SEARCHES = 2_000
"""Searches of one dataset whose results are kept."""
_HEADER = b"clerkship dataset " + CACHE_FORMAT.encode()
T = TypeVar("T")


class CachedDataset(NamedTuple):
    """A dataset and the warnings about its files. Files are given by number, because they may have been moved."""

    dataset: Dataset
    warnings: tuple[tuple[int, InputProblem], ...]


def build_cache_key(parts: Sequence[bytes]) -> str:
    """Return the cache key for some parts. The length of each part is hashed too, so that boundaries matter."""
    digest = hashlib.sha256(_HEADER)
    for part in parts:
        digest.update(len(part).to_bytes(8, "big"))
        digest.update(part)
    return digest.hexdigest()


class SearchCache:
    """The keys of the records that searches of one dataset found. It is valid for one content and one code."""

    def __init__(self, file: Path | None) -> None:
        self._file = file
        self._results: dict[str, list[str]] = {}
        self._is_changed = False
        with contextlib.suppress(OSError, ValueError):
            digest, _, body = file.read_bytes().partition(b"\n") if file is not None else (b"", b"", b"")
            if digest == hashlib.sha256(body).hexdigest().encode():
                results = orjson.loads(body)
                self._results = results if isinstance(results, dict) else {}

    def get(self, search: str) -> list[str] | None:
        """Return the keys that a search found; None if it was not made yet."""
        keys = self._results.get(search)
        return keys if isinstance(keys, list) else None

    def add(self, search: str, keys: Sequence[str]) -> None:
        """Keep the result of a search; if there are too many, the others are dropped."""
        if len(self._results) >= MAX_SEARCHES:
            self._results.clear()
        self._results[search] = list(keys)
        self._is_changed = True

    def save(self) -> None:
        """Write the results, if there are new ones. Errors of the file system are ignored."""
        if self._file is not None and self._is_changed:
            body = orjson.dumps(self._results)
            with contextlib.suppress(OSError):
                write_atomically(self._file, (hashlib.sha256(body).hexdigest().encode(), b"\n", body))
                _prune(self._file.parent)


def _digest_body(body: bytes) -> str:
    """Return the digest by which a damaged entry is found: SHA-256 would take three times as long."""
    return hashlib.blake2b(body).hexdigest()


def _prune(folder: Path) -> None:
    """Remove the oldest entries. A process that is about to read one builds it again."""
    entries = [path for path in folder.iterdir() if not path.name.startswith(".")]
    if len(entries) > MAX_ENTRIES:
        for path in sorted(entries, key=lambda path: path.stat().st_mtime)[:-MAX_ENTRIES]:
            path.unlink(missing_ok=True)


@runtime_checkable
class CachedFinder(Protocol):
    """A finder whose searches take long enough to be kept."""

    searches: SearchCache

    def cache_key(self) -> str:
        """Return a key of the dataset's content and of the code that searches it."""


class DatasetCache:
    """A folder of cache entries. Without a folder nothing is cached."""

    def __init__(self, folder: Path | None) -> None:
        self._folder = folder / "datasets" if folder is not None else None

    def open_searches(self, key: str) -> SearchCache:
        """Return the kept searches of a dataset."""
        return SearchCache(self._folder.with_name("searches") / key if self._folder is not None else None)

    def load(self, key: str, name: str) -> CachedDataset | None:
        """Return an entry; None if it is missing or damaged."""
        if self._folder is None:
            return None
        try:
            with (self._folder / key).open("rb") as opened:
                header_line, head, body = (
                    opened.readline().rstrip(b"\n"),
                    opened.readline().rstrip(b"\n"),
                    opened.read(),
                )
            if header_line != _HEADER + b" " + hashlib.sha256(head).hexdigest().encode():
                return None
            header = orjson.loads(head)
            dataset = Dataset.parse(name, body)
            if _digest_body(body) != header["check"]:
                return None
            warnings = tuple((number, InputProblem(**problem)) for number, problem in header["warnings"])
        except (OSError, ValueError, KeyError, TypeError):
            return None
        dataset.__dict__["hash"] = header["hash"]  # a cached property
        return CachedDataset(dataset, warnings)

    def save(self, key: str, entry: CachedDataset) -> None:
        """Write an entry. Errors of the file system are ignored."""
        if self._folder is None:
            return
        data = entry.dataset.data
        head = orjson.dumps({"hash": entry.dataset.hash, "check": _digest_body(data), "warnings": entry.warnings})
        header_line = _HEADER + b" " + hashlib.sha256(head).hexdigest().encode()
        with contextlib.suppress(OSError):
            write_atomically(self._folder / key, (header_line, b"\n", head, b"\n", data))
            _prune(self._folder)


class ConflictingTimes(Exception):
    """Several environments with different times use one dataset."""


@dataclass(frozen=True)
class DatasetSource:
    """Where a dataset is defined, and what its type needs to load it."""

    folder: SourceFolder
    """The only folder from which files are read."""
    locate: Callable[..., SourceLocation]
    """Return the location of a key in the file that defines the dataset."""
    problem: Callable[[InputProblem], None]
    """Report a mistake. The dataset cannot be used."""
    warn: Callable[[InputProblem], None]
    """Report a warning."""
    now: Callable[[], datetime]
    """Return the time in the environments that use the dataset; raises Disagreement where it differs."""
    cache: DatasetCache = field(default_factory=lambda: DatasetCache(None))

    def read(self, key: str, target: str, reader: Callable[[Path], T]) -> T | None:
        """Read the file or folder that a key gives, relative to the file with the key.

        Return the result of `reader`, which gets the path. If it raises Unreadable, or the path is outside the
        folder, report that at the key and return None.
        """
        try:
            return reader(self.folder.resolve_beside(Path(self.locate(key).file), target))
        except Unreadable as unreadable:
            self.note(key, f"{target}: {unreadable.message}", unreadable.hint)
            return None

    def documents(self, file: str | None, folder: str | None, formats: FileFormats) -> list[FileDocument] | None:
        """Open the files that the keys `file` and `folder` give; return None after a reported mistake."""
        documents: list[FileDocument] = []
        if file is not None:
            document = self.read("file", file, lambda path: open_document(path, formats))
            if document is None:
                return None
            documents.append(document)
        tree = (
            self.read("folder", folder, lambda path: open_document_folder(path, formats, self.warn))
            if folder is not None
            else []
        )
        return [*documents, *tree] if tree is not None else None

    def note(self, key: str, message: str, hint: str = "") -> None:
        """Report a mistake at a key."""
        self.problem(self.locate(key).problem(message, hint))


@dataclass(frozen=True, kw_only=True)
class DatasetType:
    """A type of dataset, as in the key `type` of a file."""

    name: str
    summary: str
    """The content of such a dataset, in one line."""
    model: type[DatasetFile]
    """The model of its keys in a file. Its JSON Schema becomes part of the schema of datasets."""
    load: Callable[[Any, DatasetSource], Dataset | None]
    """Return the dataset for an instance of `model`; None after a reported mistake."""
    finder: Callable[[Dataset], EntityFinder] = RecordFinder
    """Return the finder for `entities` and `for_each`."""
    has_files: bool = False
    """Whether its datasets contain files that steps can use."""
    has_code: bool = False
    """Whether its datasets contain code that every run executes. A server, which runs no program, refuses to run it."""
    built_in: Mapping[str, DatasetFile] = field(default_factory=dict)
    """Datasets that need no file, by name."""
