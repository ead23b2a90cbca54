"""The phone trees and the scripts of representatives that ship, by name."""

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from clerkship.formats.phone_tree.representative_script import RepresentativeScript
from clerkship.formats.phone_tree.tree import IvrTree

TREE_FOLDER = Path(__file__).parent / "trees"
REPRESENTATIVE_FOLDER = Path(__file__).parent / "representatives"
SUFFIX = ".yml"


@cache
def list_trees() -> tuple[str, ...]:
    """Return the names of the phone trees that ship."""
    return _list_names(TREE_FOLDER)


@cache
def list_representatives() -> tuple[str, ...]:
    """Return the names of the scripts of representatives that ship."""
    return _list_names(REPRESENTATIVE_FOLDER)


@cache
def load_tree(name: str) -> IvrTree:
    """Return a phone tree that ships. Raise ValueError if there is none of this name."""
    return IvrTree.model_validate(_read_file(TREE_FOLDER, name, "phone tree", list_trees()))


@cache
def load_representative(name: str) -> RepresentativeScript:
    """Return the script of a representative that ships. Raise ValueError if there is none of this name."""
    data = _read_file(REPRESENTATIVE_FOLDER, name, "representative", list_representatives())
    return RepresentativeScript.model_validate(data)


def _list_names(folder: Path) -> tuple[str, ...]:
    return tuple(sorted(path.stem for path in folder.glob(f"*{SUFFIX}")))


def _read_file(folder: Path, name: str, kind: str, names: tuple[str, ...]) -> Mapping[str, Any]:
    if name not in names:
        raise ValueError(f"unknown {kind} `{name}` (expected: {', '.join(names)})")
    data: Mapping[str, Any] = yaml.safe_load((folder / f"{name}{SUFFIX}").read_text(encoding="utf-8"))
    return data
