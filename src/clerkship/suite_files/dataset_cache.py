"""A cache of loaded datasets on disk, by the hash of their files, so that each is read and checked only once.

An entry has two header lines, followed by the dataset's byte form. Entries are written to a temporary file and
renamed, so processes can write at the same time. A damaged entry, or one of another version, is ignored. If the
folder is not writable, nothing is cached.
"""

import contextlib
import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import orjson

from clerkship.kit.atomic_write import write_atomically
from clerkship.model.dataset import Dataset
from clerkship.model.errors import InputProblem

CACHE_FORMAT = "1"
"""Increment it whenever the same files would give another dataset and no part of the key changes."""
MAX_ENTRIES = 64
_HEADER = b"clerkship dataset " + CACHE_FORMAT.encode()


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


class DatasetCache:
    """A folder of cache entries. Without a folder nothing is cached."""

    def __init__(self, folder: Path | None) -> None:
        self._folder = folder / "datasets" if folder is not None else None

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
            if hashlib.sha256(body).hexdigest() != header["hash"]:
                return None
            warnings = tuple((number, InputProblem(**problem)) for number, problem in header["warnings"])
        except (OSError, ValueError, KeyError, TypeError):
            return None
        dataset.__dict__["hash"] = header["hash"]  # a cached property; it was just computed
        return CachedDataset(dataset, warnings)

    def save(self, key: str, entry: CachedDataset) -> None:
        """Write an entry. Errors of the file system are ignored."""
        if self._folder is None:
            return
        warnings = [(number, problem.model_dump()) for number, problem in entry.warnings]
        head = orjson.dumps({"hash": entry.dataset.hash, "warnings": warnings})
        header_line = _HEADER + b" " + hashlib.sha256(head).hexdigest().encode()
        with contextlib.suppress(OSError):
            write_atomically(self._folder / key, (header_line, b"\n", head, b"\n", entry.dataset.data))
            self._prune()

    def _prune(self) -> None:
        """Remove the oldest entries. A process that is about to read one loads the dataset again."""
        assert self._folder is not None
        entries = [path for path in self._folder.iterdir() if not path.name.startswith(".")]
        if len(entries) > MAX_ENTRIES:
            for path in sorted(entries, key=lambda path: path.stat().st_mtime)[:-MAX_ENTRIES]:
                path.unlink(missing_ok=True)
