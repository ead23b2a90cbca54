"""Find phone trees: those that ship, those in a file of their own, and those of the lines of an environment."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from clerkship.formats.phone_tree.shipped import list_trees, load_tree
from clerkship.formats.phone_tree.tree import IvrTree
from clerkship.model.errors import InputError
from clerkship.model.names import did_you_mean
from clerkship.simulators.voice.hooks.registry import list_domain_kinds
from clerkship.simulators.voice.tree_source import find_tree_mistakes
from clerkship.suite_files.load import find_root
from clerkship.suite_files.source import SUFFIXES, SourceFolder
from clerkship.suite_files.validation_message import describe_validation_error
from clerkship.suite_files.yaml import KeyPath, YamlTree


@dataclass(frozen=True)
class FoundTree:
    """A phone tree, and the number of the line that it answers."""

    tree: IvrTree
    number: str = ""
    """Empty if the tree does not belong to a line."""


def find_trees(reference: str, line: str | None = None) -> list[FoundTree]:
    """Return the phone trees with a name, in a file, or of the lines that a file or the files beside it define.

    With `line`, only those of the line with this number. Raise InputError if there are none, or for mistakes in them.
    """
    path = Path(reference)
    if reference in list_trees() and not path.exists():
        if line is not None:
            raise InputError.of("--line is for files with lines", hint=f"`{reference}` is a tree that ships")
        return [FoundTree(load_tree(reference))]
    if not path.exists():
        hint = did_you_mean(reference, list_trees()) or f"trees that ship: {', '.join(list_trees())}"
        raise InputError.of(f"phone tree or file `{reference}` not found", hint=hint)
    if path.is_dir() or path.suffix not in SUFFIXES:
        raise InputError.of("it is not a YAML file", file=reference, hint=f"expected a name that ends in {SUFFIXES[0]}")
    return _select_line(_read_trees(path), path, line)


def _read_trees(path: Path) -> list[FoundTree]:
    """Return the trees in a file; if it has none, those of the other files of its suite."""
    folder = SourceFolder(find_root(path))
    file = _read_file(folder, path)
    if isinstance(file.data, dict) and "nodes" in file.data:
        return [FoundTree(_parse_tree(file, [], file.data))]
    trees = list(_find_lines(file, [], file.data))
    if not trees:
        others = (folder.read(other) for other in folder.files() if other.resolve() != path.resolve())
        trees = [each for other in others if other is not None for each in _find_lines(other, [], other.data)]
    if not trees:
        raise InputError.of(
            "it has no phone tree, and no line with one",
            file=str(path),
            hint="a tree has the keys name, start and nodes",
        )
    return trees


def _read_file(folder: SourceFolder, path: Path) -> YamlTree:
    file = folder.read(path)
    if file is None or folder.report.problems:
        raise InputError(folder.report.sorted())
    return file


def _find_lines(file: YamlTree, keys: KeyPath, data: Any) -> Iterator[FoundTree]:
    """Yield the tree of each map with a number and a tree, at any depth: a line, or a step that changes its menu."""
    if isinstance(data, dict):
        number, tree = data.get("number"), data.get("tree")
        if isinstance(number, str) and isinstance(tree, str | dict):
            yield FoundTree(_parse_tree(file, [*keys, "tree"], tree), number)
            return
        for key, value in data.items():
            yield from _find_lines(file, [*keys, key], value)
    elif isinstance(data, list):
        for index, value in enumerate(data):
            yield from _find_lines(file, [*keys, index], value)


def _parse_tree(file: YamlTree, keys: KeyPath, data: Any) -> IvrTree:
    """Return the tree at a place of a file: the name of one that ships, or a whole one."""
    if isinstance(data, str):
        if data not in list_trees():
            hint = did_you_mean(data, list_trees()) or f"expected {', '.join(list_trees())}"
            raise InputError([file.locate(keys).problem(f"there is no phone tree `{data}`", hint)])
        return load_tree(data)
    try:
        tree = IvrTree.model_validate(data)
    except ValidationError as error:
        problems = [build() for build in describe_validation_error(error, IvrTree, file, keys)]
        raise InputError(sorted(problems, key=lambda problem: (problem.line, problem.column))) from None
    mistakes = find_tree_mistakes(tree, None, list_domain_kinds())
    located = [file.locate([*keys, *each.path]).problem(each.message, each.hint) for each in mistakes]
    if located:
        raise InputError(located)
    return tree


def _select_line(trees: list[FoundTree], path: Path, line: str | None) -> list[FoundTree]:
    if line is None:
        return trees
    selected = [each for each in trees if each.number == line]
    if not selected:
        numbers = ", ".join(dict.fromkeys(each.number for each in trees if each.number))
        hint = f"expected {numbers}" if numbers else "the file is a tree, without lines"
        raise InputError.of(f"there is no line {line} with a phone tree", file=str(path), hint=hint)
    return selected
