"""What a task keeps outside its own file, taken in when that is read: its solution, and what its steps name."""

import base64
import dataclasses
import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from clerkship.kit.registry import UnknownName
from clerkship.library.bind import Filler
from clerkship.library.catalog import Catalog
from clerkship.library.check import as_list, as_map
from clerkship.library.note import Path as Keys
from clerkship.library.piece import Piece
from clerkship.library.source import Folder, Unreadable, read_text
from clerkship.library.yaml import Tree
from clerkship.model.dataset import Dataset
from clerkship.model.names import did_you_mean
from clerkship.model.problem import Problem
from clerkship.model.variables import escape_text

MOST_STORED = 5_000_000
"""Bytes of a dataset's file that a step may take: each task keeps a copy with its run."""
_STEPS = (("scenario",), ("scenario", "steps"), ("setup", "steps"))
"""Where there may be steps, in a task or in a scenario file."""


class Tell(Protocol):
    """Where what is wrong is taken down."""

    def __call__(self, tree: Tree, path: Keys, message: str, hint: str = "", **how: bool) -> None:
        """At a path in a file."""
        ...


@dataclass(frozen=True)
class Beside:
    """Reads what the pieces of one folder name."""

    folder: Folder
    catalog: Catalog
    datasets: Mapping[str, Dataset]
    names: Callable[[], Collection[str]]
    """Of every dataset there is, well written or badly."""
    is_unknown: Callable[[str], bool]
    tell: Tell
    taken: set[str] = dataclasses.field(default_factory=set)
    """Datasets that steps take files from."""

    def solution(self, piece: Piece) -> str | None:
        """What `oracle` runs."""
        name = piece.fields.get("solution")
        if not isinstance(name, str):
            return None
        try:
            source = read_text(self.folder.beside(piece.file("solution"), name))
            compile(source, name, "exec")
        except Unreadable as unreadable:
            self.tell(piece.tree, [*piece.path, "solution"], f"{name}: {unreadable.message}", unreadable.hint)
        except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
            self.tell(piece.tree, [*piece.path, "solution"], f"{name}: not Python: {error}")
        else:
            return source
        return None

    def take_in(self, piece: Piece, data: dict[str, Any], filler: Filler | None = None) -> dict[str, Any]:
        """The data of a piece with the content of files where its steps name them; templates in them are filled in,
        where the piece has templates. What is run, and kept with the run, has no need of the files any more."""
        for place in _STEPS:
            if _at(data, place):
                data = _put(data, place, [self._step(piece, step, [*place, n], filler) for n, step in _at(data, place)])
        return data

    def _step(self, piece: Piece, step: Any, path: Keys, filler: Filler | None) -> Any:
        found = {
            name: self._args(piece, args, [*path, name], filler)
            for name, args in as_map(step).items()
            if name != "at" and isinstance(args, dict)
        }
        return {**step, **found} if found else step

    def _args(self, piece: Piece, args: dict[str, Any], path: Keys, filler: Filler | None) -> dict[str, Any]:
        try:
            model = self.catalog.step(str(path[-1]))
        except UnknownName:  # that is said elsewhere
            return args
        beside: Mapping[str, str] = getattr(model, "beside", {})
        stored: Mapping[str, tuple[str, str]] = getattr(model, "stored", {})
        for field, target in beside.items():
            if isinstance(args.get(field), str) and args.get(target) is None:
                args = self._from_file(piece, args, (field, target), path, filler)
        for field, (dataset, target) in stored.items():
            if all(isinstance(args.get(key), str) for key in (field, dataset)) and args.get(target) is None:
                args = self._from_dataset(piece, args, (field, dataset, target), path)
        return args

    def _from_file(
        self, piece: Piece, args: dict[str, Any], fields: tuple[str, str], path: Keys, filler: Filler | None
    ) -> dict[str, Any]:
        field, target = fields
        name, here = args[field], [*piece.path, *path, field]
        try:
            file = self.folder.beside(piece.file(*path, field), name)
            text = read_text(file)
        except Unreadable as unreadable:
            self.tell(piece.tree, here, f"{name}: {unreadable.message}", unreadable.hint, spoils=True)
            return args
        self.folder.included |= {file, self.folder.resolve(file)}

        def complain(offset: int, message: str, hint: str) -> None:
            lines = re.split(r"\r\n|\r|\n", text[:offset])  # of some messages the lines end in a carriage return
            place = {"line": len(lines), "column": len(lines[-1]) + 1}
            problem = Problem(file=str(file), **place, message=message, hint=hint)
            self.folder.report.add(str(file), lambda: problem)

        filled = escape_text(text) if filler is None else filler.fill_file(text, here, complain)
        return {key: value for key, value in args.items() if key != field} | {target: filled}

    def _from_dataset(
        self, piece: Piece, args: dict[str, Any], fields: tuple[str, str, str], path: Keys
    ) -> dict[str, Any]:
        field, named, target = fields
        name, here = args[named], [*piece.path, *path]
        dataset = self.datasets.get(name)
        self.taken.add(name)
        if dataset is None:
            if self.is_unknown(name):
                hint = did_you_mean(name, self.names()) or "there is no dataset here"
                self.tell(piece.tree, [*here, named], f"unknown dataset `{name[:100]}`", hint)
            return args
        data = dataset.files.get(args[field])
        if not self.catalog.dataset_type(dataset.type).has_files:
            hint = "name a dataset that holds files"
            self.tell(piece.tree, [*here, named], f"`{name}` is a dataset of type {dataset.type}, of no files", hint)
        elif data is None:
            hint = did_you_mean(args[field], dataset.files)
            self.tell(piece.tree, [*here, field], f"no file `{args[field][:100]}` in the dataset `{name}`", hint)
        elif len(data) > MOST_STORED:
            message = f"`{args[field]}` has {len(data) / 1e6:.1f} MB, and a step may take {MOST_STORED // 1_000_000} MB"
            self.tell(
                piece.tree, [*here, field], message, "name the dataset in the environment, to be there from the start"
            )
        else:
            kept = {key: value for key, value in args.items() if key not in (field, named)}
            return kept | {target: base64.b64encode(data).decode()}
        return args


def _at(data: Mapping[str, Any], path: tuple[str, ...]) -> list[tuple[int, Any]]:
    """The steps at a place, numbered; none where there is no list."""
    found: Any = data
    for key in path:
        found = as_map(found).get(key)
    return list(enumerate(as_list(found)))


def _put(data: dict[str, Any], path: tuple[str, ...], value: Any) -> dict[str, Any]:
    """The same data with another value at a place."""
    key, *rest = path
    return {**data, key: _put(data[key], tuple(rest), value) if rest else value}
