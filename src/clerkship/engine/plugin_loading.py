"""Find and load plug-ins by their entry points. A broken one is reported with its reason and does not affect others."""

import contextlib
import sys
import traceback
from dataclasses import dataclass
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path

from clerkship.engine.plugin_contract import InvalidPlugin, NameClaim, collect_claims
from clerkship.sandbox.component import InvalidSpec

ENTRY_POINT_GROUP = "clerkship.plugins"
_OWN_FOLDER = Path(__file__).parent.parent


@dataclass(frozen=True)
class InstalledPlugin:
    """An installed plug-in: its prefix, and the package that it comes from."""

    prefix: str
    package: str
    version: str

    def __str__(self) -> str:
        return f"plug-in `{self.prefix}` ({self.package} {self.version})"


@dataclass(frozen=True)
class LoadedPlugin(InstalledPlugin):
    """A plug-in that was loaded."""

    claims: tuple[NameClaim, ...]


@dataclass(frozen=True)
class BrokenPlugin(InstalledPlugin):
    """A plug-in that could not be loaded, and why."""

    reason: str

    def __str__(self) -> str:
        return f"{super().__str__()} is broken: {self.reason}"


@dataclass(frozen=True)
class InstalledPlugins:
    """All installed plug-ins, in order of prefix; none if plug-ins are disabled."""

    plugins: tuple[LoadedPlugin | BrokenPlugin, ...] = ()
    is_disabled: bool = False


NO_PLUGINS = InstalledPlugins()


def discover_plugins() -> InstalledPlugins:
    """Import all installed plug-ins. Any exception on import becomes the reason of a broken plug-in."""
    points = entry_points(group=ENTRY_POINT_GROUP)
    return InstalledPlugins(
        tuple(load_plugin(point) for point in sorted(points, key=lambda point: (point.name, _get_package_name(point))))
    )


def load_plugin(point: EntryPoint) -> LoadedPlugin | BrokenPlugin:
    """Load one plug-in, or return what is wrong with it. Its output goes to stderr, because stdout is for results."""
    about = (point.name, _get_package_name(point), point.dist.version if point.dist is not None else "?")
    try:
        with contextlib.redirect_stdout(sys.stderr):
            return LoadedPlugin(*about, collect_claims(point.load(), point.name))
    except (InvalidPlugin, InvalidSpec) as bad:
        return BrokenPlugin(*about, str(bad))
    except (Exception, SystemExit) as error:  # third-party code may raise anything on import
        return BrokenPlugin(*about, _describe_error(error))


def _get_package_name(point: EntryPoint) -> str:
    return point.dist.name if point.dist is not None else "?"


def _describe_error(error: BaseException) -> str:
    """Return an error in one line, with the file and line in the plug-in that raised it."""
    message = " ".join(traceback.format_exception_only(error)[-1].split())
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if _is_plugin_file(frame.filename)]
    return f"{message} ({Path(frames[-1].filename).name}:{frames[-1].lineno})" if frames else message


def _is_plugin_file(file: str) -> bool:
    return (
        not file.startswith("<") and not Path(file).is_relative_to(_OWN_FOLDER) and "importlib" not in Path(file).parts
    )
