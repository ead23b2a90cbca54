"""Files of one folder: found, read and parsed, with includes that cannot leave it."""

from dataclasses import dataclass, field
from pathlib import Path

from yaml.nodes import Node

from clerkship.library.yaml import BadYaml, Tree, parse
from clerkship.model.problem import Problem

SIZE_LIMIT = 1_000_000
DEEPEST_INCLUDE = 20
SUFFIXES = (".yml", ".yaml")


class Unreadable(Exception):
    """A file that cannot be taken, and why."""

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.message, self.hint = message, hint


@dataclass
class Folder:
    """A folder of YAML files and what went wrong reading them."""

    root: Path
    problems: list[Problem] = field(default_factory=list)
    included: set[str] = field(default_factory=set)
    _open: list[Path] = field(default_factory=list)

    def files(self) -> list[Path]:
        """Every YAML file in it, in order; hidden folders are left alone."""
        found = (path for path in self.root.rglob("*") if path.suffix in SUFFIXES and path.is_file())
        return sorted(path for path in found if not any(p.startswith(".") for p in path.relative_to(self.root).parts))

    def name(self, path: Path) -> str:
        """A file as messages call it: from the folder as the user gave it."""
        return str(path)

    def read(self, path: Path) -> Tree | None:
        """Parse one file; what is wrong with it is added to the problems."""
        try:
            return self._parse(path)
        except BadYaml as bad:
            where = str(self._open[-1]) if self._open else str(path)
            self._open.clear()
            self.problems.append(
                Problem(file=where, line=bad.line, column=bad.column, message=bad.message, hint=bad.hint)
            )
        except Unreadable as unreadable:
            self._open.clear()
            self.problems.append(Problem(file=str(path), message=unreadable.message, hint=unreadable.hint))
        return None

    def _parse(self, path: Path) -> Tree:
        text = read_text(path)
        self._open.append(path)
        tree = parse(text, str(path), lambda target, node: self._include(path, target, node))
        self._open.pop()
        return tree

    def _include(self, origin: Path, target: str, node: Node) -> Tree:
        line, column = node.start_mark.line + 1, node.start_mark.column + 1
        try:
            path = self.beside(origin, target)
            if path.resolve() in [opened.resolve() for opened in self._open]:
                chain = " -> ".join(opened.name for opened in [*self._open, path])
                raise Unreadable(f"includes go in a circle: {chain}")
            if len(self._open) > DEEPEST_INCLUDE:
                raise Unreadable(f"includes nested deeper than {DEEPEST_INCLUDE}")
            self.included.add(str(path.resolve()))
            return self._parse(path) if path.suffix in SUFFIXES else Tree(str(path), read_text(path), node, {})
        except Unreadable as unreadable:
            raise BadYaml(f"include {target}: {unreadable.message}", line, column, unreadable.hint) from None

    def beside(self, origin: Path, target: str) -> Path:
        """A file named in another, inside the folder and nowhere else, links followed."""
        path = origin.parent / target
        if Path(target).is_absolute() or not path.resolve().is_relative_to(self.root.resolve()):
            raise Unreadable("it is outside the folder", "keep everything a task needs beside it")
        if not path.exists():
            raise Unreadable("there is no such file")
        return path


def read_text(path: Path) -> str:
    """A text file of bearable size."""
    try:
        if path.is_dir():
            raise Unreadable("it is a folder")
        size = path.stat().st_size
        if size > SIZE_LIMIT:
            raise Unreadable(
                f"{size / 1e6:.1f} MB; a file may have {SIZE_LIMIT / 1e6:g} MB", "split it, or use a dataset"
            )
        data = path.read_bytes()
    except OSError as error:
        raise Unreadable(f"it cannot be read: {error.strerror}") from None
    if b"\0" in data:
        raise Unreadable("it is not a text file")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise Unreadable(f"it is not UTF-8 text: byte {error.start}") from None
