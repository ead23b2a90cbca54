"""Write the replies to batches as files."""

from clerkship.events.event import Event
from clerkship.sandbox.state import ActionContext
from clerkship.simulators.files.state import FilesState
from clerkship.simulators.x12.events import BatchReplied
from clerkship.simulators.x12.state import X12State


def write_reply(state: FilesState, action: ActionContext, event: Event) -> None:
    """Write one part of the reply to a batch to the inbound folder."""
    if isinstance(event.payload, BatchReplied):
        clearinghouse = action.source(X12State)
        interchange, reply = clearinghouse.find_reply(event.payload.id, event.payload.control_number)
        state.write(action, event.payload.path, clearinghouse.render_reply(interchange, reply).encode())


REACTIONS = {BatchReplied.kind: write_reply}
