"""A fax server: faxes that arrive are written to a file drop."""

from clerkship.formats.fax_pages.files import read_tiff
from clerkship.formats.fax_pages.text_pages import render_text
from clerkship.model.environment import Environment
from clerkship.playground.playground import Playground
from clerkship.playground.sandbox import PreparedSimulator
from clerkship.simulators import files
from clerkship.simulators.fax import SPEC
from clerkship.simulators.fax.config import FaxConfig
from clerkship.simulators.fax.outgoing import IncomingDocument, IncomingFax, IncomingPage
from clerkship.simulators.fax.state import FaxState
from clerkship.simulators.files.config import FilesConfig
from clerkship.simulators.files.state import FilesState
from clerkship.simulators.files.tree import DatasetFiles


def open_fax_server(quota: int = 10_000_000) -> Playground:
    """Return a playground with a fax line whose faxes are written to a drop."""
    written = {"name": "x", "simulators": {"line": {"kind": "fax"}, "drop": {"kind": "files"}}}
    environment = Environment.model_validate(written | {"reactions": ["line.arrived -> drop"]})
    simulators = {
        "line": PreparedSimulator(SPEC, FaxConfig(), SPEC.prepare(())),
        "drop": PreparedSimulator(files.SPEC, FilesConfig(quota=quota), DatasetFiles({})),
    }
    return Playground(environment, simulators, "x")


def receive(playground: Playground, text: str) -> tuple[str, ...]:
    """Let a fax arrive; return the hashes of its pages."""
    state, action = playground.state(FaxState, None)
    pages = tuple(IncomingPage(page=page, words=words) for page, words in render_text(text, "fine"))
    fax = IncomingFax(sender="+15550100300", documents=(IncomingDocument(pages=pages),))
    header = state.receive(action, fax).payload.header  # type: ignore[attr-defined]
    hashes: tuple[str, ...] = header.pages
    return hashes


def test_fax_is_written_as_one_tiff_file_with_the_pages_that_arrived() -> None:
    playground = open_fax_server()
    hashes = receive(playground, "One\fTwo")
    drop, _ = playground.state(FilesState, None)
    [(path, data)] = drop.records.items()
    assert path == f"inbox/{playground.now:%Y%m%d-%H%M%S}_from_15550100300.tif"
    assert tuple(page.hash for page in read_tiff(data)) == hashes


def test_second_fax_in_the_same_second_gets_its_own_file() -> None:
    playground = open_fax_server()
    receive(playground, "One")
    receive(playground, "One")
    drop, _ = playground.state(FilesState, None)
    assert [path.endswith("_2.tif") for path in sorted(drop.records)] == [False, True]


def test_drop_without_space_refuses_the_file_and_the_fax_still_arrives() -> None:
    playground = open_fax_server(quota=10)
    receive(playground, "One")
    assert [event.kind for event in playground.log.events if event.source == "drop"] == ["sandbox.refused"]
    assert len(playground.state(FaxState, None)[0].faxes) == 1
    assert playground.broken is None
