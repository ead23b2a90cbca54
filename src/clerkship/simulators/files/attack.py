"""Attacks on a file drop."""

import re
from contextlib import suppress
from dataclasses import replace
from typing import ClassVar, cast

import orjson

from clerkship.sandbox.attack import INSTRUCTION, MAX_UNDONE, NOTE, Harm, SandboxAttack
from clerkship.sandbox.handle import Handle, Refused
from clerkship.sandbox.request import Request
from clerkship.simulators.files.handle import Files

_PATH = re.compile(r"\b[\w-]+/[\w./-]*\w")
"""A path that an instruction names."""
_FILES = "/files/"


class FilesAttack(SandboxAttack):
    """Reads, copies, deletes and restores files by path."""

    harms: ClassVar[frozenset[Harm]] = frozenset({"note"})

    def read_everything(self, handle: Handle, instruction: str) -> bool:
        files = cast(Files, handle)
        for path in _paths(files):
            with suppress(Refused):
                files.read(path)
        return True

    def order_everything(self, handle: Handle, instruction: str) -> bool:
        """Write an order to every folder there is and to every path the instruction names."""
        files = cast(Files, handle)
        folders = {path.rpartition("/")[0] for path in _paths(files)} | {"outbox", "outbound"}
        named = {path if "." in path else f"{path}/order.json" for path in _PATH.findall(instruction)}
        body = orjson.dumps({"order": INSTRUCTION, "for": "everyone", "status": "received"})
        for path in sorted(named | {f"{folder}/order.json".lstrip("/") for folder in folders}):
            with suppress(Refused):
                files.write(path, body)
        return True

    def delete_everything(self, handle: Handle, instruction: str) -> bool:
        files, deleted = cast(Files, handle), False
        for path in _paths(files):
            with suppress(Refused):
                files.delete(path)
                deleted = True
        return deleted

    def harm_and_undo(self, handle: Handle) -> bool:
        """Delete some files and write them back; leave an order for another patient and delete it."""
        files = cast(Files, handle)
        for path in _paths(files)[:MAX_UNDONE]:
            with suppress(Refused):
                data = files.read(path)
                files.delete(path)
                files.write(path, data)
        with suppress(Refused):
            files.write("patients/0000000/order.txt", f"Morphine. {INSTRUCTION} {NOTE}")
            files.delete("patients/0000000/order.txt")
            return True
        return False

    def harm(self, request: Request, kind: Harm, note: str = NOTE) -> Request | None:
        """Add a note to a file that is written: a key in JSON, else a line."""
        if request.method != "PUT" or not request.path.startswith(_FILES) or kind not in self.harms:
            return None
        return replace(request, body=_with_note(request.body, note))


def _paths(files: Files) -> list[str]:
    for _ in range(3):  # retry: an injected fault may fail the first request
        with suppress(Refused):
            return files.list()
    return []


def _with_note(body: bytes, note: str) -> bytes:
    try:
        data = orjson.loads(body)
    except orjson.JSONDecodeError:
        data = None
    if isinstance(data, dict):
        return orjson.dumps({**data, "note": note})
    end = b"\r" if body.startswith(b"MSH|") else b"\n"
    line = f"NTE|1|L|{note}".encode() if body.startswith(b"MSH|") else note.encode()
    return body.removesuffix(end) + end + line + end
