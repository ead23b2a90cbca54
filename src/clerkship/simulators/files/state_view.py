"""What is shown of a file drop at one moment: its folders, and the text of files."""

from collections.abc import Iterator
from functools import partial
from typing import Any

from clerkship.sandbox.state_view import StateRow, ViewedTrial
from clerkship.simulators.files.state import FilesState
from clerkship.simulators.files.tree import split_path


def list_rows(state: FilesState, trial: ViewedTrial) -> Iterator[StateRow]:
    """List the files and folders, sorted by their path."""
    for entry in sorted(state.volume.tree.walk(), key=lambda entry: (split_path(entry.rstrip("/"))[0], entry)):
        path = entry.rstrip("/")
        folder, name = split_path(path)
        info = state.volume.info(path)
        if entry.endswith("/"):
            yield StateRow(path, f"{folder}/", f"{name}/", {"type": "folder"})
            continue
        data: bytes = state.records[path]
        facts: dict[str, Any] = {"at": info.modified.isoformat(), "bytes": len(data)}
        facts |= {} if info.complete else {"status": "incomplete"}
        yield StateRow(path, f"{folder}/", name, facts, partial(_read, facts, data))


def _read(facts: dict[str, Any], data: bytes) -> dict[str, Any]:
    try:
        text = data.decode()
    except UnicodeDecodeError:
        return facts
    return facts if "\0" in text else {**facts, "lines": text.splitlines()}
