"""Files of the Python environment that can be changed by another path: hard links and symbolic links to elsewhere.

Package managers share files between environments and their caches: uv makes hard links by default. A read-only
environment is then still writable through the cache.
"""

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from stat import S_IWGRP, S_IWOTH

MAX_LINKED_PATHS = 50
"""Paths outside that links in the environment lead to. Each is protected by itself, which takes time at every start."""
_PACKAGE_FOLDERS = ("site-packages", "dist-packages")


@dataclass(frozen=True)
class SharedFiles:
    """Which paths lead to files of the environment, beside its own folders."""

    protected: tuple[Path, ...] = ()
    """Folders of package caches that share files with it, and paths that its symbolic links lead to."""
    unprotected: tuple[str, ...] = ()
    """Files of the environment with links that are neither in it nor in one of those folders."""


class _Links:
    """The links of the files in an environment."""

    def __init__(self) -> None:
        self.missing: dict[int, dict[int, int]] = {}
        """How many hard links of a file were not found yet, by device and inode, for files that this user can write."""
        self.names: dict[tuple[int, int], str] = {}
        self.symbolic: list[str] = []

    def add_folder(self, folder: Path, environment: set[Path]) -> None:
        """Add the files below a folder, except those of other folders of the environment."""
        missing, names = self.missing, self.names
        for entries in _walk(str(folder), environment):
            for entry in entries:
                if entry.is_symlink():
                    self.symbolic.append(entry.path)
                    continue
                status = entry.stat(follow_symlinks=False)
                if status.st_nlink > 1 and _can_change(status):
                    inodes = missing.setdefault(status.st_dev, {})
                    inodes[status.st_ino] = inodes.get(status.st_ino, status.st_nlink) - 1
                    names.setdefault((status.st_dev, status.st_ino), entry.path)

    def find_in_cache(self, cache: Path) -> bool:
        """Return whether a folder shares files with the environment, and count these links as found."""
        inodes, is_shared = self.missing.get(cache.stat().st_dev, {}), False
        for entries in _walk(str(cache)) if inodes else ():
            for entry in entries:
                inode = entry.inode()  # known from the folder: reading the status of each file takes longer
                if inode in inodes:
                    inodes[inode] -= 1
                    is_shared = True
        return is_shared

    def list_files_with_missing_links(self) -> list[str]:
        """Return the files with links that were not found, in order."""
        keys = (
            (device, inode) for device, inodes in self.missing.items() for inode, left in inodes.items() if left > 0
        )
        return sorted(self.names[key] for key in keys)


def find_shared_files(environment: Sequence[Path], caches: Iterable[Path], installation: Sequence[Path]) -> SharedFiles:
    """Return how files in the folders of an environment can be reached by other paths.

    `caches` are folders of package caches, and `installation` the folders that are protected already.
    """
    links = _Links()
    for folder in environment:
        links.add_folder(folder, set(environment))
    targets = {Path(os.path.realpath(link)) for link in links.symbolic}
    outside = {path for path in targets if not _is_inside(path, installation) and path.exists()}
    shared = [
        cache for cache in caches if links.find_in_cache(cache) or any(path.is_relative_to(cache) for path in outside)
    ]
    linked = sorted(path for path in outside if not _is_inside(path, shared))
    too_many = map(str, linked[MAX_LINKED_PATHS:])
    return SharedFiles((*shared, *linked[:MAX_LINKED_PATHS]), (*links.list_files_with_missing_links(), *too_many))


def _walk(folder: str, environment: set[Path] | None = None) -> Iterator[list["os.DirEntry[str]"]]:
    """Yield the entries of a folder and of those below it, without folders.

    With `environment`, folders that it lists and the packages of another environment are left out.
    """
    waiting = [folder]
    while waiting:
        try:
            with os.scandir(waiting.pop()) as scanned:
                entries = list(scanned)
        except OSError:  # it is gone, or this user cannot read it and so runs nothing in it
            continue
        folders = [entry for entry in entries if entry.is_dir(follow_symlinks=False)]
        if folders:
            entries = [entry for entry in entries if not entry.is_dir(follow_symlinks=False)]
            waiting += [entry.path for entry in folders if environment is None or _is_own(entry, environment)]
        yield entries


def _is_own(entry: "os.DirEntry[str]", environment: set[Path]) -> bool:
    """Return whether a folder is neither searched by itself nor the packages of the Python below an environment."""
    return entry.name not in _PACKAGE_FOLDERS and Path(entry.path) not in environment


def _can_change(status: os.stat_result) -> bool:
    """Return whether this user can write a file, or change its mode so that they can."""
    return os.geteuid() in (0, status.st_uid) or bool(status.st_mode & (S_IWGRP | S_IWOTH))


def _is_inside(path: Path, folders: Iterable[Path]) -> bool:
    return any(path.is_relative_to(folder) for folder in folders)
