"""Choose the files of a folder that the library reads, and skip the others."""

from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from operator import itemgetter
from pathlib import Path
from typing import Any

from clerkship.model.errors import InputProblem
from clerkship.suite_files.file_keys import (
    PLURAL_KEYS,
    begins_with_own_key,
    find_key_line,
    find_missing_key,
    find_misused_key,
    find_near_key,
    has_own_keys,
    is_test_file_by_keys,
    top_keys,
)
from clerkship.suite_files.source import Reporter, SourceFolder, read_text_or_empty
from clerkship.suite_files.yaml import YamlTree

EXPECTED_KEYS = "`task`, `scenario`, `test_cases`, `environment` or `dataset`"


@dataclass
class FolderFiles:
    """The YAML files of a folder: those that were read, and those that were skipped with the reason."""

    folder: SourceFolder
    reporter: Reporter
    _unread: dict[Path, Collection[str]] = field(default_factory=dict)
    """Top-level keys of files that have none of ours."""
    _skipped: dict[Path, InputProblem] = field(default_factory=dict)
    """The reason why each file is skipped, unless another file turns out to use it."""
    _empty: set[Path] = field(default_factory=set)
    """Skipped files that were read and contain nothing to load."""

    def read(self) -> Iterator[YamlTree]:
        """Read every file that has a key of ours, and yield those that no other file includes."""
        found = [(path, top_keys(path)) for path in self.folder.files()]
        trees = [(path, tree) for path, keys in found if keys and (tree := self._read(path, keys)) is not None]
        others = [path for path, keys in found if not keys]  # a list, mostly, which another file includes
        trees += [(path, tree) for path in others if (tree := self._read_unless_included(path)) is not None]
        trees.sort(key=itemgetter(0))
        for path, keys in self._unread.items():  # after all were read, because only then the included files are known
            if self.folder.resolve(path) not in self.folder.included:
                self._check_keys(path, keys)
        for path, tree in trees:
            if self.folder.resolve(path) in self.folder.included:
                continue
            misused = find_misused_key(tree.data)
            if misused is None:
                yield tree
            else:
                self._skip_other_tool(tree, misused)

    def skip(self, tree: YamlTree, reason: str) -> None:
        """Skip a file that was read and contains nothing to load."""
        self._skipped[Path(tree.file)] = InputProblem(file=tree.file, message=reason)
        self._empty.add(Path(tree.file))

    def skipped_files(self) -> dict[str, str]:
        """Return the reason by file; empty for a file of another tool. Files that others use are left out."""
        used = self.folder.used | self.folder.included
        return {
            str(path): problem.message if path not in self._unread else ""
            for path, problem in sorted(self._skipped.items())
            if not self._is_used(path, used)
        }

    def find_reason(self, path: Path) -> InputProblem | None:
        """Return why a file was skipped; None if it was not."""
        target = self.folder.resolve(path)
        if target in self.folder.included and not top_keys(path):
            self._read_without_keys(path)
        return next((reason for file, reason in self._skipped.items() if self.folder.resolve(file) == target), None)

    def _read_unless_included(self, path: Path) -> YamlTree | None:
        return None if self.folder.resolve(path) in self.folder.included else self._read_without_keys(path)

    def _read_without_keys(self, path: Path) -> YamlTree | None:
        """Read a file that has no keys in the first column, if it is ours nevertheless."""
        probe = self._probe(path)
        if isinstance(probe, InputProblem):
            self._skipped[path] = probe
            return None
        return self._read(path, probe)

    def _read(self, path: Path, keys: Collection[str]) -> YamlTree | None:
        if find_missing_key(keys) is None and (not keys or has_own_keys(path, keys)):
            return self.folder.read(path, allow_merge_keys=is_test_file_by_keys(keys))
        self._unread[path] = keys
        return None

    def _probe(self, path: Path) -> Collection[str] | InputProblem:
        """Return the keys of a file that has none in the first column, or why it is skipped.

        Return no keys if the file cannot be opened, or is meant to be ours. Then it is read to report its mistakes.
        """
        if not _can_open(path) or begins_with_own_key(path):
            return ()
        folder = SourceFolder(self.folder.root)
        tree = folder.read(path)
        if tree is None:
            return folder.report.sorted()[0]
        if isinstance(tree.data, dict) and tree.data:
            return tuple(tree.data)
        if _is_list_of_definitions(path, tree.data):
            return ()
        message = f"expected a map with {EXPECTED_KEYS}"
        hint = "files with text or a list can only be used by !include"
        return InputProblem(file=str(path), line=1, column=1, message=message, hint=hint)

    def _check_keys(self, path: Path, keys: Collection[str]) -> None:
        """Report a file whose keys nearly are ours; skip the file, unless only its top-level key is missing."""
        missing = find_missing_key(keys)
        if missing is not None:
            message, hint = f"`{missing}:` is missing", f"put the keys of this file under `{missing}:`, indented"
            self.reporter.mistakes.add_problem(
                InputProblem(file=str(path), line=1, column=1, message=message, hint=hint), silences=True
            )
            if missing == "environment":
                self.folder.unreadable_texts.append(f"environment:\n{read_text_or_empty(path)}")
            return
        self._skipped[path] = InputProblem(file=str(path), message=f"it has no {EXPECTED_KEYS}")
        for key in keys:
            near = find_near_key(key)
            if near is not None:
                problem = InputProblem(
                    file=str(path),
                    line=find_key_line(path, key) or 1,
                    column=1,
                    key=key,
                    message=f"unknown key `{key[:60]}`, so the file is skipped",
                    hint=f"did you mean `{near}`?",
                )
                self._skipped[path] = problem
                self.reporter.warnings.add_problem(problem)

    def _skip_other_tool(self, tree: YamlTree, key: str) -> None:
        """Skip a file in which a key of ours has another meaning, with a warning."""
        message = f"`{key}` is not a {'list' if key in PLURAL_KEYS else 'map'}, so the file is skipped"
        problem = tree.locate([key]).problem(message, "if the file is for another tool, there is nothing to do")
        self.skip(tree, message)
        self._skipped[Path(tree.file)] = problem
        self.reporter.warnings.add_problem(problem)

    def _is_used(self, path: Path, used: Collection[Path]) -> bool:
        """Return whether a file that was not read is included by another, or is part of a dataset."""
        file = self.folder.resolve(path)
        return path not in self._empty and any(place in used for place in (file, *file.parents))


def _can_open(path: Path) -> bool:
    try:
        with path.open("rb"):
            return True
    except OSError:
        return False


def _is_list_of_definitions(path: Path, data: Any) -> bool:
    items = data if isinstance(data, list) else []
    return any(isinstance(item, dict) and len(item) == 1 and has_own_keys(path, item) for item in items)
