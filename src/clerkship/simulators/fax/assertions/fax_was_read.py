"""`fax_was_read`: the agent read every page of a fax that arrived."""

from collections.abc import Iterator
from typing import Annotated, ClassVar, Self

from pydantic import Field, model_validator

from clerkship.assertions.address_match import matches_address
from clerkship.events.event import Event
from clerkship.events.evidence import Evidence
from clerkship.events.lifecycle import OutboundAttempted
from clerkship.events.query import describe_match, find_first
from clerkship.model.matcher import matches_expected
from clerkship.model.path import lookup
from clerkship.model.run import FieldCheck
from clerkship.model.scenario import EventMatch, Expected
from clerkship.sandbox.assertion import Assertion, Check
from clerkship.simulators.fax.assertions.fax_match import PageNumbers, list_page_numbers
from clerkship.simulators.fax.assertions.logged import LoggedFax, list_arrived_faxes
from clerkship.simulators.fax.assertions.page_search import narrow_faxes
from clerkship.simulators.fax.events import FaxRead
from clerkship.simulators.fax.names import FAX, FAX_NUMBER
from clerkship.simulators.fax.sinch.deliveries import IncomingFaxWebhook

# A file drop is another simulator: its events are known by their kinds only.
FILE_WRITTEN, FILE_READ = "files.file.written", "files.file.read"
FILE_RENAMED, FOLDER_RENAMED = "files.file.renamed", "files.folder.renamed"


class FaxWasRead(Assertion):
    """The agent read every page of each fax like this that arrived: its text, a picture of each page, a download, the
    file that a reaction wrote to a file drop, or the file in a webhook call of Sinch's API. A fax that never arrived
    was not read. `input_entity_id` selects faxes whose pages or number are about that record.
    """

    name: ClassVar[str] = "fax_was_read"
    simulator: ClassVar[str | None] = "fax"
    scoped: ClassVar[bool] = True
    id: Annotated[Expected | None, FAX, Field(description="id of the fax, or a matcher")] = None
    sender: Annotated[Expected | None, FAX_NUMBER, Field(alias="from", description="number that it came from")] = None
    page: Annotated[PageNumbers, Field(description="only this page, or these pages, from 1; all by default")] = None
    before: Annotated[EventMatch | None, Field(description="read before the first event like this")] = None
    sandbox: Annotated[str | None, Field(description="which sandbox; any if not given")] = None

    @model_validator(mode="after")
    def _check_options(self) -> Self:
        if self.id is None and self.sender is None:
            raise ValueError("expected `id` or `from`: which fax must be read")
        return self

    def check(self, evidence: Evidence) -> Check:
        """Compare the pages of each fax with those that were read in time."""
        limit = find_first(evidence.events, self.before)
        faxes = list_arrived_faxes(evidence, self.sandbox)
        arrived = narrow_faxes(evidence, (fax for fax in faxes if self._selects(fax)))
        if not arrived:
            row = FieldCheck(path="faxes", expected={"gte": 1}, actual=0, passed=False)
            return Check.of(False, "no such fax arrived", row)
        rows = [self._compare(evidence, fax, limit) for fax in arrived]
        passed = all(row.passed for row in rows)
        when = f" before {describe_match(self.before)}" if self.before is not None else ""
        detail = "; ".join(f"{row.path}: {row.actual}{when}" for row in rows if passed or not row.passed)
        return Check.of(passed, detail, *rows)

    def _selects(self, fax: LoggedFax) -> bool:
        is_sender = self.sender is None or matches_address(self.sender, [fax.header.sender])
        return is_sender and (self.id is None or matches_expected(self.id, fax.id))

    def _compare(self, evidence: Evidence, fax: LoggedFax, limit: Event | None) -> FieldCheck:
        wanted = set(list_page_numbers(self.page) or range(1, len(fax.pages) + 1))
        read = set[int]()
        for event, page in _list_reads(evidence, fax.event, fax.id):
            if limit is None or event.seq < limit.seq:
                read |= wanted if page is None else {page}
        missed = sorted(wanted - read)
        actual = f"not read: page {', '.join(map(str, missed))}" if missed else "read"
        return FieldCheck(path=fax.id, expected="read", actual=actual, passed=not missed, seq=fax.event.seq)


def _list_reads(evidence: Evidence, arrived: Event, id: str) -> Iterator[tuple[Event, int | None]]:
    """Yield each time that the agent read a fax, and the page; None for all pages."""
    for event in evidence.of_kind(FaxRead.kind, OutboundAttempted.kind):
        if event.source != arrived.source:
            continue
        match event.payload:
            case FaxRead(id=read, page=page) if read == id and event.actor == "agent":
                yield event, page
            case OutboundAttempted(channel=IncomingFaxWebhook.name, message=fax, outcome="delivered") if fax == id:
                yield event, None
    for event in _list_file_reads(evidence, arrived):
        yield event, None


def _list_file_reads(evidence: Evidence, arrived: Event) -> Iterator[Event]:
    """Yield each time that the agent read a file that was written because the fax arrived, under any of its names."""
    paths = set[tuple[str, str]]()
    for event in evidence.of_kind(FILE_WRITTEN, FILE_READ, FILE_RENAMED, FOLDER_RENAMED):
        path, to = (str(lookup(event.payload, name)) for name in ("path", "to"))
        if event.kind == FILE_WRITTEN and event.actor == "reaction" and event.cause == arrived.seq:
            paths.add((event.source, path))
        elif event.kind == FILE_RENAMED and (event.source, path) in paths:
            paths = (paths - {(event.source, path)}) | {(event.source, to)}
        elif event.kind == FOLDER_RENAMED:
            paths = {(drop, _move(each, path, to) if drop == event.source else each) for drop, each in paths}
        elif event.kind == FILE_READ and event.actor == "agent" and (event.source, path) in paths:
            yield event


def _move(path: str, folder: str, to: str) -> str:
    """Return the path of a file after its folder was moved."""
    return to + path.removeprefix(folder) if path.startswith(f"{folder}/") else path
