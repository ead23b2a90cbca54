"""Write the faxes that arrive as files, as a fax server does."""

from clerkship.events.event import Event
from clerkship.formats.fax_pages.files import read_single_page, write_tiff
from clerkship.sandbox.state import ActionContext
from clerkship.simulators.fax.events import FaxArrived
from clerkship.simulators.fax.records import FaxHeader
from clerkship.simulators.fax.state import FaxState
from clerkship.simulators.files.state import FilesState

FOLDER = "inbox"


def write_fax(state: FilesState, action: ActionContext, event: Event) -> None:
    """Write the pages of a fax as one TIFF file to the inbox."""
    if isinstance(event.payload, FaxArrived):
        header = event.payload.header
        pages = [read_single_page(page.data) for page in action.source(FaxState).pages_of(header.id)]
        state.write(action, build_path(header, event, state), write_tiff(pages))


def build_path(header: FaxHeader, event: Event, state: FilesState) -> str:
    """Return the path of the file: the time and the number that the fax came from, as fax servers name files.

    Of two faxes from one number in one second, the second gets a number.
    """
    stem = f"{FOLDER}/{event.at:%Y%m%d-%H%M%S}_from_{header.sender.removeprefix('+')}"
    path, number = f"{stem}.tif", 2
    while path in state.volume:
        path, number = f"{stem}_{number}.tif", number + 1
    return path


REACTIONS = {FaxArrived.kind: write_fax}
