"""What the agent told in files: partners read the same folders."""

import contextlib
from collections.abc import Iterator

import orjson

from clerkship.by_name import load
from clerkship.events.evidence import Evidence
from clerkship.sandbox.activity import Disclosure, TextPart
from clerkship.simulators.files.events import FileRenamed, FileWritten, FolderMade, FolderRenamed


def list_activity(evidence: Evidence, sandbox: str) -> Iterator[Disclosure]:
    """Yield each file that the agent wrote, and each name that it gave to a file or folder."""
    for event in evidence.of_kind(FileWritten.kind, FileRenamed.kind, FolderMade.kind, FolderRenamed.kind):
        if event.source != sandbox or event.actor != "agent":
            continue
        payload = event.payload
        if isinstance(payload, FileWritten):
            parts = (TextPart("name", payload.path), TextPart("content", read_content(payload.data)))
            yield Disclosure(event, "file", (_get_folder(payload.path),), parts)
        else:
            path = payload.path if isinstance(payload, FolderMade) else str(getattr(payload, "to", ""))
            yield Disclosure(event, "file", (_get_folder(path),), (TextPart("name", path),))


def read_content(data: bytes) -> str:
    """Return the text of a file; of JSON, each value with its name before it."""
    with contextlib.suppress(orjson.JSONDecodeError):
        content = orjson.loads(data)
        return "\n".join(load("clerkship.assertions.patients.subject:read_data")(content).lines)  # few files are JSON
    return data.decode("utf-8-sig", errors="replace")


def _get_folder(path: str) -> str:
    return path.rpartition("/")[0]
