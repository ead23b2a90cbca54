"""The rules of a file drop: those of a file system, but that writing a file makes the folders above it."""

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from itertools import islice
from typing import Any, NoReturn, cast

from clerkship.events.event import Event
from clerkship.sandbox.exchange import Refusal
from clerkship.sandbox.state import ActionContext, State
from clerkship.simulators.files.config import FilesConfig
from clerkship.simulators.files.entry import Entry
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
from clerkship.simulators.files.patch import Patch, Space
from clerkship.simulators.files.tree import Shelf, Tree, folders_above, folders_of, inside, split

LONG = 1000
LONG_AGO = datetime(2026, 1, 1, tzinfo=UTC)
"""When a dataset's files were modified, where nobody says."""


class FilesState(State):
    """Files by path, over the dataset's, and the folders they are in."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.written: dict[str, int] = {}
        self.used = 0
        self.incomplete: set[str] = set()
        self._modified: dict[str, datetime] = {}
        self._tree: Tree | None = None

    @property
    def limits(self) -> FilesConfig:
        """The config, as what it is."""
        return cast(FilesConfig, self.config)

    @property
    def tree(self) -> Tree:
        """The folders: laid over the dataset's when first needed, so that a fork costs nothing."""
        if self._tree is None:
            base = getattr(self.records, "base", self.records)
            self._tree = Tree(base.folders if isinstance(base, Shelf) else folders_of(base))
            for folder in self.limits.folders:
                if not any(above in base for above in folders_above(folder)):  # a file of that name was there first
                    self._tree.make(folder)
        return self._tree

    def modified(self, path: str) -> datetime:
        """When something was last changed."""
        return self._modified.get(path, self._since)

    @property
    def _since(self) -> datetime:
        """When all was last changed that nobody has touched since the start."""
        return self.limits.modified or LONG_AGO

    def paths(self, folder: str = "", after: str = "") -> Iterator[str]:
        """Every file there is, or every one below a folder, in order."""
        return (path for path in self.tree.walk(folder, after) if not path.endswith("/"))

    def is_there(self, path: str) -> bool:
        """Whether there is a file or a folder."""
        return path in self.tree or path in self.records

    def is_long(self, path: str) -> bool:
        """Whether it is a folder with so much in it, at any depth, that it takes a while to be moved."""
        return next(islice(self.tree.walk(path), LONG, None), None) is not None

    def stat(self, path: str) -> Entry:
        """What is at a path; nothing happens because of it."""
        if not self.is_there(path):
            raise Refusal(404, "no_such_file", f"there is no file or folder {path}")
        if path in self.tree:
            return Entry(path, True, 0, self.modified(path))
        return Entry(path, False, len(self.records[path]), self.modified(path))

    def list(self, act: ActionContext, folder: str, after: str = "", count: int | None = None) -> list[tuple[str, int]]:
        """Somebody looks at all the files below a folder; one that is not there has none."""
        found = [(path, len(self.records[path])) for path in islice(self.paths(folder, after), count)]
        act.emit(FolderListed(prefix=f"{folder}/" if folder else "", count=len(found)))
        return found

    def entries(self, act: ActionContext, folder: str, after: str = "", count: int | None = None) -> Sequence[Entry]:
        """Somebody looks into a folder."""
        self._folder(folder)
        found = self.page(folder, after, count)
        act.emit(FolderListed(prefix=f"{folder}/" if folder else "", count=len(found)))
        return found

    def count(self, act: ActionContext, folder: str) -> int:
        """Somebody looks into a folder, and takes what is there page by page."""
        self._folder(folder)
        count = len(self.tree.names(folder))
        act.emit(FolderListed(prefix=f"{folder}/" if folder else "", count=count))
        return count

    def page(self, folder: str, after: str = "", count: int | None = None) -> Sequence[Entry]:
        """Some of what is in a folder; nothing happens because of it, and in one that is gone there is nothing."""
        if folder not in self.tree:
            return []
        if after and inside(folder, after) in self.tree:
            after += "/"
        start, since = f"{folder}/" if folder else "", self._since
        names = islice(self.tree.names(folder).after(after), count)
        return [self._entry(start, name, since) for name in names]

    def _entry(self, start: str, name: str, since: datetime) -> Entry:
        """One of a hundred thousand, perhaps: what it is, its name says."""
        if name[-1] == "/":
            return Entry(name[:-1], True, 0, self._modified.get(start + name[:-1], since))
        path = start + name
        return Entry(name, False, len(self.records[path]), self._modified.get(path, since))

    def read(self, act: ActionContext, path: str) -> bytes:
        """Somebody reads a file."""
        data = self._file(path)
        act.emit(FileRead(path=path, size=len(data)))
        return data

    def write(
        self, act: ActionContext, path: str, data: bytes, *, complete: bool = True, modified: datetime | None = None
    ) -> bool:
        """Somebody writes a file; true if it is new."""
        self._may_change(act)
        self._refuse_size(path, len(data))
        new = path not in self.records
        if new:
            self._refuse_clash(path)
        stamp = modified.astimezone(UTC).isoformat() if modified is not None else None
        act.emit(FileWritten(path=path, size=len(data), data=data, complete=complete, modified=stamp))
        return new

    def patch(self, act: ActionContext, path: str, patch: Patch, data: bytes, *, complete: bool = True) -> bool:
        """Somebody writes parts of a file, over what is there."""
        self._refuse_size(path, patch.size)
        kept = self.records.get(path, b"")[: patch.kept]
        return self.write(act, path, patch.lay(kept, data), complete=complete)

    def space_for(self, act: ActionContext, path: str, size: int = 0, coming: int = 0) -> Space:
        """What somebody may write at a path, asked before they do; refused as the writing would be, or as it would be
        once all else is there that is coming."""
        self._may_change(act)
        self._folder(split(path)[0])
        if path in self.tree:
            raise Refusal(409, "is_a_folder", f"{path} is a folder")
        self._refuse_size(path, size, coming)
        there = len(self.records[path]) if path in self.records else None
        room = self.limits.quota - self.used + self.written.get(path, 0)
        return Space(there, min(room, self.limits.max_file), room)

    def stamp(self, act: ActionContext, path: str, modified: datetime) -> None:
        """Somebody says when a file, or a folder, was modified."""
        self._may_change(act)
        self.stat(path)
        act.emit(FileStamped(path=path, modified=modified.astimezone(UTC).isoformat()))

    def delete(self, act: ActionContext, path: str) -> None:
        """Somebody deletes a file."""
        self._may_change(act)
        self._file(path)
        act.emit(FileDeleted(path=path))

    def make_folder(self, act: ActionContext, path: str) -> None:
        """Somebody makes a folder, in one that is there."""
        self._may_change(act)
        if path in self.tree or path in self.records:
            raise Refusal(409, "exists", f"{path} is there already")
        self._folder(split(path)[0])
        act.emit(FolderMade(path=path))

    def remove_folder(self, act: ActionContext, path: str) -> None:
        """Somebody removes a folder that is empty."""
        self._may_change(act)
        self._folder(path)
        self._refuse_full(path)
        act.emit(FolderRemoved(path=path))

    def rename(self, act: ActionContext, path: str, to: str, *, replace: bool = False) -> None:
        """Somebody gives a file, or a folder with all that is in it, another path."""
        self._may_change(act)
        is_folder = self.stat(path).folder
        self._folder(split(to)[0])
        taken = to in self.tree or to in self.records
        if taken and not replace:
            raise Refusal(409, "exists", f"{to} is there already")
        if not is_folder:
            if to in self.tree:
                raise Refusal(409, "is_a_folder", f"{to} is a folder")
            act.emit(FileRenamed(path=path, to=to, replaced=taken))
            return
        if f"{to}/".startswith(f"{path}/") and to != path:
            raise Refusal(400, "bad_path", f"{path} cannot be moved into itself")
        if to in self.records:
            raise Refusal(409, "not_a_folder", f"{to} is a file")
        if taken and to != path:
            self._refuse_full(to)
        act.emit(FolderRenamed(path=path, to=to))

    def apply(self, event: Event) -> None:
        """Take in what happened."""
        match event.payload:
            case FileWritten(path=path, data=data, complete=complete, modified=modified):
                self._put(path, data, event.at, complete=complete)
                self._modified[path] = datetime.fromisoformat(modified) if modified is not None else event.at
                self.used += len(data) - self.written.get(path, 0)
                self.written[path] = len(data)
            case FileDeleted(path=path):
                self._take(path, event.at)
            case FileRenamed(path=path, to=to) if path in self.records and path != to:
                self._move(path, to, event.at)
            case FileStamped(path=path, modified=stamped):
                self._modified[path] = datetime.fromisoformat(stamped)
            case FolderMade(path=path):
                self._made(self.tree.make(path), event.at)
            case FolderRemoved(path=path):
                self._drop(path, event.at)
            case FolderRenamed(path=path, to=to) if path in self.tree and path != to:
                self._move_folder(path, to, event.at)

    def dump(self) -> Any:
        """All of it as plain data: a file's bytes by Latin-1, a folder by its path with a slash at its end."""
        found: dict[str, Any] = {}
        for path in self.tree.walk():
            when = self.modified(path.removesuffix("/")).isoformat()
            found[path] = {"modified": when}
            if path in self.records:
                found[path] |= {"data": self.records[path].decode("latin-1"), "complete": path not in self.incomplete}
        return found

    def _put(self, path: str, data: bytes, at: datetime, *, complete: bool) -> None:
        """A file is there, new or anew; a folder changes with what is in it, as file systems have it."""
        if path not in self.records:
            self._made(self.tree.add(path), at)
            self._touch(split(path)[0], at)
        self.records[path] = data
        if complete:
            self.incomplete.discard(path)
        else:
            self.incomplete.add(path)

    def _take(self, path: str, at: datetime) -> None:
        """A file is there no more."""
        if self.records.pop(path, None) is not None:
            self.tree.remove(path)
            self._touch(split(path)[0], at)
        self._modified.pop(path, None)
        self.incomplete.discard(path)
        self.used -= self.written.pop(path, 0)

    def _move(self, path: str, to: str, at: datetime) -> None:
        """The same file, elsewhere: what is known of it goes with it."""
        self._take(to, at)
        data, modified, size = self.records[path], self.modified(path), self.written.get(path)
        complete = path not in self.incomplete
        self._take(path, at)
        self._put(to, data, at, complete=complete)
        self._modified[to] = modified
        if size is not None:
            self.written[to] = size
            self.used += size

    def _move_folder(self, path: str, to: str, at: datetime) -> None:
        """A folder with everything in it, elsewhere."""
        files, records, cut = self.tree.files_below(path), self.records, len(path)
        self._drop(to, at)  # an empty one, which this takes the place of
        self.tree.move(path, to)
        for old in files:  # perhaps a hundred thousand
            data = records[old]
            del records[old]
            records[to + old[cut:]] = data
        known: tuple[dict[str, Any], ...] = (self._modified, self.written)
        for kept in known:
            for old in [key for key in kept if key == path or key.startswith(f"{path}/")]:
                kept[to + old[cut:]] = kept.pop(old)
        for old in [key for key in self.incomplete if key.startswith(f"{path}/")]:
            self.incomplete.remove(old)
            self.incomplete.add(to + old[cut:])
        self._touch(split(path)[0], at)
        self._touch(split(to)[0], at)

    def _drop(self, folder: str, at: datetime) -> None:
        if folder in self.tree:
            self.tree.drop(folder)
            self._touch(split(folder)[0], at)
        self._modified.pop(folder, None)

    def _made(self, folders: Sequence[str], at: datetime) -> None:
        """Folders that are new, the outermost first."""
        if folders:
            self._touch(split(folders[0])[0], at)
            self._modified.update(dict.fromkeys(folders, at))

    def _touch(self, folder: str, at: datetime) -> None:
        """A folder has been changed."""
        if folder:
            self._modified[folder] = at

    def _file(self, path: str) -> bytes:
        if path in self.records:
            data: bytes = self.records[path]
            return data
        if path in self.tree:
            raise Refusal(409, "is_a_folder", f"{path} is a folder")
        raise Refusal(404, "no_such_file", f"there is no file {path}")

    def _folder(self, path: str) -> None:
        """See that it is one."""
        if path not in self.tree:
            self._no_folder(path)

    def _no_folder(self, path: str) -> NoReturn:
        if path in self.records:
            raise Refusal(409, "not_a_folder", f"{path} is a file")
        raise Refusal(404, "no_such_folder", f"there is no folder {path}")

    def _may_change(self, act: ActionContext) -> None:
        if self.limits.read_only and act.actor == "agent":
            raise Refusal(403, "read_only", "this drop is read-only")

    def _refuse_size(self, path: str, size: int, coming: int = 0) -> None:
        if size > self.limits.max_file:
            raise Refusal(413, "too_large", f"a file may have {self.limits.max_file} bytes, not {size}")
        used = self.used - self.written.get(path, 0)
        if used + coming + size > self.limits.quota:
            taken = f"{used} are used" + (f" and {coming} on their way" if coming else "")
            reason = f"the drop may hold {self.limits.quota} bytes, and {taken}; there is no room for {size}"
            raise Refusal(507, "quota", reason)

    def _refuse_full(self, folder: str) -> None:
        count = len(self.tree.names(folder))
        if count:
            raise Refusal(409, "not_empty", f"{folder} is not empty: {count} thing{'s' * (count != 1)} are in it")

    def _refuse_clash(self, path: str) -> None:
        if path in self.tree:
            raise Refusal(409, "is_a_folder", f"{path} is a folder")
        above = next((folder for folder in folders_above(split(path)[0]) if folder in self.records), None)
        if above is not None:
            raise Refusal(409, "not_a_folder", f"{above} is a file")
