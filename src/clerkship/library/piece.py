"""One thing that a file defines: a task, an environment, a dataset."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from clerkship.library.yaml import Spot, Tree


@dataclass(frozen=True)
class Piece:
    """One thing a file defines, and where."""

    sort: str
    tree: Tree
    path: list[int | str]
    data: Any

    @property
    def fields(self) -> dict[str, Any]:
        """Its keys and values, whatever they are; none if it is no map."""
        return self.data if isinstance(self.data, dict) else {}

    @property
    def name_key(self) -> str:
        """The key it is known by."""
        return "slug" if self.sort == "benchmark" else "name"

    @property
    def name(self) -> str:
        """What it is known by; empty if it says nothing that can be one."""
        name = self.fields.get(self.name_key)
        return name if isinstance(name, str) else ""

    @property
    def slug(self) -> str:
        """The name of its file, without folder and ending."""
        return Path(self.tree.file).stem

    def spot(self, *path: int | str) -> Spot:
        """Where something in it is written."""
        return self.tree.locate([*self.path, *path])

    def file(self, *path: int | str) -> Path:
        """The file something in it is written in: other files are named from there."""
        return Path(self.spot(*path).file)
