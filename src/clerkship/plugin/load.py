"""Plug-ins found by their entry points. One that is broken is data, with its reason; it breaks nothing else."""

import contextlib
import sys
import traceback
from dataclasses import dataclass
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path

from clerkship.domains.component import InvalidSpec
from clerkship.plugin.contract import BadPlugin, Claim, claims

GROUP = "clerkship.plugins"
_OURS = Path(__file__).parent.parent


@dataclass(frozen=True)
class Found:
    """A plug-in that is installed: its prefix, and the package it comes from."""

    prefix: str
    package: str
    version: str

    def __str__(self) -> str:
        """As messages name it."""
        return f"plug-in `{self.prefix}` ({self.package} {self.version})"


@dataclass(frozen=True)
class Loaded(Found):
    """One that can be used."""

    claims: tuple[Claim, ...]


@dataclass(frozen=True)
class Broken(Found):
    """One that cannot, and why."""

    reason: str

    def __str__(self) -> str:
        """As a warning says it."""
        return f"{super().__str__()} is broken: {self.reason}"


@dataclass(frozen=True)
class Installed:
    """All that are installed, by prefix; none where they are turned off."""

    found: tuple[Loaded | Broken, ...] = ()
    off: bool = False


NONE = Installed()


def discover() -> Installed:
    """Import what is installed. Its packages are other people's: whatever they do on import becomes a reason."""
    points = entry_points(group=GROUP)
    return Installed(tuple(load(point) for point in sorted(points, key=lambda point: (point.name, _package(point)))))


def load(point: EntryPoint) -> Loaded | Broken:
    """One plug-in, or what is wrong with it. What it prints goes to standard error: the other is for verdicts."""
    about = (point.name, _package(point), point.dist.version if point.dist is not None else "?")
    try:
        with contextlib.redirect_stdout(sys.stderr):
            return Loaded(*about, claims(point.load(), point.name))
    except (BadPlugin, InvalidSpec) as bad:
        return Broken(*about, str(bad))
    except (Exception, SystemExit) as error:  # foreign code, on import: it may raise what it likes
        return Broken(*about, _told(error))


def _package(point: EntryPoint) -> str:
    return point.dist.name if point.dist is not None else "?"


def _told(error: BaseException) -> str:
    """The error in a line, with where it was raised."""
    said = " ".join(traceback.format_exception_only(error)[-1].split())
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if _is_theirs(frame.filename)]
    return f"{said} ({Path(frames[-1].filename).name}:{frames[-1].lineno})" if frames else said


def _is_theirs(file: str) -> bool:
    return not file.startswith("<") and not Path(file).is_relative_to(_OURS) and "importlib" not in Path(file).parts
