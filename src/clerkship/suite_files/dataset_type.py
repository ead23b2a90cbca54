"""A type of dataset: its keys, how it is loaded, how its records are found. Simulators and plug-ins provide types."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any, TypeVar

from clerkship.model.dataset import Dataset, DatasetFile
from clerkship.model.errors import InputProblem
from clerkship.suite_files.dataset_cache import DatasetCache
from clerkship.suite_files.documents.document import FileDocument, FileFormats, open_document, open_document_folder
from clerkship.suite_files.entity_finder import EntityFinder, RecordFinder
from clerkship.suite_files.source import SourceFolder, Unreadable
from clerkship.suite_files.yaml import SourceLocation

T = TypeVar("T")


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
    built_in: Mapping[str, DatasetFile] = field(default_factory=dict)
    """Datasets that need no file, by name."""
