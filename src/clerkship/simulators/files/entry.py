"""One thing in a drop, as somebody sees it who does not open it."""

from datetime import datetime
from typing import NamedTuple


class Entry(NamedTuple):
    """A file or a folder."""

    name: str
    """In its folder; or its whole path, where one thing is looked at."""
    folder: bool
    size: int
    modified: datetime
