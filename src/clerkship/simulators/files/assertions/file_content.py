"""What tells whom a file is about: its path, and its content."""

import csv

import orjson

from clerkship.assertions.narrowing import ItemContent
from clerkship.events.event import Event
from clerkship.events.evidence import Evidence
from clerkship.sandbox.changes import initial_records
from clerkship.simulators.files.content import decode_text
from clerkship.simulators.files.events import FileRenamed, FileWritten, FolderRenamed
from clerkship.simulators.files.state import FilesState

MAX_PARSED = 2_000_000
"""Characters of JSON or CSV that are read with the names of their values."""


def read_content(path: str, data: bytes) -> ItemContent:
    """Return the path and the text of a file; JSON and CSV with the name of each value before it."""
    text = decode_text(data, None, "replace")
    parsed = None
    if len(text) <= MAX_PARSED and text.lstrip()[:1] in ("{", "["):
        try:
            parsed = orjson.loads(text)
        except orjson.JSONDecodeError:
            parsed = None
    elif len(text) <= MAX_PARSED and path.lower().endswith(".csv"):
        parsed = _read_rows(text)
    return ItemContent([path.replace("/", " / "), text], data=parsed)


def read_content_at(evidence: Evidence, source: str, path: str, seq: int) -> ItemContent:
    """Return what a file said when an event happened. It may have had other paths before."""
    data, place = b"", path
    for event in reversed(evidence.of_kind(FileWritten.kind, FileRenamed.kind, FolderRenamed.kind)):
        if event.seq > seq or event.source != source:
            continue
        if isinstance(event.payload, FileWritten):
            if event.payload.path == place:
                return read_content(path, event.payload.data)
        else:
            place = _find_earlier_path(event, place)
    state = evidence.states.get(source)
    if isinstance(state, FilesState):
        data = initial_records(state.records).get(place, b"")
    return read_content(path, data)


def _find_earlier_path(event: Event, path: str) -> str:
    """Return the path that a file had before it or its folder was renamed."""
    match event.payload:
        case FileRenamed(path=earlier, to=to) if to == path:
            return earlier
        case FolderRenamed(path=earlier, to=to) if path.startswith(f"{to}/"):
            return earlier + path.removeprefix(to)
    return path


def _read_rows(text: str) -> list[dict[str, str]]:
    try:
        return [
            {str(name): str(value) for name, value in row.items()}
            for row in csv.DictReader(text.splitlines(), strict=True)
        ]
    except csv.Error:
        return []
