"""Events of files and folders."""

from typing import ClassVar

from clerkship.events.event import Payload


class FolderListed(Payload):
    """A folder was listed."""

    kind: ClassVar[str] = "files.folder.listed"
    prefix: str
    count: int


class FolderMade(Payload):
    """A folder was created. Folders created along with a file have no event."""

    kind: ClassVar[str] = "files.folder.made"
    path: str


class FolderRemoved(Payload):
    """An empty folder was removed."""

    kind: ClassVar[str] = "files.folder.removed"
    path: str


class FolderRenamed(Payload):
    """A folder was moved with its content."""

    kind: ClassVar[str] = "files.folder.renamed"
    path: str
    to: str


class FileRead(Payload):
    """A file was read."""

    kind: ClassVar[str] = "files.file.read"
    path: str
    size: int


class FileWritten(Payload):
    """A file was created, or its content replaced."""

    kind: ClassVar[str] = "files.file.written"
    holds_body: ClassVar[bool] = True
    path: str
    size: int
    data: bytes
    complete: bool = True
    """False if the upload was interrupted, and the data is what had arrived."""
    modified: str | None = None
    """Modification time in ISO 8601 and UTC; None means the time of the event."""


class FileRenamed(Payload):
    """A file was moved, and may have replaced another."""

    kind: ClassVar[str] = "files.file.renamed"
    path: str
    to: str
    replaced: bool = False


class FileStamped(Payload):
    """The modification time of a file or folder was set."""

    kind: ClassVar[str] = "files.file.stamped"
    path: str
    modified: str
    """In ISO 8601 and UTC."""


class FileDeleted(Payload):
    """A file was deleted."""

    kind: ClassVar[str] = "files.file.deleted"
    path: str


EVENTS: tuple[type[Payload], ...] = (
    *(FolderListed, FileRead, FileWritten, FileRenamed, FileStamped, FileDeleted),
    *(FolderMade, FolderRenamed, FolderRemoved),
)
