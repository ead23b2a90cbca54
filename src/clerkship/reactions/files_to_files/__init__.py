"""What a file drop does about another one's events: it keeps a copy."""

from datetime import datetime

from clerkship.events.event import Event
from clerkship.sandbox.state import ActionContext
from clerkship.simulators.files.events import (
    FileDeleted,
    FileRenamed,
    FileStamped,
    FileWritten,
    FolderMade,
    FolderRemoved,
    FolderRenamed,
)
from clerkship.simulators.files.state import FilesState


def copy_written(state: FilesState, act: ActionContext, event: Event) -> None:
    """A file written there is written here."""
    if isinstance(event.payload, FileWritten):
        written = event.payload
        modified = datetime.fromisoformat(written.modified) if written.modified is not None else None
        state.write(act, written.path, written.data, complete=written.complete, modified=modified)


def copy_deleted(state: FilesState, act: ActionContext, event: Event) -> None:
    """A file deleted there is deleted here, if it is here."""
    if isinstance(event.payload, FileDeleted) and event.payload.path in state.records:
        state.delete(act, event.payload.path)


def copy_renamed(state: FilesState, act: ActionContext, event: Event) -> None:
    """A file, or a folder, renamed there is renamed here, if it is here; what was in its way is as gone as there."""
    if isinstance(event.payload, FileRenamed | FolderRenamed):
        path, to = event.payload.path, event.payload.to
        if path in state.records or path in state.tree:
            state.rename(act, path, to, replace=True)


def copy_stamped(state: FilesState, act: ActionContext, event: Event) -> None:
    """What says there when it was modified says it here, if it is here."""
    if isinstance(event.payload, FileStamped):
        path = event.payload.path
        if path in state.records or path in state.tree:
            state.stamp(act, path, datetime.fromisoformat(event.payload.modified))


def copy_folder_made(state: FilesState, act: ActionContext, event: Event) -> None:
    """A folder made there is made here, unless it is here."""
    if isinstance(event.payload, FolderMade) and event.payload.path not in state.tree:
        state.make_folder(act, event.payload.path)


def copy_folder_removed(state: FilesState, act: ActionContext, event: Event) -> None:
    """A folder removed there is removed here, if it is here; what is only here keeps it."""
    if isinstance(event.payload, FolderRemoved) and event.payload.path in state.tree:
        state.remove_folder(act, event.payload.path)


REACTIONS = {
    FileWritten.kind: copy_written,
    FileDeleted.kind: copy_deleted,
    FileRenamed.kind: copy_renamed,
    FileStamped.kind: copy_stamped,
    FolderMade.kind: copy_folder_made,
    FolderRemoved.kind: copy_folder_removed,
    FolderRenamed.kind: copy_renamed,
}
