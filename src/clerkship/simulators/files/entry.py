"""What an operation says of a file or folder without its content."""

from datetime import datetime
from typing import NamedTuple


class Entry(NamedTuple):
    """A file or a folder."""

    name: str
    """Its name in its folder; its path, where it is described alone."""
    folder: bool
    size: int
    modified: datetime


class FileSpace(NamedTuple):
    """How large a file may be, and the time."""

    size: int | None
    """Bytes that the file has; None if there is none."""
    most: int
    """Bytes that it may have."""
    room: int
    """Bytes that are free, with those of the file itself."""
    now: datetime
