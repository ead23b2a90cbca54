"""Paths that an isolated program can read but not change: the code that starts and grades later trials."""

import site
import sys
import sysconfig
from functools import cache
from pathlib import Path

from clerkship.actors.isolation import bubblewrap

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
    places = installation()
    work = folder.resolve() if folder is not None else None
    inside = work is not None and any(place in work.parents for place in places)
    return places, (work,) if work is not None and inside else ()
