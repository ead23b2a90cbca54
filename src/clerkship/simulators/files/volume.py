"""The files and folders of a drop with their times, over those of the dataset. Only events change them."""

from collections.abc import Iterator, MutableMapping, Sequence
from datetime import datetime
from functools import cached_property
from itertools import islice
from typing import Any, NamedTuple

from clerkship.simulators.files.tree import DatasetFiles, FolderTree, build_folders, join_path, list_parents, split_path


class FileEntry(NamedTuple):
    """A file or a folder."""

    name: str
    """Its name in a listing; its path if it is described alone."""
    folder: bool
    size: int
    modified: datetime


class FileSpace(NamedTuple):
    """The size of a file, the space for it, and the current time."""

    size: int | None
    """Current size in bytes; None if the file does not exist."""
    most: int
    """Size limit in bytes."""
    room: int
    """Free bytes, including those of the file itself."""
    now: datetime


MANY_ENTRIES = 1000
"""A folder with more entries takes noticeable time to move."""


class FileInfo(NamedTuple):
    """The metadata of a file or folder."""

    modified: datetime
    written: int = 0
    """Bytes that count towards the quota; 0 for a file of the dataset."""
    complete: bool = True


class Volume:
    """A file system in memory. Its methods neither check nor emit anything: see `FilesState`."""

    def __init__(self, files: MutableMapping[str, Any], folders: Sequence[str], modified: datetime) -> None:
        self.files = files
        self.used = 0
        """Bytes written, without the dataset's files."""
        self._folders = folders
        self._default_info = FileInfo(modified)
        self._info: dict[str, FileInfo] = {}

    @cached_property
    def tree(self) -> FolderTree:
        """The folders, built when first needed so that a fork costs nothing."""
        base = getattr(self.files, "base", self.files)
        tree = FolderTree(base.folders if isinstance(base, DatasetFiles) else build_folders(base))
        for folder in self._folders:
            if not any(above in base for above in list_parents(folder)):  # unless a file of the dataset has that path
                tree.make_folder(folder)
        return tree

    @property
    def incomplete(self) -> set[str]:
        """The files whose upload broke off."""
        return {path for path, info in self._info.items() if not info.complete}

    def info(self, path: str) -> FileInfo:
        """Return the time and the state of a file or folder."""
        return self._info.get(path, self._default_info)

    def modified(self, path: str) -> datetime:
        """Return when a file or folder was last modified."""
        return self.info(path).modified

    def used_without(self, path: str) -> int:
        """Return the bytes written to all other files."""
        return self.used - self.info(path).written

    def __contains__(self, path: str) -> bool:
        return path in self.tree or path in self.files

    def paths(self, folder: str = "", after: str = "") -> Iterator[str]:
        """Yield the paths of the files below a folder, in order."""
        return (path for path in self.tree.walk(folder, after) if not path.endswith("/"))

    def has_many(self, path: str) -> bool:
        """Return whether it is a folder with so many entries, at any depth, that moving it takes a while."""
        return next(islice(self.tree.walk(path), MANY_ENTRIES, None), None) is not None

    def entry(self, path: str) -> FileEntry:
        """Describe a file or folder that exists."""
        is_folder = path in self.tree
        return FileEntry(path, is_folder, 0 if is_folder else len(self.files[path]), self.modified(path))

    def page(self, folder: str, after: str = "", count: int | None = None) -> list[FileEntry]:
        """Return the entries of a folder after a name; none if the folder does not exist."""
        if folder not in self.tree:
            return []
        if after and join_path(folder, after) in self.tree:
            after += "/"
        names = islice(self.tree.names(folder).after(after), count)
        return [self._build_entry(f"{folder}/" if folder else "", name) for name in names]

    def _build_entry(self, start: str, name: str) -> FileEntry:
        if name[-1] == "/":
            name = name[:-1]
            return FileEntry(name, True, 0, self.modified(start + name))
        return FileEntry(name, False, len(self.files[start + name]), self.modified(start + name))

    def write(self, path: str, data: bytes, info: FileInfo, at: datetime) -> None:
        """Create a file, and the folders above it, or replace its content."""
        if path not in self.files:
            self._stamp_new_folders(self.tree.add(path), at)
            self._touch(split_path(path)[0], at)
        self.files[path] = data
        self.used += info.written - self.info(path).written
        self._info[path] = info

    def delete(self, path: str, at: datetime) -> None:
        """Delete a file, if it exists."""
        if self.files.pop(path, None) is not None:
            self.tree.remove(path)
            self._touch(split_path(path)[0], at)
        self.used -= self.info(path).written
        self._info.pop(path, None)

    def move(self, path: str, to: str, at: datetime) -> None:
        """Move a file with its metadata."""
        data, info = self.files[path], self.info(path)
        self.delete(to, at)
        self.delete(path, at)
        self.write(to, data, info, at)

    def stamp(self, path: str, modified: datetime) -> None:
        """Set the modification time of a file or folder."""
        self._info[path] = self.info(path)._replace(modified=modified)

    def make_folder(self, path: str, at: datetime) -> None:
        """Create a folder and those above it."""
        self._stamp_new_folders(self.tree.make_folder(path), at)

    def remove_folder(self, folder: str, at: datetime) -> None:
        """Remove an empty folder, if it exists."""
        if folder in self.tree:
            self.tree.drop(folder)
            self._touch(split_path(folder)[0], at)
        self._info.pop(folder, None)

    def move_folder(self, path: str, to: str, at: datetime) -> None:
        """Move a folder with its content, onto an empty one if there is one."""
        paths, cut = self.tree.files_below(path), len(path)
        self.remove_folder(to, at)
        self.tree.move(path, to)
        files = self.files
        for old in paths:
            data = files[old]
            del files[old]
            files[to + old[cut:]] = data
        for old in [key for key in self._info if key == path or key.startswith(f"{path}/")]:
            self._info[to + old[cut:]] = self._info.pop(old)
        self._touch(split_path(path)[0], at)
        self._touch(split_path(to)[0], at)

    def _stamp_new_folders(self, folders: Sequence[str], at: datetime) -> None:
        """Date new folders, the outermost first, and the folder that they are in."""
        if folders:
            self._touch(split_path(folders[0])[0], at)
            self._info.update(dict.fromkeys(folders, FileInfo(at)))

    def _touch(self, folder: str, at: datetime) -> None:
        """Date a folder whose entries changed; the outermost has no time."""
        if folder:
            self._info[folder] = FileInfo(at)
