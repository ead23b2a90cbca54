"""A file on its way in: what of it has come, where, and how much it may be."""

import asyncio
from bisect import bisect_right
from dataclasses import dataclass, field
from io import BytesIO
from typing import Any

MOST_PIECES = 1000
"""Pieces, in no order, that one file may come in."""


class TooLarge(Exception):
    """More than the file, or the drop, may have."""

    def __init__(self, size: int) -> None:
        super().__init__(size)
        self.size = size
        """Bytes that the file would have."""


class TooScattered(Exception):
    """More pieces than a file may come in."""


class Piece:
    """Bytes that follow each other. What they are kept in gives them away at the end without a copy."""

    __slots__ = ("_data", "length")

    def __init__(self, data: memoryview) -> None:
        self._data, self.length = BytesIO(), 0
        self.write(0, data)

    def write(self, offset: int, data: bytes | memoryview) -> None:
        """Over what is there, or at its end."""
        self._data.seek(offset)
        self._data.write(data)
        self.length = max(self.length, offset + len(data))

    def view(self, start: int, end: int) -> memoryview:
        """Some of it; to be released before anything is written."""
        return self._data.getbuffer()[start:end]

    def truncate(self, length: int) -> None:
        """Make it shorter."""
        self._data.truncate(length)
        self.length = length

    def whole(self) -> bytes:
        """All of it."""
        return self._data.getvalue()


@dataclass
class Uploads:
    """The open uploads to one sandbox. Together they may not be larger than its free space."""

    opened: list["Upload"] = field(default_factory=list)
    held: int = 0
    """Bytes in memory."""
    busy: "asyncio.Future[Any] | None" = None
    """A long operation of the sandbox in a thread; other calls of the same sandbox wait for it."""

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
    """Bytes by place. What lies under them, in a file that was there before, stays where it is."""

    path: str
    most: int
    """Bytes the file may have."""
    room: int
    """Bytes that all on their way may have."""
    among: Uploads
    base: int | None = None
    """Bytes of that file, if it is kept; none if it begins anew."""
    append: bool = False
    began: int = 0
    """When it was opened, in simulated time."""
    modified: int | None = None
    """When it is to have been changed last, if somebody has said so."""
    kept: int = 0
    """Bytes of the base that have not been cut off."""
    touched: bool = False
    """Whether anything about it is new."""
    failed: bool = False
    """Whether some of it was refused; then nothing more is taken, and what came is kept as a part."""
    starts: list[int] = field(default_factory=list)
    pieces: list["Piece"] = field(default_factory=list)

    def __post_init__(self) -> None:
        """It is seen from here on."""
        self.kept = self.base or 0
        self.touched = self.base is None
        self.among.opened.append(self)

    @property
    def size(self) -> int:
        """Bytes the file has so far."""
        end = self.starts[-1] + self.pieces[-1].length if self.pieces else 0
        return max(end, self.kept)

    @property
    def held(self) -> int:
        """Bytes of it in memory."""
        return sum(piece.length for piece in self.pieces)

    @property
    def shown_time(self) -> int:
        """The modification time while it is being uploaded."""
        return self.began if self.modified is None else self.modified

    def _fits(self, size: int) -> bool:
        return size <= self.most and self.among.held + max(0, size - self.size) <= self.room

    def write(self, offset: int, data: bytes) -> None:
        """Some more; if it is too much, nothing of that."""
        if self.append:
            offset = self.size
        if not self._fits(offset + len(data)):
            raise TooLarge(offset + len(data))
        if not data:
            return
        self.touched = True
        if self.pieces and offset == self.starts[-1] + self.pieces[-1].length:  # as nearly all come
            self.pieces[-1].write(self.pieces[-1].length, data)
            self.among.held += len(data)
        else:
            self._lay(offset, memoryview(data))

    def read(self, offset: int, length: int) -> bytes:
        """What has come, with zeros where nothing has."""
        end = min(offset + length, self.size)
        found = bytearray(max(0, end - offset))
        for start, piece in zip(self.starts, self.pieces, strict=True):
            first, last = max(start, offset), min(start + piece.length, end)
            if first < last:
                with piece.view(first - start, last - start) as view:
                    found[first - offset : last - offset] = view
        return bytes(found)

    def lay_under(self, data: bytes) -> None:
        """The file that was there, to be read while it is changed."""
        self.base, self.kept, touched = None, 0, self.touched
        if data:
            append, self.append = self.append, False
            self.write(0, data)
            self.append = append
        self.touched = touched

    def truncate(self, size: int) -> None:
        """Make it shorter, or longer with zeros; if that is too much, it stays as it is."""
        if size > self.size and not self._fits(size):
            raise TooLarge(size)
        self.touched = True
        self.kept = min(self.kept, size)
        while self.pieces and self.starts[-1] >= size:
            self.among.held -= self.pieces.pop().length
            self.starts.pop()
        if self.pieces and (over := self.starts[-1] + self.pieces[-1].length - size) > 0:
            self.pieces[-1].truncate(size - self.starts[-1])
            self.among.held -= over
        if size > self.size:
            append, self.append = self.append, False
            self.write(size - 1, b"\0")
            self.append = append

    def release(self) -> None:
        """It is over: the memory is given back, and nobody sees it any more."""
        self.among.held -= self.held
        self.starts, self.pieces = [], []
        if self in self.among.opened:
            self.among.opened.remove(self)

    def whole(self) -> bytes:
        """All of it, with zeros where nothing came; of a file that begins anew."""
        if len(self.pieces) == 1 and self.starts[0] == 0:
            return self.pieces[0].whole()
        return self.read(0, self.size)

    def parts(self) -> list[tuple[int, bytes]]:
        """What lies over the file that was there: where, and what."""
        return [(start, piece.whole()) for start, piece in zip(self.starts, self.pieces, strict=True)]

    def _lay(self, offset: int, data: memoryview) -> None:
        """Over what has come, at its ends and into its gaps. No piece is ever moved: so none costs more than it has."""
        while data:
            index = bisect_right(self.starts, offset) - 1
            follows = index + 1 < len(self.starts)
            part = data[: self.starts[index + 1] - offset] if follows else data
            if index >= 0 and offset <= self.starts[index] + self.pieces[index].length:
                piece = self.pieces[index]
                before = piece.length
                piece.write(offset - self.starts[index], part)
                self.among.held += piece.length - before
            else:
                self._insert(index + 1, offset, part)
            offset += len(part)
            data = data[len(part) :]

    def _insert(self, index: int, offset: int, data: memoryview) -> None:
        if len(self.pieces) >= MOST_PIECES:
            raise TooScattered
        self.starts.insert(index, offset)
        self.pieces.insert(index, Piece(data))
        self.among.held += len(data)
