"""Sorted folder listings, updated incrementally so that reading a page does not sort a whole folder."""

from bisect import bisect_left, bisect_right, insort
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Self

from clerkship.model.dataset import Dataset

MAX_SINGLE_INSERTS = 16
"""Up to this many new names are inserted one by one; for more, the list is sorted again."""


class FolderNames:
    """The sorted names in one folder: `name` for a file, `name/` for a folder, so that nested paths sort correctly."""

    __slots__ = ("_added", "_sorted")

    def __init__(self, names: Iterable[str] = ()) -> None:
        self._sorted = sorted(names)
        self._added: dict[str, None] = {}

    def copy(self) -> Self:
        """Return a copy that can be changed."""
        other = type(self)()
        other._sorted = list(self.in_order())
        return other

    def add(self, name: str) -> None:
        self._added[name] = None

    def remove(self, name: str) -> None:
        """Remove a name if it exists."""
        if name in self._added:
            del self._added[name]
            return
        place = bisect_left(self._sorted, name)
        if self._sorted[place : place + 1] == [name]:
            del self._sorted[place]

    def in_order(self) -> Sequence[str]:
        """Return all names. The caller must not change the list."""
        if len(self._added) > MAX_SINGLE_INSERTS:
            self._sorted += self._added
            self._sorted.sort()
        else:
            for name in self._added:
                insort(self._sorted, name)
        self._added.clear()
        return self._sorted

    def after(self, name: str) -> Iterator[str]:
        """Iterate over the names after a name, which need not exist."""
        names = self.in_order()
        return _iterate_from(names, bisect_right(names, name)) if name else iter(names)

    def from_path(self, path: str) -> Iterator[str]:
        """Iterate over the names that have something after a path, including a folder that the path leads into."""
        folder, slash, _ = path.partition("/")
        if not slash:
            return self.after(path)
        names = self.in_order()
        return _iterate_from(names, bisect_left(names, f"{folder}/"))

    def __len__(self) -> int:
        return len(self._sorted) + len(self._added)


def _iterate_from(names: Sequence[str], place: int) -> Iterator[str]:
    """Iterate from an index on without copying."""
    return (names[number] for number in range(place, len(names)))


class DatasetFiles(dict[str, bytes]):
    """The files of a dataset, which never change. Their folders are computed once for all playgrounds."""

    @cached_property
    def folders(self) -> Mapping[str, FolderNames]:
        """The names in each folder; the root is the empty string."""
        return build_folders(self)


def merge_dataset_files(datasets: Sequence[Dataset]) -> DatasetFiles:
    """Return the files of all datasets; of two at one path, the later dataset's."""
    return DatasetFiles({path: data for dataset in datasets for path, data in dataset.files.items()})


def build_folders(paths: Iterable[str]) -> dict[str, FolderNames]:
    """Return the folders of these files, with the names in each."""
    folders: dict[str, dict[str, None]] = {"": {}}
    for path in paths:
        folder, name = split_path(path)
        if folder not in folders:
            folders[folder] = {}
            for above in list_parents(folder):
                outer, inner = split_path(above)
                folders.setdefault(above, {})
                folders.setdefault(outer, {})[f"{inner}/"] = None
        folders[folder][name] = None
    return {folder: FolderNames(names) for folder, names in folders.items()}


def split_path(path: str) -> tuple[str, str]:
    """Return the folder of a path, and the name in it."""
    folder, _, name = path.rpartition("/")
    return folder, name


def list_parents(folder: str) -> Iterator[str]:
    """Return `a`, `a/b` and `a/b/c` for `a/b/c`."""
    parts = folder.split("/") if folder else []
    return ("/".join(parts[:number]) for number in range(1, len(parts) + 1))


def join_path(folder: str, name: str) -> str:
    """Return the path of a name in a folder."""
    return f"{folder}/{name}" if folder else name


class FolderTree:
    """Folders and their names, as a copy-on-write overlay on those of a dataset."""

    def __init__(self, base: Mapping[str, FolderNames]) -> None:
        self._base = base
        self._own: dict[str, FolderNames | None] = {}
        """Folders that differ from the base; None if a folder of the base was removed."""

    def __contains__(self, folder: str) -> bool:
        return self._own[folder] is not None if folder in self._own else folder in self._base

    def __iter__(self) -> Iterator[str]:
        folders = {*self._base, *self._own} - {""}
        return iter(sorted(folder for folder in folders if folder in self))

    def names(self, folder: str) -> FolderNames:
        names = self._own[folder] if folder in self._own else self._base[folder]
        assert names is not None
        return names

    def make_folder(self, folder: str) -> list[str]:
        """Create a folder and its parents if they are missing; return those created."""
        created = [above for above in list_parents(folder) if above not in self] if folder not in self else []
        for above in created:
            outer, name = split_path(above)
            self._get_own_names(outer).add(f"{name}/")
            self._own[above] = FolderNames()
        return created

    def add(self, path: str) -> list[str]:
        """Add a new file, and return the folders that were created for it."""
        folder, name = split_path(path)
        created = self.make_folder(folder)
        self._get_own_names(folder).add(name)
        return created

    def remove(self, path: str) -> None:
        folder, name = split_path(path)
        if folder in self:
            self._get_own_names(folder).remove(name)

    def drop(self, folder: str) -> None:
        """Remove a folder. Its content must be removed by the caller."""
        outer, name = split_path(folder)
        if outer in self:
            self._get_own_names(outer).remove(f"{name}/")
        if folder in self._base:
            self._own[folder] = None
        else:
            self._own.pop(folder, None)

    def move(self, folder: str, to: str) -> None:
        below = self.folders_below(folder)
        moved = {to + path[len(folder) :]: self.names(path).copy() for path in below}
        for path in reversed(below):  # innermost first
            self.drop(path)
        self.make_folder(split_path(to)[0])
        outer, name = split_path(to)
        self._get_own_names(outer).add(f"{name}/")
        self._own |= moved

    def folders_below(self, folder: str) -> list[str]:
        """Return a folder and its subfolders, parents first."""
        folders = [folder]
        for path in folders:  # the list grows during the loop
            folders += [f"{path}/{name[:-1]}" for name in self.names(path).in_order() if name[-1] == "/"]
        return folders

    def files_below(self, folder: str) -> list[str]:
        """Return all files below a folder; unsorted, and faster than `walk`."""
        return [
            f"{path}/{name}"
            for path in self.folders_below(folder)
            for name in self.names(path).in_order()
            if name[-1] != "/"
        ]

    def walk(self, folder: str = "", after: str = "") -> Iterator[str]:
        """Iterate over all paths below a folder after a path, sorted: files, and folders with a trailing slash."""
        start = f"{folder}/" if folder else ""
        remaining = after.removeprefix(start) if after.startswith(start) else ""
        stack = [(folder, self.names(folder).from_path(remaining), remaining)] if folder in self else []
        while stack:
            current, names, remaining = stack[-1]
            name = next(names, None)
            if name is None:
                stack.pop()
                continue
            path = join_path(current, name)
            seen = name.endswith("/") and remaining.startswith(name)  # the previous page ended inside this folder
            if not seen:
                yield path
            if name.endswith("/"):
                inner = remaining.removeprefix(name) if seen else ""
                stack.append((path[:-1], self.names(path[:-1]).from_path(inner), inner))

    def _get_own_names(self, folder: str) -> FolderNames:
        """Return names that may be changed; copy those of the base first."""
        names = self._own.get(folder)
        if names is None:
            names = self._own[folder] = self._base[folder].copy()
        return names
