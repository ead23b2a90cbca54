"""Copy the changes of one file drop to another."""

from collections.abc import Mapping
from datetime import datetime

from clerkship.events.event import Event
from clerkship.reactions.contract import React
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


def copy_change(state: FilesState, action: ActionContext, event: Event) -> None:
    """Make the same change. What the copy does not have is not deleted, renamed or removed.

    Refused is to remove a folder in which the copy has more.
    """
    volume = state.volume
    match event.payload:
        case FileWritten(path=path, data=data, complete=complete, modified=stamp):
            modified = datetime.fromisoformat(stamp) if stamp is not None else None
            state.write(action, path, data, complete=complete, modified=modified)
        case FileDeleted(path=path) if path in state.records:
            state.delete(action, path)
        case FileRenamed(path=path, to=to) | FolderRenamed(path=path, to=to) if path in volume:
            state.rename(action, path, to, replace=True)
        case FileStamped(path=path, modified=stamp) if path in volume:
            state.stamp(action, path, datetime.fromisoformat(stamp))
        case FolderMade(path=path) if path not in volume.tree:
            state.make_folder(action, path)
        case FolderRemoved(path=path) if path in volume.tree:
            state.remove_folder(action, path)


_CHANGES = (FileWritten, FileDeleted, FileRenamed, FileStamped, FolderMade, FolderRemoved, FolderRenamed)
REACTIONS: Mapping[str, React] = dict.fromkeys((event.kind for event in _CHANGES), copy_change)
