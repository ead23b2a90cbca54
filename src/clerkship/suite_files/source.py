"""Find, read and parse the YAML files of one folder, and collect problems. Includes cannot leave the folder."""

import contextlib
import os
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from itertools import islice
from pathlib import Path

from yaml.nodes import Node

from clerkship.model.errors import InputError, InputProblem
from clerkship.model.names import find_nearest_name
from clerkship.suite_files.yaml import (
    InvalidYaml,
    KeyPath,
    ParseBudget,
    YamlTooLarge,
    YamlTree,
    build_text_tree,
    parse_yaml,
)

MAX_PROBLEMS = 100
FileLocation = tuple[str, int, int]
MAX_FILE_BYTES = 1_000_000
MAX_INCLUDE_DEPTH = 20
MAX_INCLUDES = 1000
MAX_DATASET_BYTES = 200_000_000
SUFFIXES = (".yml", ".yaml")
_LISTED_SIBLINGS = 1000
_BROKEN_LINK = "it is a broken link"


@dataclass
class ProblemReport:
    """The problems in a folder, each once. Problems at a silenced place are dropped."""

    problems: dict[InputProblem, None] = field(default_factory=dict)
    silenced: set[FileLocation] = field(default_factory=set)
    calls: int = 0
    """How often a problem was added, including duplicates."""
    _counts: dict[str, int] = field(default_factory=dict)

    def add(self, file: str, build: Callable[[], InputProblem], *, silences: bool = False) -> None:
        """Add a problem, unless its file has too many already. `build` is only called if the problem is needed."""
        self.calls += 1
        count = self._counts.get(file, 0)
        if count >= MAX_PROBLEMS:
            self._counts[file] = count + 1
            return
        problem = build()
        location = (problem.file, problem.line, problem.column)
        if location not in self.silenced and problem not in self.problems:
            self.problems[problem] = None
            self._counts[file] = count + 1
        if silences:
            self.silenced.add(location)

    def note(
        self, tree: YamlTree, path: KeyPath, message: str, hint: str = "", *, key: bool = False, silences: bool = False
    ) -> None:
        """Add a problem at a path, or at its key with `key`. With `silences`, drop further problems there."""
        self.add(tree.file, lambda: tree.locate(path, key=key).problem(message, hint), silences=silences)

    def add_problem(self, problem: InputProblem, *, silences: bool = False) -> None:
        """Add a problem that already has a place."""
        self.add(problem.file, lambda: problem, silences=silences)

    def sorted(self) -> list[InputProblem]:
        """Return all problems in the order of their places."""
        truncated = [
            InputProblem(file=file, message=f"and {count - MAX_PROBLEMS:,} more problems")
            for file, count in self._counts.items()
            if count > MAX_PROBLEMS
        ]
        return [*sorted(self.problems, key=lambda p: (p.file, p.line, p.column)), *truncated]


@dataclass
class Reporter:
    """The mistakes and the warnings of one folder."""

    mistakes: ProblemReport
    warnings: ProblemReport = field(init=False)

    def __post_init__(self) -> None:
        self.warnings = ProblemReport(silenced=self.mistakes.silenced)


class Unreadable(Exception):
    """The file cannot be used; `message` says why."""

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.message, self.hint = message, hint


EVALUATION_FOLDER = "eval"
"""The folder with the conftest and the calibration of all scenarios below it."""
MAX_PARENT_FOLDERS = 6


def find_evaluation_folders(folder: Path) -> list[Path]:
    """Return the folders above one, the nearest first, up to the `eval` folder.

    Return none if there is no such folder, or it is in another project or too far away. For a folder
    `scenarios`, the folder above counts as `eval`, whatever its name.
    """
    whole = folder.resolve()
    folders: list[Path] = []
    for parent in (
        [] if whole.name == EVALUATION_FOLDER or (whole / ".git").exists() else whole.parents[:MAX_PARENT_FOLDERS]
    ):
        folders.append(parent)
        if parent.name == EVALUATION_FOLDER:
            return folders
        if (parent / ".git").exists():
            break
    return [whole.parent] if whole.name == "scenarios" else []


PERSONAS_FOLDER = "personas"
"""A folder of personas that several folders of tasks share."""


def find_personas_folders(root: Path) -> list[Path]:
    """Return the shared `personas` folders: beside this folder, and beside the one above it."""
    places = root.resolve().parents[:2]
    return [
        place / PERSONAS_FOLDER
        for place in places
        if (place / PERSONAS_FOLDER).is_dir() and place / PERSONAS_FOLDER != root.resolve()
    ]


@dataclass
class SourceFolder:
    """A folder of YAML files, and the problems found while reading them."""

    root: Path
    report: ProblemReport = field(default_factory=ProblemReport)
    included: set[Path] = field(default_factory=set)
    """Every file whose text another file takes in, with links resolved."""
    used: set[Path] = field(default_factory=set)
    """Every file that was read, and every file or folder that one refers to, with links resolved."""
    unreadable_texts: list[str] = field(default_factory=list)
    """The texts of files that could not be parsed."""
    allow_merge_keys: bool = False
    """Whether merge keys are allowed, which files of other tools use."""
    _merges: bool = False
    """Whether merge keys are allowed in the file that is being read."""
    _open: list[Path] = field(default_factory=list)
    _budget: ParseBudget = field(default_factory=ParseBudget)
    _includes: int = 0
    _resolved: dict[Path, Path] = field(default_factory=dict)

    def files(self) -> list[Path]:
        """Return every YAML file in order, without hidden files and installed packages."""
        files: list[Path] = []
        for folder, folders, names in os.walk(self.root, onerror=self._report_unreadable_folder):
            folders[:] = [name for name in folders if not _is_ignored(Path(folder, name))]
            files += [Path(folder, name) for name in names if not name.startswith(".") and name.endswith(SUFFIXES)]
        return sorted(files)

    def open_other(self, folder: Path) -> "SourceFolder":
        """Return another folder that shares the report and the list of used files with this one."""
        return SourceFolder(folder, self.report, used=self.used)

    def _report_unreadable_folder(self, error: OSError) -> None:
        self._report(Path(str(error.filename)), f"it cannot be read: {error.strerror}")

    def read(self, path: Path, *, allow_merge_keys: bool = False) -> YamlTree | None:
        """Parse one file. If it cannot be read, add that to the report and return None."""
        self._budget, self._includes = ParseBudget(), 0
        self._merges = self.allow_merge_keys or allow_merge_keys
        try:
            if not self.resolve(path).is_relative_to(self.resolve(self.root)):
                raise Unreadable("it is a link to a file outside the folder", "copy the file into the folder")
            self.used.add(self.resolve(path))
            return self._parse(path)
        except InvalidYaml as bad:
            self.unreadable_texts.append(read_text_or_empty(path))
            self._report(path, bad.message, bad.hint, bad.line, bad.column)
        except Unreadable as unreadable:
            self.unreadable_texts.append(read_text_or_empty(path))
            self._report(path, unreadable.message, unreadable.hint)
        except RuntimeError:  # how pathlib before 3.13 reports links that go in a circle
            self._report(path, _BROKEN_LINK)
        finally:
            self._open.clear()
        return None

    def _report(self, path: Path, message: str, hint: str = "", line: int = 0, column: int = 0) -> None:
        problem = InputProblem(file=str(path), line=line, column=column, message=message, hint=hint)
        self.report.add_problem(problem, silences=True)

    def _parse(self, path: Path) -> YamlTree:
        text = read_text(path)
        self._budget.characters -= len(text)
        self._open.append(path)
        include = partial(self._include, path)
        tree = parse_yaml(text, str(path), include, self._budget, allow_merge_keys=self._merges)
        self._open.pop()
        for mistake in tree.mistakes:
            self._report(path, mistake.message, mistake.hint, mistake.line, mistake.column)
        return tree

    def _include(self, origin: Path, target: str, node: Node) -> YamlTree:
        open_files = list(self._open)
        try:
            path = self.resolve_beside(origin, target)
            self._check_include_limits(path, node)
            self.included.add(self.resolve(path))
            if path.suffix in SUFFIXES:
                return self._parse(path)
            text = read_text(path)
            self._budget.take(node, len(text))
            return build_text_tree(str(path), text)
        except Unreadable as unreadable:
            line, column = node.start_mark.line + 1, node.start_mark.column + 1
            raise InvalidYaml(f"include {target}: {unreadable.message}", line, column, unreadable.hint) from None
        except YamlTooLarge:
            raise
        except InvalidYaml as bad:
            self._report(path, bad.message, bad.hint, bad.line, bad.column)
            self._open = open_files
            return self._silence(origin, path, node)

    def _silence(self, origin: Path, path: Path, node: Node) -> YamlTree:
        """Return an empty tree for an included file that is invalid. Its mistake is already reported, so silence the
        rest.
        """
        self.report.silenced.add((str(origin), node.start_mark.line + 1, node.start_mark.column + 1))
        self.report.silenced.add((str(path), 1, 1))
        return YamlTree(str(path), None, build_text_tree(str(path), "").node)

    def _check_include_limits(self, path: Path, node: Node) -> None:
        self._includes += 1
        if self.resolve(path) in map(self.resolve, self._open):
            chain = " -> ".join(opened.name for opened in [*self._open, path])
            raise Unreadable(f"circular include: {chain}")
        if len(self._open) > MAX_INCLUDE_DEPTH:
            raise Unreadable(f"includes nested deeper than {MAX_INCLUDE_DEPTH}")
        if self._includes > MAX_INCLUDES:
            line, column = node.start_mark.line + 1, node.start_mark.column + 1
            raise YamlTooLarge(f"more than {MAX_INCLUDES} includes", line, column)

    def resolve(self, path: Path) -> Path:
        """Return the real path behind links; the result is cached."""
        if path not in self._resolved:
            self._resolved[path] = path.resolve()
        return self._resolved[path]

    def resolve_beside(self, origin: Path, target: str) -> Path:
        """Return the path of a file, relative to the file that refers to it. Raise Unreadable if it is outside the
        folder.
        """
        path = origin.parent / target
        try:
            if Path(target).is_absolute() or not self.resolve(path).is_relative_to(self.resolve(self.root)):
                raise Unreadable("it is outside the folder", "move it into the folder")
            if path.is_symlink() and not path.exists():
                raise Unreadable(_BROKEN_LINK)
            if not path.exists():
                raise Unreadable("there is no such file", f"paths are relative to {origin.name}")
        except OSError as error:
            raise Unreadable(f"it cannot be read: {error.strerror}") from None
        except RuntimeError:
            raise Unreadable(_BROKEN_LINK) from None
        except ValueError:
            raise Unreadable("it is not a valid file name") from None
        self.used.add(self.resolve(path))
        return path


def _is_ignored(folder: Path) -> bool:
    with contextlib.suppress(OSError):  # an unreadable folder is reported elsewhere
        return folder.name.startswith(".") or folder.name == "node_modules" or (folder / "pyvenv.cfg").exists()
    return False


def is_existing_folder(path: Path, missing: str, hint: str = "") -> bool:
    """Return whether a path is a folder. Raise InputError if it does not exist or cannot be read."""
    try:
        if not path.exists():
            raise InputError.of(missing, file=str(path), hint=_suggest_sibling(path) or hint)
        return path.is_dir()
    except OSError as error:
        raise InputError.of(f"it cannot be read: {error.strerror}", file=str(path)) from None


def _suggest_sibling(path: Path) -> str:
    """Return a hint with the path beside a missing one that is meant; empty if there is none."""
    siblings = islice(path.parent.iterdir(), _LISTED_SIBLINGS) if path.parent.is_dir() else ()
    nearest = find_nearest_name(path.name, [each.name for each in siblings])
    return f"did you mean `{path.parent / nearest}`?" if nearest is not None else ""


def read_text(path: Path) -> str:
    """Return the text of a file. Raise Unreadable if it is too large or not UTF-8 text."""
    try:
        if not path.is_file():
            raise Unreadable(
                "it is a folder" if path.is_dir() else _BROKEN_LINK if path.is_symlink() else "it is not a file"
            )
        size = path.stat().st_size
        if size > MAX_FILE_BYTES:
            limit = f"the limit is {MAX_FILE_BYTES / 1e6:g} MB"
            raise Unreadable(f"it has {size / 1e6:.1f} MB; {limit}", "split it, or put the data into a dataset")
        data = path.read_bytes()
    except OSError as error:
        raise Unreadable(f"it cannot be read: {error.strerror}") from None
    if b"\0" in data:
        raise Unreadable("it is not a text file", "save it as UTF-8 text")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise Unreadable(
            f"it is not UTF-8 text: byte {error.start} is 0x{data[error.start]:02x}", "save it as UTF-8 text"
        ) from None


def read_folder(folder: Path) -> dict[str, bytes]:
    """Return the content of every file in a folder, by relative path. Raise Unreadable."""
    if not folder.is_dir():
        raise Unreadable("it is not a folder")
    root = folder.resolve()
    files: dict[str, bytes] = {}
    size = 0
    try:
        for path in sorted(folder.rglob("*")):
            if path.is_file():
                size += path.stat().st_size
                _check_dataset_file(path, root, size)
                files[path.relative_to(folder).as_posix()] = path.read_bytes()
    except OSError as error:
        raise Unreadable(f"{Path(str(error.filename)).name} cannot be read: {error.strerror}") from None
    return files


def _check_dataset_file(path: Path, root: Path, size: int) -> None:
    if not path.resolve().is_relative_to(root):
        raise Unreadable(f"{path.name} is a link to a file outside the folder")
    if not path.name.isprintable():
        raise Unreadable(f"the name of the file {path.name!r} is not printable text")
    if size > MAX_DATASET_BYTES:
        raise Unreadable(f"it has more than {MAX_DATASET_BYTES // 1_000_000} MB")


def read_text_or_empty(path: Path) -> str:
    """Return the text of a file; empty if it cannot be read."""
    try:
        return read_text(path)
    except Unreadable:
        return ""
