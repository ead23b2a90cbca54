"""Events of files and folders."""

from typing import ClassVar

from clerkship.events.event import EffectType, Payload, collect_events


class FolderListed(Payload, kind="files.folder.listed"):
    """A folder was listed."""

    effect: ClassVar[EffectType] = "none"
    prefix: str
    count: int


class FolderMade(Payload, kind="files.folder.made"):
    """A folder was created. Folders created along with a file have no event."""

    path: str


class FolderRemoved(Payload, kind="files.folder.removed"):
    """An empty folder was removed."""

    path: str


class FolderRenamed(Payload, kind="files.folder.renamed"):
    """A folder was moved with its content."""

    path: str
    to: str


class FileRead(Payload, kind="files.file.read"):
    """A file was read."""

    effect: ClassVar[EffectType] = "none"
    path: str
    size: int


class FileWritten(Payload, kind="files.file.written"):
    """A file was created, or its content replaced."""

    effect: ClassVar[EffectType] = "state"
    holds_body: ClassVar[bool] = True
    path: str
    size: int
    data: bytes
    complete: bool = True
    """False if the upload was interrupted, and the data is what had arrived."""
    modified: str | None = None
    """Modification time in ISO 8601 and UTC; None means the time of the event."""


class FileRenamed(Payload, kind="files.file.renamed"):
    """A file was moved, and may have replaced another."""

    path: str
    to: str
    replaced: bool = False


class FileStamped(Payload, kind="files.file.stamped"):
    """The modification time of a file or folder was set."""

    path: str
    modified: str
    """In ISO 8601 and UTC."""


class FileDeleted(Payload, kind="files.file.deleted"):
    """A file was deleted."""

    path: str


EVENTS = collect_events(globals())
