"""Paths that an isolated program can read but not change: code that starts and grades later trials, shared files."""

import os
import site
import sys
import sysconfig
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from stat import S_IWGRP, S_IWOTH

from clerkship.actors.isolation import bubblewrap
from clerkship.settings import get_inherited_environment

MAX_LINKED_PATHS = 50
"""Paths outside that links in the environment lead to. Each is protected by itself, which takes time at every start."""
_PACKAGE_FOLDERS = ("site-packages", "dist-packages")
PACKAGE = Path(__file__).resolve().parent.parent.parent
_INSTALLED = ("stdlib", "platstdlib", "purelib", "platlib", "scripts")


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


@cache
def installation() -> tuple[Path, ...]:
    """Return the folders of this package, of its Python and of bubblewrap, with links resolved.

    A folder inside another of them is left out.
    """
    places = [PACKAGE, Path(sys.prefix), Path(sys.base_prefix), *folder_of_link(Path(sys.base_prefix))]
    places += [Path(place) for name, place in sysconfig.get_paths().items() if name in _INSTALLED]
    places += [Path(site.getusersitepackages())] if site.ENABLE_USER_SITE else []
    places += [program.parent] if (program := bubblewrap.program_file()) is not None else []
    folders = {place.resolve() for place in places if place.is_dir()} - {Path("/")}
    return tuple(sorted(place for place in folders if not any(parent in folders for parent in place.parents)))


@cache
def shared_files() -> SharedFiles:
    """Return how files of this Python environment can be changed by other paths; searched once per process.

    A program cannot add such paths: it cannot link what is read-only.
    """
    return find_shared_files(_environment(), _package_caches(), installation())


def _environment() -> list[Path]:
    """Return the folders with the code that this Python runs, links resolved, without the packages of a Python below
    a virtual environment.
    """
    names = [name for name in _INSTALLED if name != "scripts" or sys.prefix != sys.base_prefix]
    places = {PACKAGE, *(Path(sysconfig.get_paths()[name]) for name in names)}
    places |= {Path(place) for place in sys.path if place.endswith(("site-packages", "dist-packages"))}
    return sorted({place.resolve() for place in places if place.is_dir()})


def _package_caches() -> list[Path]:
    """Return the folders of package caches: those in the caches of uv and pip, and conda's folder of packages.

    uv and pip also write to their caches when they only run something, so each of the folders is considered alone.
    """
    variables, home = get_inherited_environment(), Path.home()
    base = Path(variables.get("XDG_CACHE_HOME") or home / ".cache")
    caches = [Path(variables.get("UV_CACHE_DIR") or base / "uv"), Path(variables.get("PIP_CACHE_DIR") or base / "pip")]
    entries = [entry for cache in caches if cache.is_dir() for entry in cache.iterdir()]
    packages = Path(sys.prefix).parent.parent / "pkgs"
    entries += [packages] if Path(sys.prefix).parent.name == "envs" else []
    return sorted(entry.resolve() for entry in entries if entry.is_dir())


def folder_of_link(prefix: Path) -> list[Path]:
    """Return the folder of a Python that is reached by a link, as with `uv python`, because the link could be changed.

    The home folder and those above it are excluded.
    """
    home = Path.home()
    return [prefix.parent] if prefix.is_symlink() and prefix.parent not in (home, *home.parents) else []


def read_only(folder: Path | None) -> tuple[tuple[Path, ...], tuple[Path, ...]]:
    """Return the folders that a program cannot change, and its working folder if it lies in one of them and stays
    writable.
    """
    places = (*installation(), *shared_files().protected)
    work = folder.resolve() if folder is not None else None
    inside = work is not None and any(place in work.parents for place in places)
    return places, (work,) if work is not None and inside else ()
