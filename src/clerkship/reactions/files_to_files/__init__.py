"""Copy the changes of one file drop to another."""

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


def copy_written(state: FilesState, action: ActionContext, event: Event) -> None:
    """Write the same file."""
    if isinstance(event.payload, FileWritten):
        written = event.payload
        modified = datetime.fromisoformat(written.modified) if written.modified is not None else None
        state.write(action, written.path, written.data, complete=written.complete, modified=modified)


def copy_deleted(state: FilesState, action: ActionContext, event: Event) -> None:
    """Delete the file, if the copy has it."""
    if isinstance(event.payload, FileDeleted) and event.payload.path in state.records:
        state.delete(action, event.payload.path)


def copy_renamed(state: FilesState, action: ActionContext, event: Event) -> None:
    """Rename the file or folder, if the copy has it; replace what has the new name."""
    if isinstance(event.payload, FileRenamed | FolderRenamed):
        path, to = event.payload.path, event.payload.to
        if path in state.volume:
            state.rename(action, path, to, replace=True)


def copy_stamped(state: FilesState, action: ActionContext, event: Event) -> None:
    """Set the time of modification, if the copy has the file or folder."""
    if isinstance(event.payload, FileStamped):
        path = event.payload.path
        if path in state.volume:
            state.stamp(action, path, datetime.fromisoformat(event.payload.modified))


def copy_folder_made(state: FilesState, action: ActionContext, event: Event) -> None:
    """Make the folder, unless the copy has it."""
    if isinstance(event.payload, FolderMade) and event.payload.path not in state.volume.tree:
        state.make_folder(action, event.payload.path)


def copy_folder_removed(state: FilesState, action: ActionContext, event: Event) -> None:
    """Remove the folder, if the copy has it; refused if the copy has more in it."""
    if isinstance(event.payload, FolderRemoved) and event.payload.path in state.volume.tree:
        state.remove_folder(action, event.payload.path)


REACTIONS = {
    FileWritten.kind: copy_written,
    FileDeleted.kind: copy_deleted,
    FileRenamed.kind: copy_renamed,
    FileStamped.kind: copy_stamped,
    FolderMade.kind: copy_folder_made,
    FolderRemoved.kind: copy_folder_removed,
    FolderRenamed.kind: copy_renamed,
}
