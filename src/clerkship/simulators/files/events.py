"""What happens to files."""

from typing import ClassVar

from clerkship.events.event import Payload


class FolderListed(Payload):
    """Somebody looked at what is there."""

    kind: ClassVar[str] = "files.folder.listed"
    prefix: str
    count: int


class FileRead(Payload):
    """Somebody read a file."""

    kind: ClassVar[str] = "files.file.read"
    path: str
    size: int


class FileWritten(Payload):
    """A file is now this."""

    kind: ClassVar[str] = "files.file.written"
    path: str
    size: int
    data: bytes


class FileDeleted(Payload):
    """A file is gone."""

    kind: ClassVar[str] = "files.file.deleted"
    path: str
