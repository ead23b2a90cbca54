"""Labelled cases and calibration files beside scenarios, which say how far the judge can be trusted."""

import hashlib
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from clerkship.model.calibration import Calibration, CalibrationFile, Label, LabelledConversation, LabelledFile
from clerkship.model.errors import InputError
from clerkship.model.names import canonical_name, did_you_mean
from clerkship.suite_files.definition import Definition
from clerkship.suite_files.source import Reporter, SourceFolder, find_evaluation_folders
from clerkship.suite_files.validation_message import describe_validation_error, describe_value
from clerkship.suite_files.yaml import SourceLocation

M = TypeVar("M", bound=BaseModel)
LABELLED_KEY = "labelled"
Kinds = Mapping[str, type[BaseModel]]
_EVENT_ALIASES = {"slot_was_set": "slot_set", "memory_was_set": "memory_set", "memory_was_cleared": "memory_cleared"}
"""Events by the names of the assertions about them, where these differ."""
_KeyPath = list[int | str]
CALIBRATION_FILE_NAME = "calibration.json"


def load_model_file(path: Path, model: type[M]) -> M:
    """Load a file as a model. Raise InputError with every mistake."""
    folder = SourceFolder(path.resolve().parent)
    tree = folder.read(path)
    if tree is None or folder.report.problems:
        raise InputError(folder.report.sorted())
    try:
        return model.model_validate(tree.data)
    except ValidationError as error:
        raise InputError(find() for find in describe_validation_error(error, model, tree, [])) from None


@dataclass(frozen=True)
class LabelledItem:
    """A conversation with its labels, and the events of each turn."""

    conversation: LabelledConversation
    events: tuple[tuple[BaseModel, ...], ...]
    """Events by turn."""
    location: SourceLocation


@dataclass(frozen=True)
class LabelledSet:
    """The conversations of one file."""

    file: Path
    digest: str
    """The first characters of the file's SHA-256."""
    items: tuple[LabelledItem, ...]

    def labels(self) -> list[tuple[LabelledItem, Label]]:
        """Return every label with its conversation, in the order of the file."""
        return [(item, label) for item in self.items for label in item.conversation.labels]


def is_labelled(data: Any) -> bool:
    """Return whether a file is a labelled set."""
    return isinstance(data, dict) and LABELLED_KEY in data


def load_labelled(path: Path, kinds: Kinds) -> LabelledSet:
    """Load a labelled set. `kinds` are the agent events by the names used in the file, such as `flow_started`."""
    folder = SourceFolder(path.parent)
    tree = folder.read(path)
    if tree is None:
        raise InputError(folder.report.sorted())
    reader = _LabelledReader(Definition(LABELLED_KEY, tree, [], tree.data, Reporter(folder.report)), kinds)
    items = reader.items()
    problems = folder.report.sorted()
    if problems:
        raise InputError(problems)
    return LabelledSet(path, hashlib.sha256(path.read_bytes()).hexdigest()[:12], items)


@dataclass(frozen=True)
class _LabelledReader:
    """Reads one labelled set."""

    definition: Definition
    kinds: Kinds

    def items(self) -> tuple[LabelledItem, ...]:
        if not is_labelled(self.definition.data):
            self.definition.problem(
                [], "expected a map with `labelled`", "put the list of conversations under that key"
            )
            return ()
        file = self.definition.read(LabelledFile, self.definition.data)
        if file is None:
            return ()
        conversations = file.labelled
        self._check_duplicates(conversations)
        return tuple(
            LabelledItem(
                item,
                tuple(self._read_turn(number, place) for place in range(len(item.turns))),
                self.definition.locate(LABELLED_KEY, number),
            )
            for number, item in enumerate(conversations)
        )

    def _check_duplicates(self, conversations: tuple[LabelledConversation, ...]) -> None:
        names: set[str] = set()
        for number, item in enumerate(conversations):
            if item.name in names:
                self.definition.problem(
                    [LABELLED_KEY, number, "name"], f"two conversations have the name {item.name[:100]!r}"
                )
            names.add(item.name)
            criteria: set[str] = set()
            for place, label in enumerate(item.labels):
                if label.criterion.strip() in criteria:
                    self.definition.problem(
                        [LABELLED_KEY, number, "labels", place, "criterion"], "this criterion has two labels"
                    )
                criteria.add(label.criterion.strip())

    def _read_turn(self, number: int, place: int) -> tuple[BaseModel, ...]:
        path: _KeyPath = [LABELLED_KEY, number, "turns", place, "events"]
        written = self.definition.data[LABELLED_KEY][number]["turns"][place].get("events") or ()
        return tuple(event for at, item in enumerate(written) for event in self._read_events(item, [*path, at]))

    def _read_events(self, written: dict[str, Any], path: _KeyPath) -> Iterator[BaseModel]:
        """Yield the events of a map with one key, the event's name. Its value is the event's fields, the value of the
        first field, or a list of either.
        """
        if len(written) != 1:
            self.definition.problem(
                path, f"expected a map with one key, an event's name, not {describe_value(written)}"
            )
            return
        [(name, value)] = written.items()
        known = canonical_name(name).removeprefix("agent.").replace(".", "_")
        kind = self.kinds.get(_EVENT_ALIASES.get(known, known))
        if kind is None:
            hint = did_you_mean(known, [*self.kinds, *_EVENT_ALIASES]) or f"known: {', '.join(self.kinds)}"
            self.definition.problem([*path, name], f"unknown event `{name[:60]}`", hint, key=True)
            return
        if not isinstance(value, list):
            yield from self._read_event(kind, value, [*path, name])
            return
        for number, item in enumerate(value):
            yield from self._read_event(kind, item, [*path, name, number])

    def _read_event(self, kind: type[BaseModel], value: Any, path: _KeyPath) -> Iterator[BaseModel]:
        first = next(iter(kind.model_fields))
        event = self.definition.read(kind, value if isinstance(value, dict) else {first: value}, path)
        if event is not None:
            yield event


def find_calibration_file(root: Path) -> Path | None:
    """Return the calibration file of a folder of scenarios: its own, or the one of the `eval` folder above it."""
    folders = [root.resolve(), *find_evaluation_folders(root)]
    return next((place / CALIBRATION_FILE_NAME for place in folders if (place / CALIBRATION_FILE_NAME).is_file()), None)


def load_calibrations(path: Path) -> tuple[Calibration, ...]:
    """Return all calibrations in a file."""
    return load_model_file(path, CalibrationFile).calibrations


def check_writable(path: Path) -> None:
    """Check that a calibration can be saved to a file. Raise InputError if not, before any model is called."""
    if path.is_dir():
        raise InputError.of(
            "it is a folder", file=str(path), hint=f"give a file, such as {path / CALIBRATION_FILE_NAME}"
        )
    if path.exists():
        load_calibrations(path)
    existing = path if path.exists() else next(folder for folder in path.absolute().parents if folder.exists())
    if not (existing == path or existing.is_dir()):
        raise InputError.of("it is not a folder", file=str(existing))
    if not os.access(existing, os.W_OK):
        raise InputError.of("it cannot be written to", file=str(existing))


def save_calibration(path: Path, calibration: Calibration) -> None:
    """Write a calibration to a file. It replaces an older one of the same judge; others stay."""
    existing = load_calibrations(path) if path.exists() else ()
    others = [other for other in existing if other.judge != calibration.judge]
    every = sorted([*others, calibration], key=lambda each: each.judge.model_dump_json())
    text = CalibrationFile(calibrations=tuple(every)).model_dump_json(indent=2)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"{text}\n", encoding="utf-8")
    except OSError as error:
        raise InputError.of(f"it cannot be written: {error.strerror}", file=str(path)) from None
