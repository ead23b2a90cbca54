"""Paths that an isolated program can read but not change: the code that starts and grades later trials."""

import site
import sys
import sysconfig
from functools import cache
from pathlib import Path

from clerkship.actors.isolation import bubblewrap
from clerkship.actors.isolation.shared_files import SharedFiles, find_shared_files
from clerkship.settings import get_inherited_environment

PACKAGE = Path(__file__).resolve().parent.parent.parent
_INSTALLED = ("stdlib", "platstdlib", "purelib", "platlib", "scripts")


@cache
def installation() -> tuple[Path, ...]:
    """Return the folders of this package, of its Python and of bubblewrap, with links resolved.

    A folder inside another of them is left out.
    """
    places = [PACKAGE, Path(sys.prefix), Path(sys.base_prefix), *folder_of_link(Path(sys.base_prefix))]
    places += [Path(place) for name, place in sysconfig.get_paths().items() if name in _INSTALLED]
    places += [Path(site.getusersitepackages())] if site.ENABLE_USER_SITE else []
    places += [program.parent] if (program := bubblewrap.program_file()) is not None else []
    found = {place.resolve() for place in places if place.is_dir()} - {Path("/")}
    return tuple(sorted(place for place in found if not any(parent in found for parent in place.parents)))


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
    found = [entry for cache in caches if cache.is_dir() for entry in cache.iterdir()]
    packages = Path(sys.prefix).parent.parent / "pkgs"
    found += [packages] if Path(sys.prefix).parent.name == "envs" else []
    return sorted(entry.resolve() for entry in found if entry.is_dir())


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
