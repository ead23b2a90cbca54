"""What happens to files, and to the folders they are in."""

from typing import ClassVar

from clerkship.events.event import Payload


class FolderListed(Payload):
    """Somebody looked at what is there."""

    kind: ClassVar[str] = "files.folder.listed"
    prefix: str
    count: int


class FolderMade(Payload):
    """There is a folder now. Those that a file needs come with the file."""

    kind: ClassVar[str] = "files.folder.made"
    path: str


class FolderRemoved(Payload):
    """A folder is gone; it was empty."""

    kind: ClassVar[str] = "files.folder.removed"
    path: str


class FolderRenamed(Payload):
    """A folder is elsewhere now, with everything in it."""

    kind: ClassVar[str] = "files.folder.renamed"
    path: str
    to: str


class FileRead(Payload):
    """Somebody read a file."""

    kind: ClassVar[str] = "files.file.read"
    path: str
    size: int


class FileWritten(Payload):
    """A file is now this."""

    kind: ClassVar[str] = "files.file.written"
    holds_body: ClassVar[bool] = True
    path: str
    size: int
    data: bytes
    complete: bool = True
    """False if an upload broke off, and this is as far as it came."""
    modified: str | None = None
    """What it says it is from, in ISO 8601 and UTC; when it was written, if nothing."""


class FileRenamed(Payload):
    """A file is elsewhere now, in place of what may have been there."""

    kind: ClassVar[str] = "files.file.renamed"
    path: str
    to: str
    replaced: bool = False


class FileStamped(Payload):
    """A file, or a folder, now says that it was modified then."""

    kind: ClassVar[str] = "files.file.stamped"
    path: str
    modified: str
    """In ISO 8601 and UTC."""


class FileDeleted(Payload):
    """A file is gone."""

    kind: ClassVar[str] = "files.file.deleted"
    path: str


EVENTS: tuple[type[Payload], ...] = (
    *(FolderListed, FileRead, FileWritten, FileRenamed, FileStamped, FileDeleted),
    *(FolderMade, FolderRenamed, FolderRemoved),
)
