"""Datasets of files: written inline, or read from a folder."""

from typing import Annotated, Literal

from pydantic import Field

from clerkship.model.dataset import Dataset, DatasetFile
from clerkship.suite_files.dataset_type import DatasetSource, DatasetType
from clerkship.suite_files.entities import NoRecordFinder
from clerkship.suite_files.source import read_folder


class FilesDatasetFile(DatasetFile):
    """A dataset of files that exist when a run starts."""

    type: Literal["files"]
    files: Annotated[dict[str, str], Field(description="path -> text")] = {}
    folder: Annotated[str | None, Field(description="a folder beside this file, taken whole")] = None


def load_files(written: FilesDatasetFile, source: DatasetSource) -> Dataset:
    """Load the folder and the inline files; an inline file replaces the one at its path."""
    stored = source.read("folder", written.folder, read_folder) if written.folder is not None else None
    files = (stored or {}) | {path: text.encode() for path, text in written.files.items()}
    return Dataset(name=written.name, type=written.type, files=files)


FILES_DATASET = DatasetType(
    name="files",
    summary="files by path",
    model=FilesDatasetFile,
    load=load_files,
    finder=NoRecordFinder,
    has_files=True,
)
