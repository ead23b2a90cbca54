"""The files that a run depends on: those of the suite, the agent and scripted models. Changes are found by polling."""

import importlib.util
import os
import shlex
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from clerkship.service.planning.request import RunRequest, split_case
from clerkship.suite_files.load import find_root

FileState = tuple[int, int]
"""The time of the last change in nanoseconds, and the size."""
MAX_FILES = 20_000
"""Files that are watched, at most; more are not looked at."""
_IGNORED_FOLDERS = {"__pycache__", "node_modules", "cassettes", "results"}
"""Folders of caches and packages, and those that a run itself writes to."""


@dataclass(frozen=True)
class WatchedFiles:
    """Files and folders that a run depends on, and files that it writes."""

    paths: tuple[Path, ...]
    written: frozenset[Path] = frozenset()

    def read_states(self) -> dict[Path, FileState]:
        """Return the state of every file that exists."""
        states: dict[Path, FileState] = {}
        for file in self._files():
            if len(states) >= MAX_FILES:
                break
            try:
                status = file.stat()
            except OSError:
                continue
            if file not in self.written:
                states[file] = (status.st_mtime_ns, status.st_size)
        return states

    def _files(self) -> Iterator[Path]:
        for path in self.paths:
            if not path.is_dir():
                yield path
                continue
            for folder, folders, names in os.walk(path):
                folders[:] = [name for name in folders if not _is_ignored(Path(folder, name))]
                yield from (Path(folder, name) for name in sorted(names) if not name.startswith("."))


def find_changes(before: Mapping[Path, FileState], after: Mapping[Path, FileState]) -> list[Path]:
    """Return the files that were changed, added or removed."""
    return sorted(path for path in before.keys() | after.keys() if before.get(path) != after.get(path))


def find_watched_files(request: RunRequest, written: Iterable[Path] = ()) -> WatchedFiles:
    """Return the files of the suite, the agent, the domain and scripted models of a request."""
    path, _ = split_case(request.path)
    paths = [find_root(path), *([request.domain] if request.domain is not None else [])]
    if isinstance(request.agent, str):
        paths += _find_agent_files(request.agent)
    for model in filter(None, (request.judge, request.person)):
        kind, _, name = model.partition(":")
        paths += [Path(name)] if kind == "scripted" else []
    return WatchedFiles(tuple(dict.fromkeys(map(_normalize, paths))), frozenset(map(_normalize, written)))


def _find_agent_files(agent: str) -> list[Path]:
    """Return the folder of a package, the Python files beside a module, or the files that a command names."""
    kind, _, target = agent.partition(":")
    if kind == "python":
        return _find_module_files(target.partition(":")[0])
    if kind == "command":
        try:
            words = shlex.split(target)
        except ValueError:
            return []
        return [path for path in map(Path, words) if path.is_file() and not path.is_absolute()]
    return []


def _find_module_files(module: str) -> list[Path]:
    """Return the files of a module without importing it: its package, or itself and the modules beside it."""
    top = module.partition(".")[0]
    if (Path.cwd() / top).is_dir():
        return [Path(top)]
    if Path(f"{top}.py").is_file():
        return [Path(f"{top}.py"), *sorted(Path().glob("*.py"))]
    try:
        spec = importlib.util.find_spec(top) if top not in sys.builtin_module_names else None
    except (ImportError, ValueError):
        return []
    if spec is None or spec.origin is None:
        return [Path(f"{top}.py")]  # it may be created later
    return [Path(folder) for folder in spec.submodule_search_locations or ()] or [Path(spec.origin)]


def _normalize(path: Path) -> Path:
    return Path(os.path.normpath(Path.cwd() / path))


def _is_ignored(folder: Path) -> bool:
    return folder.name.startswith(".") or folder.name in _IGNORED_FOLDERS or (folder / "pyvenv.cfg").exists()
