"""Which names are in which folder, in order; kept as they come and go, so that nobody has to sort them all to look."""

from bisect import bisect_left, bisect_right, insort
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Self

from clerkship.model.dataset import Dataset

FEW = 16
"""So many new names are put in their places one by one; more are sorted in."""


class Names:
    """What is in one folder, in order: `name` of a file, `name/` of a folder, so that paths below come in order too."""

    __slots__ = ("_added", "_sorted")

    def __init__(self, names: Iterable[str] = ()) -> None:
        self._sorted = sorted(names)
        self._added: dict[str, None] = {}

    def copy(self) -> Self:
        """The same names, to be changed."""
        other = type(self)()
        other._sorted = list(self.in_order())
        return other

    def add(self, name: str) -> None:
        """One more, that was not here."""
        self._added[name] = None

    def remove(self, name: str) -> None:
        """One less, if it is here."""
        if name in self._added:
            del self._added[name]
            return
        place = bisect_left(self._sorted, name)
        if self._sorted[place : place + 1] == [name]:
            del self._sorted[place]

    def in_order(self) -> Sequence[str]:
        """All of them; not to be changed by whoever asks."""
        if len(self._added) > FEW:
            self._sorted += self._added
            self._sorted.sort()
        else:
            for name in self._added:
                insort(self._sorted, name)
        self._added.clear()
        return self._sorted

    def after(self, name: str) -> Iterator[str]:
        """Those that come behind a name, which need not be here itself."""
        names = self.in_order()
        return _from(names, bisect_right(names, name)) if name else iter(names)

    def since(self, path: str) -> Iterator[str]:
        """Those that have something behind a path: a folder that it leads into is still one of them."""
        folder, slash, _ = path.partition("/")
        if not slash:
            return self.after(path)
        names = self.in_order()
        return _from(names, bisect_left(names, f"{folder}/"))

    def __len__(self) -> int:
        """How many there are."""
        return len(self._sorted) + len(self._added)


def _from(names: Sequence[str], place: int) -> Iterator[str]:
    """From a place on, without going over those before it."""
    return (names[number] for number in range(place, len(names)))


class Shelf(dict[str, bytes]):
    """The files of a dataset, which never change; where each is, is found out once for every playground over them."""

    @cached_property
    def folders(self) -> Mapping[str, Names]:
        """Each folder with what is in it; the outermost is called nothing."""
        return folders_of(self)


def put_on_shelf(datasets: Sequence[Dataset]) -> Shelf:
    """All their files; of two at one path, the later dataset's."""
    return Shelf({path: data for dataset in datasets for path, data in dataset.files.items()})


def folders_of(paths: Iterable[str]) -> dict[str, Names]:
    """The folders that these files are in, with what is in each."""
    found: dict[str, dict[str, None]] = {"": {}}
    for path in paths:
        folder, name = split(path)
        if folder not in found:
            found[folder] = {}
            for above in folders_above(folder):
                outer, inner = split(above)
                found.setdefault(above, {})
                found.setdefault(outer, {})[f"{inner}/"] = None
        found[folder][name] = None
    return {folder: Names(names) for folder, names in found.items()}


def split(path: str) -> tuple[str, str]:
    """The folder that it is in, and its name there."""
    folder, _, name = path.rpartition("/")
    return folder, name


def folders_above(folder: str) -> Iterator[str]:
    """`a`, `a/b` and `a/b/c` for `a/b/c`."""
    parts = folder.split("/") if folder else []
    return ("/".join(parts[:number]) for number in range(1, len(parts) + 1))


def inside(folder: str, name: str) -> str:
    """The path of what has this name in a folder."""
    return f"{folder}/{name}" if folder else name


class Tree:
    """Folders and what is in them, over those of a dataset: one that is changed is copied first."""

    def __init__(self, base: Mapping[str, Names]) -> None:
        self._base = base
        self._own: dict[str, Names | None] = {}
        """Those that differ from the base; None where one of the base is gone."""

    def __contains__(self, folder: str) -> bool:
        """Whether there is such a folder."""
        return self._own[folder] is not None if folder in self._own else folder in self._base

    def __iter__(self) -> Iterator[str]:
        """Every folder but the outermost, in order."""
        found = {*self._base, *self._own} - {""}
        return iter(sorted(folder for folder in found if folder in self))

    def names(self, folder: str) -> Names:
        """What is in a folder that is there."""
        found = self._own[folder] if folder in self._own else self._base[folder]
        assert found is not None
        return found

    def make(self, folder: str) -> list[str]:
        """See that a folder is there, and those above it; which were not."""
        made = [above for above in folders_above(folder) if above not in self] if folder not in self else []
        for above in made:
            outer, name = split(above)
            self._mine(outer).add(f"{name}/")
            self._own[above] = Names()
        return made

    def add(self, path: str) -> list[str]:
        """A new file, and the folders that it needs; which were not there."""
        folder, name = split(path)
        made = self.make(folder)
        self._mine(folder).add(name)
        return made

    def remove(self, path: str) -> None:
        """A file is gone."""
        folder, name = split(path)
        if folder in self:
            self._mine(folder).remove(name)

    def drop(self, folder: str) -> None:
        """A folder is gone; what was in it is somebody else's business."""
        outer, name = split(folder)
        if outer in self:
            self._mine(outer).remove(f"{name}/")
        if folder in self._base:
            self._own[folder] = None
        else:
            self._own.pop(folder, None)

    def move(self, folder: str, to: str) -> None:
        """A folder is elsewhere now, and those in it with it."""
        below = self.folders_below(folder)
        kept = {to + path[len(folder) :]: self.names(path).copy() for path in below}
        for path in reversed(below):  # from the inside out
            self.drop(path)
        self.make(split(to)[0])
        outer, name = split(to)
        self._mine(outer).add(f"{name}/")
        self._own |= kept

    def folders_below(self, folder: str) -> list[str]:
        """A folder and those in it, each before what is in it."""
        found = [folder]
        for path in found:  # which grows meanwhile
            found += [f"{path}/{name[:-1]}" for name in self.names(path).in_order() if name[-1] == "/"]
        return found

    def files_below(self, folder: str) -> list[str]:
        """Every file in a folder and in those in it; not in order of path, and faster than a walk."""
        return [
            f"{path}/{name}"
            for path in self.folders_below(folder)
            for name in self.names(path).in_order()
            if name[-1] != "/"
        ]

    def walk(self, folder: str = "", after: str = "") -> Iterator[str]:
        """Everything below a folder, behind a path, in order of path: files, and folders with a slash at their end."""
        start = f"{folder}/" if folder else ""
        rest = after.removeprefix(start) if after.startswith(start) else ""
        stack = [(folder, self.names(folder).since(rest), rest)] if folder in self else []
        while stack:
            here, names, rest = stack[-1]
            name = next(names, None)
            if name is None:
                stack.pop()
                continue
            path = inside(here, name)
            seen = name.endswith("/") and rest.startswith(name)  # where the last look ended, in here
            if not seen:
                yield path
            if name.endswith("/"):
                inner = rest.removeprefix(name) if seen else ""
                stack.append((path[:-1], self.names(path[:-1]).since(inner), inner))

    def _mine(self, folder: str) -> Names:
        """One that may be changed."""
        found = self._own.get(folder)
        if found is None:
            found = self._own[folder] = self._base[folder].copy()
        return found
