"""The definitions in the files of a folder, and their names."""

import re
from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from clerkship.model.names import did_you_mean
from clerkship.suite_files.calibration import LABELLED_KEY, is_labelled
from clerkship.suite_files.conftest import is_conftest
from clerkship.suite_files.definition import Definition
from clerkship.suite_files.file_keys import TEST_KEYS
from clerkship.suite_files.folder_files import EXPECTED_KEYS, FolderFiles
from clerkship.suite_files.foreign import find_unsupported_tests, is_test_file
from clerkship.suite_files.source import Reporter, SourceFolder
from clerkship.suite_files.yaml import KeyPath as Keys
from clerkship.suite_files.yaml import YamlTree

_ONE_PER_FILE = ("scenario",)
"""Kinds of which a file has at most one, identified by the file's name."""
_SCENARIO_KEYS = ("simulation_context", "setup", "goals")
_KINDS = ("task", "environment", "dataset", "benchmark", "persona")
_PLURALS = {f"{kind}s": kind for kind in _KINDS}
_NAMED_BY_FILE = ("scenario", "e2e", "conftest", LABELLED_KEY)
"""Kinds of definition that are identified by the name of their file."""


@dataclass
class FolderDefinitions:
    """The definitions of a folder by kind and name, valid or not."""

    folder: SourceFolder
    reporter: Reporter
    built_in: Collection[str]
    """Names of datasets that need no file."""
    scenarios: set[str] = field(default_factory=set)
    """Names of scenarios and of their files."""
    labels: Counter[str] = field(default_factory=Counter)
    """How many scenarios have a name."""
    files: FolderFiles = field(init=False)
    _defined: dict[str, dict[str, Definition]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.files = FolderFiles(self.folder, self.reporter)

    def read(self) -> list[Definition]:
        """Read every file, and return its definitions."""
        definitions = [definition for tree in self.files.read() for definition in self._of_file(tree)]
        for definition in definitions:
            self.define(definition)
        return definitions

    def _of_file(self, tree: YamlTree) -> list[Definition]:
        if not isinstance(tree.data, dict) or not tree.data:
            message = f"expected a map with {EXPECTED_KEYS}"
            self.reporter.mistakes.note(tree, [], message, "files with text or a list can only be used by !include")
            return []
        kind = _classify_file(tree)
        unsupported = find_unsupported_tests(tree) if kind == "e2e" else ""
        if unsupported:
            self.files.skip(tree, unsupported)
            return []
        return [self._definition(kind, tree, [], tree.data)] if kind is not None else self.split_file(tree)

    def split_file(self, tree: YamlTree) -> list[Definition]:
        """Split a file that is a map of definitions; report unknown keys."""
        whole = tree.data.items() if isinstance(tree.data, dict) else ()
        return [definition for key, value in whole for definition in self._split(tree, key, value)]

    def _split(self, tree: YamlTree, key: str, value: Any) -> list[Definition]:
        if key in _KINDS or key in _ONE_PER_FILE:
            return [self._definition(key, tree, [key], value)]
        if key in _PLURALS and isinstance(value, list):
            return [self._definition(_PLURALS[key], tree, [key, number], item) for number, item in enumerate(value)]
        if key in _PLURALS:
            hint = f"write `{_PLURALS[key]}` for a single definition"
            self.reporter.mistakes.note(tree, [key], f"expected a list under `{key}`", hint)
        else:
            hint = did_you_mean(key, [*_PLURALS, *_KINDS, *_ONE_PER_FILE, *TEST_KEYS])
            if key in _SCENARIO_KEYS:
                hint = "put it under `scenario:`, indented"
            self.reporter.mistakes.note(tree, [key], f"unknown key `{key[:60]}`", hint, key=True)
        return []

    def _definition(self, kind: str, tree: YamlTree, path: Keys, data: Any) -> Definition:
        return Definition(kind, tree, path, data, self.reporter)

    def define(self, definition: Definition) -> None:
        """Register a definition; report a second one of the same kind and name."""
        if definition.kind == "scenario":
            self.scenarios |= {definition.name, definition.slug}
            self.labels[definition.name] += 1
        if definition.kind in _NAMED_BY_FILE:
            return
        first = self._defined.setdefault(definition.kind, {}).setdefault(definition.name, definition)
        if definition.name and first is not definition:
            other = first.locate(first.name_key)
            message = f"two {definition.kind}s are called {definition.name[:100]!r}"
            hint = f"the other is at {other.text}"
            definition.problem([definition.name_key], message, hint)

    def get(self, kind: str, name: str) -> Definition | None:
        return self._defined.get(kind, {}).get(name)

    def has_any(self, kind: str) -> bool:
        """Return whether there is a definition of this kind, named or not, or one in a file that could not be read."""
        key = re.compile(rf"""^["'{{ ]*{kind}s?["']?[ \t]*:""", re.MULTILINE)
        return bool(self._defined.get(kind)) or any(key.search(text) for text in self.folder.unreadable_texts)

    def names(self, kind: str) -> list[str]:
        """Return all names of a kind, of valid and invalid definitions."""
        built_in = self.built_in if kind == "dataset" else ()
        return [name for name in dict.fromkeys((*self._defined.get(kind, {}), *built_in)) if name]

    def is_unknown(self, kind: str, name: str) -> bool:
        """Return whether a name is not defined, and does not occur in a file that could not be read."""
        return name not in self.names(kind) and not any(name in text for text in self.folder.unreadable_texts)


def _classify_file(tree: YamlTree) -> str | None:
    """Return the kind of a file that is one definition as a whole; None if it is a map of definitions."""
    if is_conftest(Path(tree.file), tree.data):
        return "conftest"
    return "e2e" if is_test_file(tree) else LABELLED_KEY if is_labelled(tree.data) else None
