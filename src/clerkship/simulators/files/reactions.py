"""What a file drop does about another one's events: it keeps a copy."""

from clerkship.events.event import Event
from clerkship.sandbox.state import Act
from clerkship.simulators.files.events import FileDeleted, FileWritten
from clerkship.simulators.files.state import FilesState


def copy_written(state: FilesState, act: Act, event: Event) -> None:
    """A file written there is written here."""
    if isinstance(event.payload, FileWritten):
        state.write(act, event.payload.path, event.payload.data)


def copy_deleted(state: FilesState, act: Act, event: Event) -> None:
    """A file deleted there is deleted here, if it is here."""
    if isinstance(event.payload, FileDeleted) and event.payload.path in state.records:
        state.delete(act, event.payload.path)
