"""Isolate the agent of a run: choose the level, and find the paths to hide from it."""

import atexit
import re
import shutil
import tempfile
from collections import defaultdict
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from glob import escape
from pathlib import Path
from typing import TYPE_CHECKING

from clerkship.actors.contract import Solver
from clerkship.actors.isolation.contract import LEVELS, NOT_ISOLATED, Isolated, Isolation, offered
from clerkship.actors.isolation.protected import PACKAGE, installation, shared_files
from clerkship.model.agent_domain import AgentCapabilities
from clerkship.model.errors import InputError, InputProblem
from clerkship.model.run import BenchmarkRun, IsolationLevel
from clerkship.model.run_options import IsolationMode
from clerkship.model.store_place import StorePlace, get_store_file
from clerkship.recording.cassette import cassette_path
from clerkship.settings import Settings
from clerkship.suite_files.library import Library
from clerkship.suite_files.published.places import OWN_FOLDER, is_archive, list_published_folders
from clerkship.suite_files.published.recordings import find_recordings
from clerkship.suite_files.source import SUFFIXES

if TYPE_CHECKING:
    from clerkship.actors.python_process import PythonProcessSolver

_BESIDE_STORE = ("reports", "up")
_COPY_MARK = re.compile(r"(~|#|\.(bak|backup|copy|old|orig|rej|save|sw[a-z]|tmp|un~|~\d+~)\d*)+$")
"""The ending of a copy's name: `NAME~`, `NAME.bak`, `NAME.orig`, `.NAME.swp`, `#NAME#`."""
_SUITES = (PACKAGE / "demo", *([PACKAGE.parent.parent / "suites"] if PACKAGE.parent.name == "src" else []))
"""The suites that ship: in the package, and beside `src` in a checkout."""
_HINTS: dict[IsolationLevel, str] = {
    "none": "install bubblewrap (`apt install bubblewrap` in Debian and Ubuntu), use a Linux kernel with Landlock "
    "(5.13 or later), or give `--isolate auto`",
    "trusted": "run it in a separate process with `--agent-process`, start it as a program with `command:`, or give "
    "`--isolate auto`",
    "remote": "isolate it where it runs, and give `--isolate auto`",
}
_COPY_HINT = (
    "install its packages as copies, with `uv sync --reinstall --link-mode copy`, or set UV_CACHE_DIR if the links are "
    "in a cache at another place"
)
MAX_NAMED_FILES = 3
_REASONS: dict[IsolationLevel, str] = {
    "none": "this machine cannot isolate programs",
    "trusted": "it runs in the process that grades it",
    "remote": "it runs on another machine",
}


def choose_level(solver: Solver, mode: IsolationMode) -> IsolationLevel:
    """Return the isolation level for a solver's agents. Raise InputError if they must be isolated and cannot be."""
    level: IsolationLevel = getattr(solver, "isolation", "trusted")
    if isinstance(solver, Isolated):
        level = "none" if mode == "never" else offered()[0]
    if mode == "always" and level in LEVELS and shared_files().unprotected:
        raise InputError.of(f"--isolate always: {describe_unprotected_files()}", hint=_COPY_HINT)
    if mode == "always" and level in _HINTS:
        reason = _REASONS[level]
        raise InputError.of(f"--isolate always: {solver.name} cannot be isolated: {reason}", hint=_HINTS[level])
    return level


def warn_unprotected_files(level: IsolationLevel | None) -> tuple[InputProblem, ...]:
    """Return a warning if an isolated agent can change files of this Python environment by other paths."""
    if level not in LEVELS or not shared_files().unprotected:
        return ()
    return (InputProblem(message=describe_unprotected_files(), hint=_COPY_HINT),)


def describe_unprotected_files() -> str:
    """Name files of this Python environment that an isolated agent can change."""
    files = shared_files().unprotected
    more = len(files) - MAX_NAMED_FILES
    named = ", ".join(files[:MAX_NAMED_FILES]) + (f" and {more:,} more" if more > 0 else "")
    return f"an agent can change files of this Python environment, because they have hard links elsewhere: {named}"


def choose_resumed_level(run: BenchmarkRun, solver: Solver, settings: Settings) -> IsolationLevel:
    """Return the isolation level for a resumed run. Raise InputError if it differs from that of the earlier trials."""
    mode: IsolationMode = "never" if run.isolation == "none" and settings.isolate == "auto" else settings.isolate
    level = choose_level(solver, mode)
    if run.isolation not in (None, level):
        raise InputError.of(
            f"{run.id} was started with isolation `{run.isolation}`, but here it would be `{level}`",
            hint=f"`clerkship rerun {run.id}` runs all of it again",
        )
    return level


def isolate_import(solver: Solver, level: IsolationLevel | None, files: Iterable[Path], store: StorePlace) -> None:
    """Isolate the processes that a solver starts before a run to import its agent; `files` are those of the tasks."""
    if isinstance(solver, Isolated) and level in LEVELS:
        file = get_store_file(store).resolve()
        with suppress(OSError):  # the folder of the store does not exist, or cannot be written
            atexit.register(
                _remove_if_empty, _create_private_root(file)
            )  # created now, so that it is hidden when a run starts
        hidden = find_masks((*files, *_list_store_paths(file)), (*solver.paths(), *installation()))
        solver.isolate(Isolation(level, hidden))


@contextmanager
def isolate_solver(
    solver: Solver, level: IsolationLevel | None, files: Iterable[Path], store: StorePlace
) -> Iterator[None]:
    """Isolate the programs that a solver starts inside the block; `files` are those of the tasks."""
    if not isinstance(solver, Isolated):
        yield
        return
    store_file = get_store_file(store).resolve()
    private = _create_private_folder(store_file)
    beside = [store_file.parent / name for name in _BESIDE_STORE if store_file.parent.name != OWN_FOLDER]
    for folder in beside:  # only existing folders can be hidden, and another run may write a report meanwhile
        folder.mkdir(exist_ok=True)
    hidden = find_masks((*files, *_list_store_paths(store_file)), (*solver.paths(), *installation()))
    program_level = level if level in LEVELS else "none"
    solver.isolate(Isolation(program_level, hidden, private))
    try:
        yield
    finally:
        solver.isolate(NOT_ISOLATED)
        shutil.rmtree(private, ignore_errors=True)
        for folder in (private.parent, *beside):
            _remove_if_empty(folder)


def _list_store_paths(file: Path) -> list[Path]:
    """Return the paths that hold earlier results: the store's folder if it contains nothing else, else the store's
    files and the private folders of its runs.
    """
    if file.parent.name == OWN_FOLDER:
        return [file.parent]
    return [*file.parent.glob(f"{escape(file.name)}*"), *(file.parent / name for name in _BESIDE_STORE)]


def _create_private_root(store: Path) -> Path:
    """Create and return the folder beside a store that holds the private folders of all its runs.

    The whole folder is hidden, so a program cannot see the private folders of runs that start later.
    """
    folder = store.with_name(f"{store.name}.private")
    if folder.is_symlink():
        folder.unlink()
    folder.parent.mkdir(parents=True, exist_ok=True)
    folder.mkdir(mode=0o700, exist_ok=True)
    return folder


def _create_private_folder(store: Path) -> Path:
    """Create the private folder of a run."""
    while True:
        folder = _create_private_root(store)
        with suppress(FileNotFoundError):  # another run removed the folder when it ended
            return Path(tempfile.mkdtemp(prefix="run-", dir=folder))


def _remove_if_empty(folder: Path) -> None:
    """Remove a folder beside the store, unless it contains something, such as the private folder of another run."""
    with suppress(OSError):
        folder.rmdir()


def get_solver_paths(solver: Solver) -> tuple[Path, ...]:
    """Return the paths that the programs of a solver need to see; none for other solvers."""
    return solver.paths() if isinstance(solver, Isolated) else ()


def find_task_files(root: Path, files: Iterable[Path], settings: Settings, shown: Iterable[Path]) -> tuple[Path, ...]:
    """Return the paths that reveal something about the tasks of a folder.

    These are the folder or its files, recordings, the history of the repository, the cache, the suites that ship, and
    published versions. `files` are those that were read from the folder, as in `Library.files`; `shown` are the
    agent's own paths.
    """
    task_paths = set(files)
    recordings = {cassette_path(file).parent for file in task_paths if not file.is_dir()}
    others = [*recordings, *_find_repository(root.resolve()), *_list_other_suites(root.resolve())]
    others += [*list_published_folders(), *([find_recordings(root)] if is_archive(root) else [])]
    others += _create_cache_folder(settings)
    own = {place for path in shown for place in (path.resolve(), path.absolute())}
    own |= {Path(tempfile.gettempdir()).resolve(), Path.home().resolve()}  # every program needs these
    return tuple(
        sorted(path for path in {*_select_task_paths(root.resolve(), task_paths, own), *others} if path.exists())
    )


def _list_other_suites(root: Path) -> list[Path]:
    """Return the folders with suites that ship, without those of the tasks themselves, which have their own rules."""
    suites: list[Path] = []
    for folder in _SUITES:
        if root != folder and root.is_relative_to(folder):
            suites += [suite for suite in folder.iterdir() if not root.is_relative_to(suite)]
        elif not folder.is_relative_to(root):
            suites.append(folder)
    return suites


def _create_cache_folder(settings: Settings) -> list[Path]:
    """Create and return the cache folder, because only existing folders can be hidden.

    A program that creates it could write entries that grade its own work, such as the OCR text of a fax.
    """
    if settings.cache is None:
        return []
    with suppress(OSError):
        settings.cache.mkdir(parents=True, exist_ok=True)
    return [settings.cache.resolve()]


def _select_task_paths(root: Path, files: set[Path], own: set[Path]) -> set[Path]:
    """Return the root if the agent is not in it. Else return the folders that do not contain the agent, and elsewhere
    the files with their copies.
    """
    if not _contains_any(root, own):
        files = {file for file in files if not file.is_relative_to(root)}
        return {root, *files, *_find_copies(files)}
    folders = {file.parent for file in files if root in file.parent.parents and not _contains_any(file.parent, own)}
    files = {file for file in files if folders.isdisjoint(file.parents)}
    return _merge_into_folders(root, {*folders, *files, *_find_copies(files)}, own)


def _contains_any(folder: Path, paths: set[Path]) -> bool:
    return any(path.is_relative_to(folder) for path in paths)


def _find_copies(files: set[Path]) -> set[Path]:
    """Return the copies that editors, tools and Python leave beside these files, and copies of other YAML files."""
    copies, names = set[Path](), defaultdict[Path, set[str]](set)
    for file in files:
        names[file.parent] |= {file.name, file.stem}
    for folder, known in names.items():
        with suppress(OSError):
            copies |= {
                entry for entry in folder.iterdir() if _is_copy(entry.name, known) and not _is_folder_link(entry)
            }
            copies |= {entry for entry in folder.glob("__pycache__/*.pyc") if entry.name.partition(".")[0] in known}
    return copies


def _is_folder_link(path: Path) -> bool:
    return path.is_symlink() and path.is_dir()


def _is_copy(name: str, known: set[str]) -> bool:
    original = _COPY_MARK.sub("", name.lstrip(".#"))
    return original != name and (original in known or original.endswith(SUFFIXES))


def _merge_into_folders(root: Path, files: set[Path], own: set[Path]) -> set[Path]:
    """Replace files by their folder if it contains nothing else except Markdown, from the deepest folder up to the
    root.

    Each mask costs time at every start of a program. Folders that contain the agent are not merged.
    """
    merged = set(files)
    folders = {parent for file in files for parent in file.parents if parent.is_relative_to(root)}
    for folder in sorted(folders, key=lambda path: len(path.parts), reverse=True):
        with suppress(OSError):
            entries = set(folder.iterdir())
            if not _contains_any(folder, own) and all(entry in merged or entry.suffix == ".md" for entry in entries):
                merged = (merged - entries) | {folder}
    return merged


def _find_repository(folder: Path) -> list[Path]:
    """Return the folders with the history of the repository around a folder; a worktree has several."""
    mark = next((place / ".git" for place in (folder, *folder.parents) if (place / ".git").exists()), None)
    if mark is None or mark.is_dir():
        return [mark] if mark is not None else []
    with suppress(OSError, ValueError):
        own = (mark.parent / mark.read_text(encoding="utf-8").removeprefix("gitdir:").strip()).resolve()
        common = own / "commondir"
        return [mark, own, *([(own / common.read_text(encoding="utf-8").strip()).resolve()] if common.exists() else [])]
    return [mark]


def find_masks(hidden: Iterable[Path], shown: Iterable[Path]) -> tuple[Path, ...]:
    """Return the paths to mask, absolute and with links resolved. A folder that contains a shown path is replaced by
    its other entries.
    """
    shown_paths = {path.resolve() for path in shown}
    mask_paths = {mask for path in hidden for mask in _find_path_masks(path.resolve(), shown_paths)}
    return tuple(sorted(path for path in mask_paths if not any(parent in mask_paths for parent in path.parents)))


def _find_path_masks(path: Path, shown: set[Path]) -> list[Path]:
    if not any(one.is_relative_to(path) for one in shown):
        return [path]
    if not path.is_dir():
        return []
    return [mask for entry in path.iterdir() if not entry.is_symlink() for mask in _find_path_masks(entry, shown)]


def read_isolated_capabilities(
    solver: "PythonProcessSolver", library: Library, settings: Settings
) -> AgentCapabilities:
    """Read the capabilities of an agent in a process that cannot see the files of the tasks."""
    level = choose_level(solver, settings.isolate)
    if level in LEVELS:
        files = find_task_files(library.root, library.files, settings, solver.paths())
        isolate_import(solver, level, files, settings.store)
    return solver.capabilities()
