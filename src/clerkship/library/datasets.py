"""Datasets, from what a file says of them: records, files, or FHIR read or made up; each in its one form."""

import hashlib
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

import orjson

from clerkship import __version__
from clerkship.library.check import as_list, as_map
from clerkship.library.piece import Piece
from clerkship.library.resources.cache import Cache, Kept, key_of
from clerkship.library.resources.compile import Options, compile_all, when
from clerkship.library.resources.document import (
    Document,
    FileDocument,
    InlineDocument,
    left_alone,
    read_file,
    read_tree,
)
from clerkship.library.source import Folder, Unreadable, read_folder
from clerkship.model.dataset import Dataset, DatasetFile, Generate
from clerkship.model.environment import CONVERSATION, Environment
from clerkship.model.problem import InputError, Problem
from clerkship.synthetic import GENERATOR, lines

BUILT_IN = {"clinic-100": Generate(patients=100, seed=7)}
"""Known everywhere, without a file."""
_MAKERS = ("fhir/*.py", "fhir/tables/structures*", "library/resources/*.py", "synthetic/**/*.py", "model/dataset.py")
Take = Callable[[Problem], None]


class Disagreement(Exception):
    """Environments that use one dataset at different times."""


@dataclass
class Datasets:
    """Reads the datasets of one folder."""

    folder: Folder
    cache: Cache
    problem: Take
    warn: Take
    environments: Collection[Environment] = field(default_factory=list)

    def load(self, piece: Piece, written: DatasetFile) -> Dataset | None:
        """One that is written; None where something is wrong with it, which has been said then."""
        if written.type == "fhir":
            return self._load_fhir(piece, written)
        files = {path: text.encode() for path, text in written.files.items()}
        if written.folder is not None:
            try:
                files = read_folder(self.folder.beside(piece.file("folder"), written.folder)) | files
            except Unreadable as unreadable:
                self._unreadable(piece, "folder", written.folder, unreadable)
        return Dataset(name=written.name, type=written.type, records=written.records, files=files)

    def built_in(self, name: str) -> Dataset | None:
        """One that is known without a file; raises Disagreement."""
        return self._made(name, [], Options(), BUILT_IN[name], self._now(name))

    def _load_fhir(self, piece: Piece, written: DatasetFile) -> Dataset | None:
        try:
            moves = written.as_of is not None or written.generate is not None
            now = self._now(written.name) if moves else CONVERSATION.now
        except Disagreement as disagreement:
            key = "as_of" if written.as_of is not None else "generate"
            self._note(piece, key, str(disagreement), "give them the same `now`, or each a dataset of its own")
            return None
        documents = self._documents(piece, written)
        if documents is None:
            return None
        options = replace(when(written.as_of, now), validation=written.validation)
        return self._made(written.name, documents, options, written.generate, now)

    def _now(self, name: str) -> datetime:
        """When it is where a dataset is used: there may be several places, but only one time."""
        users = [place for place in self.environments if name in place.datasets]
        if not users:
            users = list(self.environments) if len(self.environments) == 1 else [CONVERSATION]
        if len({place.now for place in users}) > 1:
            told = ", ".join(f"{place.name} at {place.now.isoformat()}" for place in users[:5])
            raise Disagreement(f"the dates of `{name}` are around the now of its environments, and they differ: {told}")
        return users[0].now

    def _documents(self, piece: Piece, written: DatasetFile) -> list[Document] | None:
        found: list[Document] = [InlineDocument(piece, number, item) for number, item in enumerate(written.records)]
        for key in ("file", "folder"):
            target = getattr(written, key)
            if target is None:
                continue
            try:
                place = self.folder.beside(piece.file(key), target)
                found += [read_file(place)] if key == "file" else self._tree(place)
            except Unreadable as unreadable:
                self._unreadable(piece, key, target, unreadable)
                return None
        return found

    def _tree(self, folder: Path) -> list[FileDocument]:
        found = read_tree(folder)
        unread = left_alone(folder)
        if unread is not None:
            self.warn(unread)
        return found

    def _made(
        self, name: str, documents: Sequence[Document], options: Options, generate: Generate | None, now: datetime
    ) -> Dataset | None:
        parts = [orjson.dumps([options.validation, options.days, options.updated, __version__]), _makers()]
        parts += [part for document in documents for part in (document.name.encode(), document.digest)]
        if generate is not None:
            moment = now.astimezone(UTC).isoformat()
            parts.append(orjson.dumps([GENERATOR, generate.patients, generate.seed, moment]))
        inline_only = generate is None and all(isinstance(document, InlineDocument) for document in documents)
        key = key_of(parts) if not inline_only else ""
        kept = self.cache.load(key, name) if key else None
        if kept is not None:
            for number, warning in kept.warnings:
                self.warn(_moved(warning, documents, number))
            return kept.dataset
        beside = list(lines(generate.patients, generate.seed, now)) if generate is not None else []
        made = compile_all(documents, options, beside)
        for problem in made.problems:
            self.problem(problem)
        for warning in made.warnings:
            self.warn(warning)
        if made.problems:
            return None
        dataset = Dataset(name=name, type="fhir", lines=made.lines)
        if key:
            self.cache.save(key, Kept(dataset, tuple((_number(w, documents), w) for w in made.warnings)))
        return dataset

    def _unreadable(self, piece: Piece, key: str, target: str, unreadable: Unreadable) -> None:
        self._note(piece, key, f"{target}: {unreadable.message}", unreadable.hint)

    def _note(self, piece: Piece, key: str, message: str, hint: str) -> None:
        spot = piece.spot(key)
        place = {"file": spot.file, "line": spot.line, "column": spot.column}
        self.problem(Problem(**place, key=f"dataset.{key}", message=message, hint=hint))


def read_path(path: Path, cache: Cache, warn: Take) -> Dataset:
    """What a file of FHIR, or a folder of such files, comes to; raises InputError with all that is wrong."""
    problems: list[Problem] = []
    datasets = Datasets(Folder(path), cache, problems.append, warn)
    try:
        documents: list[Document] = [*datasets._tree(path)] if path.is_dir() else [read_file(path)]
    except Unreadable as unreadable:
        raise InputError.of(unreadable.message, file=str(path), hint=unreadable.hint) from None
    made = datasets._made(path.name, documents, Options(), None, CONVERSATION.now)
    if made is None:
        raise InputError(problems)
    return made


def made_up(name: str, now: datetime, cache: Cache) -> Dataset:
    """One of those that are known without a file, around some time."""
    place = CONVERSATION.model_copy(update={"now": now, "datasets": (name,)})
    made = Datasets(Folder(Path()), cache, _never, _never, [place]).built_in(name)
    assert made is not None  # nothing that is ours is wrong
    return made


def _never(problem: Problem) -> None:
    raise AssertionError(problem)


def named_built_in(pieces: Iterable[Piece]) -> dict[str, tuple[Piece, list[int | str]]]:
    """Which of those that are known without a file environments and tasks name, and where they first do."""
    found: dict[str, tuple[Piece, list[int | str]]] = {}
    for piece in pieces:
        places: list[tuple[list[int | str], Any]] = [
            (["datasets", number], name) for number, name in enumerate(as_list(piece.fields.get("datasets")))
        ]
        for number, entity in enumerate(as_list(piece.fields.get("entities"))):
            places.append((["entities", number, "dataset"], as_map(entity).get("dataset")))
        places.append((["for_each", "dataset"], as_map(piece.fields.get("for_each")).get("dataset")))
        for path, name in places:
            if isinstance(name, str) and name in BUILT_IN:
                found.setdefault(name, (piece, path))
    return found


def instead_of(name: str) -> str:
    """What to write where environments do not agree when it is."""
    made = BUILT_IN[name]
    generate = f"{{patients: {made.patients}, seed: {made.seed}}}"
    return f"give them the same `now`, or each a dataset of its own with `generate: {generate}`"


def _number(warning: Problem, documents: Sequence[Document]) -> int:
    files = [getattr(document, "file", "") for document in documents]
    return files.index(warning.file) if warning.file in files else -1


def _moved(warning: Problem, documents: Sequence[Document], number: int) -> Problem:
    """A warning about a file, wherever that is now."""
    return warning.model_copy(update={"file": getattr(documents[number], "file", "")}) if number >= 0 else warning


@cache
def _makers() -> bytes:
    """All that has a hand in what comes of a dataset: a version is raised for a release, and forgotten before it."""
    ours = Path(__file__).parent.parent
    files = [path for part in _MAKERS for path in sorted(ours.glob(part))]
    return hashlib.sha256(b"".join(hashlib.sha256(path.read_bytes()).digest() for path in files)).digest()
