"""Files that are being uploaded, in memory until they are closed."""

import asyncio
from dataclasses import dataclass, field
from io import BytesIO
from typing import Any


class UploadTooLarge(Exception):
    """A file would exceed its size limit, or that of the drop."""

    def __init__(self, size: int) -> None:
        super().__init__(size)
        self.size = size
        """Bytes that the file would have."""


@dataclass
class Uploads:
    """The open uploads to one sandbox. Together they may not be larger than its free space."""

    opened: list["Upload"] = field(default_factory=list)
    long_operation: "asyncio.Future[Any] | None" = None
    """A long operation of the sandbox in a thread; other calls of the same sandbox wait for it."""

    @property
    def buffered_bytes(self) -> int:
        """Bytes in memory."""
        return sum(upload.size for upload in self.opened)

    def find(self, path: str) -> "Upload | None":
        """Return the upload to a path; of several the one opened last."""
        return next((upload for upload in reversed(self.opened) if upload.path == path), None)

    def find_below(self, path: str) -> "Upload | None":
        """Return an upload to a path, or to a folder of this path."""
        return next((upload for upload in self.opened if f"{upload.path}/".startswith(f"{path}/")), None)

    def in_folder(self, folder: str) -> dict[str, "Upload"]:
        """Return the uploads directly in a folder, by name."""
        places = ((upload.path.rpartition("/"), upload) for upload in self.opened)
        return {name: upload for (above, _, name), upload in places if above == folder}


@dataclass(eq=False)
class Upload:
    """A file that is open for writing. It is one of the open uploads until it is released."""

    path: str
    max_size: int
    """Bytes that the file may have."""
    room: int
    """Bytes that all open uploads together may have."""
    uploads: Uploads
    opened_at: int = 0
    """When it was opened, in simulated time."""
    append: bool = False
    """Whether every write goes to the end."""
    readable: bool = False
    """Whether it is open for reading too."""
    modified: int | None = None
    """The modification time that it gets when it is closed, if the client set one."""
    changed: bool = False
    """Whether there is anything to store."""
    failed: bool = False
    """Whether a write was refused: then all others are, and the file is incomplete."""
    size: int = 0
    _data: BytesIO = field(default_factory=BytesIO)

    def __post_init__(self) -> None:
        """Enter it into the open uploads."""
        self.uploads.opened.append(self)

    @property
    def displayed_time(self) -> int:
        """The modification time while it is being uploaded."""
        return self.opened_at if self.modified is None else self.modified

    def load(self, data: bytes) -> None:
        """Begin with the content of an existing file. Raises UploadTooLarge."""
        self._check_size(len(data))
        self._data, self.size = BytesIO(data), len(data)

    def write(self, offset: int, data: bytes) -> None:
        """Write bytes, with zeros before them if they start after the end. Raises UploadTooLarge."""
        if self.append:
            offset = self.size
        self._check_size(offset + len(data))
        if data:
            self.changed = True
            self._write(offset, data)

    def _write(self, offset: int, data: bytes) -> None:
        self._data.seek(offset)
        self._data.write(data)
        self.size = max(self.size, offset + len(data))

    def read(self, offset: int, length: int) -> bytes:
        self._data.seek(min(offset, self.size))
        return self._data.read(length)

    def truncate(self, size: int) -> None:
        """Make it shorter, or longer with zeros. Raises UploadTooLarge."""
        self._check_size(size)
        self.changed = True
        if size > self.size:
            self._write(size - 1, b"\0")
        self._data.truncate(size)
        self.size = size

    def content(self) -> bytes:
        """Return all bytes, without a copy."""
        return self._data.getvalue()

    def release(self) -> None:
        """Give back the memory, and remove it from the open uploads."""
        self._data, self.size = BytesIO(), 0
        if self in self.uploads.opened:
            self.uploads.opened.remove(self)

    def _check_size(self, size: int) -> None:
        """Refuse a size beyond the limits; a file that is already larger may become smaller."""
        if size > self.size and (size > self.max_size or self.uploads.buffered_bytes + size - self.size > self.room):
            raise UploadTooLarge(size)
