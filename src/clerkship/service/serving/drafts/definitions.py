"""Change the definitions of a draft in the text of its YAML files."""

import codecs
import re
from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import Any

from yaml.nodes import Node

from clerkship.model.server_objects import DraftKind
from clerkship.service.serving.drafts.objects import Place
from clerkship.service.serving.drafts.table import FileChanges
from clerkship.service.serving.drafts.yaml_editing import edit_yaml, get_at
from clerkship.service.serving.drafts.yaml_rendering import render_document
from clerkship.suite_files.source import SUFFIXES, SourceFolder, Unreadable, read_text
from clerkship.suite_files.yaml import InvalidYaml, YamlTree, build_text_tree, parse_yaml

_SLUG_LENGTH = 60
_FILES = {"benchmark": "benchmark.yml", "environment": "environment.yml"}
"""Where a definition is written if the draft has none of its kind yet."""


def set_definition(root: Path, place: Place, data: Any) -> FileChanges:
    """Return the changed file in which the value at a place is another one."""
    return {place.file: _edit(root, place.file, place.path, data).encode()}


def remove_definition(root: Path, place: Place) -> FileChanges:
    """Return the changed file without the value at a place; no file if nothing else is in it."""
    whole = _build_parser(root, place.file)(_read(root, place.file))
    path, inner = place.path, get_at(whole, place.path[:-1])
    items = inner.items() if isinstance(inner, dict) else enumerate(inner)
    kept = [(key, item) for key, item in items if key != path[-1]]
    left = dict(kept) if isinstance(inner, dict) else [item for _, item in kept]
    if left:
        return {place.file: _edit(root, place.file, path[:-1], left).encode()}
    return remove_definition(root, Place(place.file, path[:-1])) if len(path) > 1 else {place.file: None}


def choose_place(kind: DraftKind, data: Mapping[str, Any], taken: Collection[str]) -> Place:
    """Return where a new definition is written: a file that does not exist, and the key in it."""
    key = "scenario" if kind == "task" and "simulation_context" in data else kind
    file = _FILES.get(kind, "")
    if file and file not in taken:
        return Place(file, (key,))
    stem = name = to_slug(str(data.get("name", ""))) or kind
    number = 1
    while any(path.startswith((f"{key}s/{stem}.", f"{key}s/{stem}/")) for path in taken):
        number += 1
        stem = f"{name}-{number}"
    return Place(f"{key}s/{stem}.yml", (key,))


def render_definition(place: Place, data: Any) -> bytes:
    """Return the text of a new file with one definition."""
    return render_document({place.path[0]: data}).encode()


def to_slug(name: str) -> str:
    """Return a name in small letters, digits and hyphens; empty if it has no letter and no digit."""
    return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")[:_SLUG_LENGTH].strip("-")


def _edit(root: Path, file: str, path: tuple[int | str, ...], value: Any) -> str:
    mark = "\ufeff" if (root / file).read_bytes().startswith(codecs.BOM_UTF8) else ""
    return mark + edit_yaml(_read(root, file), path, value, _build_parser(root, file))


def _read(root: Path, file: str) -> str:
    return read_text(root / file)


def _build_parser(root: Path, file: str) -> Callable[[str], Any]:
    """Return a function that parses another text of a file, with the files that it includes."""
    folder = SourceFolder(root)

    def include(target: str, node: Node) -> YamlTree:
        try:
            path = folder.resolve_beside(root / file, target)
            tree = folder.read(path) if path.suffix in SUFFIXES else build_text_tree(str(path), read_text(path))
        except Unreadable as unreadable:
            raise InvalidYaml(unreadable.message, 1, 1) from None
        if tree is None:
            raise InvalidYaml(f"{target} cannot be read", 1, 1)
        return tree

    return lambda text: parse_yaml(text, file, include).data
