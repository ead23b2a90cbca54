"""A folder that is being read, a page at a time: so that a long one keeps nobody waiting."""

from collections.abc import Awaitable, Callable
from datetime import datetime
from typing import Any

from clerkship.simulators.files.sftp.upload import Upload
from clerkship.simulators.files.sftp.wire import Entry

Look = Callable[[Callable[[Any], list[Entry]]], Awaitable[list[Entry]]]
"""How the sandbox's state is read."""


class Listing:
    """What comes or goes while it is read may be seen or not, as on a disk; nothing is seen twice."""

    def __init__(self, look: Look, path: str, modified: int, now: int, coming: dict[str, Upload]) -> None:
        self.path, self.modified, self.now = path, modified, now
        """Where it is, when it was changed last, and when it was opened."""
        self.begun = False
        self._look = look
        self._coming = coming
        """Files on their way into it, by name: shown with what has come."""
        self._after = ""
        self._ended = False

    async def page(self, count: int) -> list[Entry]:
        """The next so many; none at the end."""
        self.begun = True
        if self._ended:
            return []

        def read(state: Any) -> list[Entry]:
            return [self._entry(*entry) for entry in state.page(self.path, self._after, count)]

        found = await self._look(read)
        self._ended = len(found) < count
        if found:
            self._after = found[-1].name + "/" * found[-1].folder
        return found + [upload.entry for upload in self._coming.values()] if self._ended else found

    def _entry(self, name: str, folder: bool, size: int, modified: datetime) -> Entry:
        upload = self._coming.pop(name, None) if self._coming else None
        if upload is not None and upload.among.by_path.get(upload.path) is upload:  # and not closed meanwhile
            return upload.entry
        return Entry(name, folder, size, int(modified.timestamp()))
