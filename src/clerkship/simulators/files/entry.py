"""Descriptions of files and folders without their content."""

from datetime import datetime
from typing import NamedTuple


class FileEntry(NamedTuple):
    """A file or a folder."""

    name: str
    """Its name in a listing; its path if it is described alone."""
    folder: bool
    size: int
    modified: datetime


class FileSpace(NamedTuple):
    """The size of a file, the space for it, and the current time."""

    size: int | None
    """Current size in bytes; None if the file does not exist."""
    most: int
    """Size limit in bytes."""
    room: int
    """Free bytes, including those of the file itself."""
    now: datetime
