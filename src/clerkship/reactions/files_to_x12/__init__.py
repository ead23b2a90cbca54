"""Receive the files of a file drop's outbound folder as batches of interchanges."""

from clerkship.events.event import Event
from clerkship.sandbox.state import ActionContext
from clerkship.simulators.files.events import FileRenamed, FileWritten
from clerkship.simulators.files.state import FilesState
from clerkship.simulators.x12.content import parse_file
from clerkship.simulators.x12.processing import Receipt, receive_interchange
from clerkship.simulators.x12.state import X12State

UNFINISHED = (".part", ".tmp", ".filepart", ".partial")
"""Endings of files that are still being uploaded. They are received when they are renamed."""


def receive_written(state: X12State, action: ActionContext, event: Event) -> None:
    """Receive a file that was written to the outbound folder. An interrupted upload is left alone."""
    if isinstance(event.payload, FileWritten) and event.payload.complete and is_outbound(state, event.payload.path):
        receive_file(state, action, event.payload.path, event.payload.data)


def receive_renamed(state: X12State, action: ActionContext, event: Event) -> None:
    """Receive a file that got a name in the outbound folder, unless it was received under its old name."""
    if not isinstance(event.payload, FileRenamed):
        return
    path, to = event.payload.path, event.payload.to
    if is_outbound(state, to) and not is_outbound(state, path):
        files = action.source(FilesState)
        if files.volume.info(to).complete:
            receive_file(state, action, to, files.records[to])


def is_outbound(state: X12State, path: str) -> bool:
    """Return whether a path is that of a finished file in the outbound folder."""
    folder, _, name = path.rpartition("/")
    return folder == state.config.batch.outbound and not name.startswith(".") and not name.endswith(UNFINISHED)


def receive_file(state: X12State, action: ActionContext, path: str, data: bytes) -> None:
    """Receive the interchanges of a file. Refused if it is not X12."""
    for interchange in parse_file(data, state.config):
        receive_interchange(state, action, interchange, Receipt("batch", path))


REACTIONS = {FileWritten.kind: receive_written, FileRenamed.kind: receive_renamed}
