"""The rules of a file drop: those of a file system, except that writing a file creates the folders above it."""

from collections.abc import Sequence
from datetime import UTC, datetime
from itertools import islice
from typing import Any

from clerkship.events.event import Event
from clerkship.sandbox.request import Refusal
from clerkship.sandbox.state import ActionContext, State
from clerkship.simulators.files.config import FilesConfig
from clerkship.simulators.files.events import (
    FileDeleted,
    FileRead,
    FileRenamed,
    FileStamped,
    FileWritten,
    FolderListed,
    FolderMade,
    FolderRemoved,
    FolderRenamed,
)
from clerkship.simulators.files.tree import list_parents, split_path
from clerkship.simulators.files.volume import FileEntry, FileInfo, FileSpace, Volume

DEFAULT_MODIFIED = datetime(2026, 1, 1, tzinfo=UTC)
"""The modification time of a dataset's files, unless the config says otherwise."""


class FilesState(State[FilesConfig]):
    """The files of a drop. Its methods check an action and emit its event."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.volume = Volume(self.records, self.config.folders, self.config.modified or DEFAULT_MODIFIED)

    def stat(self, path: str) -> FileEntry:
        """Describe a file or folder. Nothing is logged."""
        if path not in self.volume:
            raise Refusal(404, "no_such_file", f"there is no file or folder {path}")
        return self.volume.entry(path)

    def list(
        self, action: ActionContext, folder: str, after: str = "", count: int | None = None
    ) -> list[tuple[str, int]]:
        """List the files below a folder, with their sizes; a missing folder has none."""
        paths = islice(self.volume.paths(folder, after), count)
        files = [(path, len(self.records[path])) for path in paths]
        _emit_listed(action, folder, len(files))
        return files

    def entries(
        self, action: ActionContext, folder: str, after: str = "", count: int | None = None
    ) -> Sequence[FileEntry]:
        self._check_folder(folder)
        entries = self.volume.page(folder, after, count)
        _emit_listed(action, folder, len(entries))
        return entries

    def count(self, action: ActionContext, folder: str) -> int:
        """List a folder whose entries are read page by page; return how many it has."""
        self._check_folder(folder)
        count = len(self.volume.tree.names(folder))
        _emit_listed(action, folder, count)
        return count

    def read(self, action: ActionContext, path: str) -> bytes:
        data = self._read_file(path)
        action.emit(FileRead(path=path, size=len(data)))
        return data

    def write(
        self, action: ActionContext, path: str, data: bytes, *, complete: bool = True, modified: datetime | None = None
    ) -> bool:
        """Write a file; return whether it is new."""
        self._check_writable(action)
        self._check_size(path, len(data))
        is_new = path not in self.records
        if is_new:
            self._check_free(path)
        stamp = modified.astimezone(UTC).isoformat() if modified is not None else None
        action.emit(FileWritten(path=path, size=len(data), data=data, complete=complete, modified=stamp))
        return is_new

    def space_for(self, action: ActionContext, path: str, size: int = 0, coming: int = 0) -> FileSpace:
        """Return how much may be written to a path.

        Refused if writing `size` bytes would be, once other uploads of `coming` bytes are written.
        """
        self._check_writable(action)
        self._check_folder(split_path(path)[0])
        self._check_no_folder(path)
        self._check_size(path, size, coming)
        size_before = len(self.records[path]) if path in self.records else None
        room = self.config.quota - self.volume.used_without(path)
        return FileSpace(size_before, min(room, self.config.max_file), room, action.now)

    def stamp(self, action: ActionContext, path: str, modified: datetime) -> None:
        """Set the modification time of a file or folder."""
        self._check_writable(action)
        self.stat(path)
        action.emit(FileStamped(path=path, modified=modified.astimezone(UTC).isoformat()))

    def delete(self, action: ActionContext, path: str) -> None:
        self._check_writable(action)
        self._read_file(path)
        action.emit(FileDeleted(path=path))

    def make_folder(self, action: ActionContext, path: str) -> None:
        """Create a folder in one that exists."""
        self._check_writable(action)
        if path in self.volume:
            raise Refusal(409, "exists", f"{path} already exists")
        self._check_folder(split_path(path)[0])
        action.emit(FolderMade(path=path))

    def remove_folder(self, action: ActionContext, path: str) -> None:
        self._check_writable(action)
        self._check_folder(path)
        self._check_empty(path)
        action.emit(FolderRemoved(path=path))

    def rename(self, action: ActionContext, path: str, to: str, *, replace: bool = False) -> None:
        """Move a file, or a folder with its content."""
        self._check_writable(action)
        is_folder = self.stat(path).folder
        self._check_folder(split_path(to)[0])
        is_taken = to in self.volume
        if is_taken and not replace:
            raise Refusal(409, "exists", f"{to} already exists")
        if not is_folder:
            self._check_no_folder(to)
            action.emit(FileRenamed(path=path, to=to, replaced=is_taken))
            return
        if f"{to}/".startswith(f"{path}/") and to != path:
            raise Refusal(400, "bad_path", f"{path} cannot be moved into itself")
        if to in self.records:
            raise Refusal(409, "not_a_folder", f"{to} is a file")
        if is_taken and to != path:
            self._check_empty(to)
        action.emit(FolderRenamed(path=path, to=to))

    def apply(self, event: Event) -> None:
        volume, at = self.volume, event.at
        match event.payload:
            case FileWritten(path=path, data=data, complete=complete, modified=stamp):
                modified = datetime.fromisoformat(stamp) if stamp is not None else at
                volume.write(path, data, FileInfo(modified, len(data), complete), at)
            case FileDeleted(path=path):
                volume.delete(path, at)
            case FileRenamed(path=path, to=to) if path in self.records and path != to:
                volume.move(path, to, at)
            case FileStamped(path=path, modified=stamp):
                volume.stamp(path, datetime.fromisoformat(stamp))
            case FolderMade(path=path):
                volume.make_folder(path, at)
            case FolderRemoved(path=path):
                volume.remove_folder(path, at)
            case FolderRenamed(path=path, to=to) if path in volume.tree and path != to:
                volume.move_folder(path, to, at)

    def dump(self) -> Any:
        """Return plain data: the bytes of a file as Latin-1, a folder by its path with a slash at its end."""
        entries: dict[str, Any] = {}
        for path in self.volume.tree.walk():
            info = self.volume.info(path.removesuffix("/"))
            entries[path] = {"modified": info.modified.isoformat()}
            if path in self.records:
                entries[path] |= {"data": self.records[path].decode("latin-1"), "complete": info.complete}
        return entries

    def _read_file(self, path: str) -> bytes:
        if path not in self.records:
            self._check_no_folder(path)
            raise Refusal(404, "no_such_file", f"there is no file {path}")
        data: bytes = self.records[path]
        return data

    def _check_folder(self, path: str) -> None:
        if path in self.records:
            raise Refusal(409, "not_a_folder", f"{path} is a file")
        if path not in self.volume.tree:
            raise Refusal(404, "no_such_folder", f"there is no folder {path}")

    def _check_no_folder(self, path: str) -> None:
        if path in self.volume.tree:
            raise Refusal(409, "is_a_folder", f"{path} is a folder")

    def _check_writable(self, action: ActionContext) -> None:
        if self.config.read_only and action.actor == "agent":
            raise Refusal(403, "read_only", "this drop is read-only")

    def _check_size(self, path: str, size: int, coming: int = 0) -> None:
        if size > self.config.max_file:
            raise Refusal(413, "too_large", f"a file may have {self.config.max_file} bytes, not {size}")
        used = self.volume.used_without(path)
        if used + coming + size > self.config.quota:
            usage = f"{used} are used" + (f" and {coming} are being uploaded" if coming else "")
            reason = f"the drop may hold {self.config.quota} bytes, and {usage}; there is no room for {size}"
            raise Refusal(507, "quota", reason)

    def _check_empty(self, folder: str) -> None:
        count = len(self.volume.tree.names(folder))
        if count:
            raise Refusal(409, "not_empty", f"{folder} is not empty: it has {count} entr{'ies' if count != 1 else 'y'}")

    def _check_free(self, path: str) -> None:
        """Refuse a new file where a folder is, or below a file."""
        self._check_no_folder(path)
        above = next((folder for folder in list_parents(split_path(path)[0]) if folder in self.records), None)
        if above is not None:
            raise Refusal(409, "not_a_folder", f"{above} is a file")


def _emit_listed(action: ActionContext, folder: str, count: int) -> None:
    action.emit(FolderListed(prefix=f"{folder}/" if folder else "", count=count))
