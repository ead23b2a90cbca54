"""`fax_forwarded`: the agent sent all pages of a fax that arrived, as they came."""

from collections.abc import Sequence
from typing import Annotated, ClassVar

from pydantic import AfterValidator, Field

from clerkship.assertions.address_match import matches_address
from clerkship.events.evidence import Evidence
from clerkship.formats.fax_pages.files import read_single_page
from clerkship.formats.fax_pages.header import get_header_height
from clerkship.formats.fax_pages.turning import cut_top
from clerkship.model.frozen import Whole
from clerkship.model.matcher import describe_expected, matches_expected
from clerkship.model.run import FieldCheck
from clerkship.model.scenario import Expected
from clerkship.sandbox.assertion import Assertion, Check
from clerkship.simulators.fax.assertions.fax_match import FaxMatch, check_pages
from clerkship.simulators.fax.assertions.logged import LoggedFax, get_stored_page, list_arrived_faxes, list_sent_faxes
from clerkship.simulators.fax.assertions.page_search import narrow_faxes
from clerkship.simulators.fax.names import FAX
from clerkship.simulators.fax.records import FaxHeader


class FaxForwarded(Assertion, FaxMatch):
    """A fax that the agent sent, and that was delivered, has all pages of a fax that arrived, in their order and
    unchanged: every dot is the same, below the line that the own machine prints. Pages that were typed or drawn again
    do not count, whatever they say. Files that the fax line or a file drop gave the agent keep their dots: TIFF, PDF
    and PNG. `input_entity_id` selects faxes that arrived by what their pages and their number say.
    """

    name: ClassVar[str] = "fax_forwarded"
    simulator: ClassVar[str | None] = "fax"
    scoped: ClassVar[bool] = True
    fax: Annotated[
        Expected,
        FAX,
        Field(description="the fax that arrived: its id, or the number that it came from; or a matcher"),
    ]
    page: Annotated[
        Whole | None,
        AfterValidator(check_pages),
        Field(description="where its first page is in the fax that is sent, from 1; anywhere by default"),
    ] = None

    def check(self, evidence: Evidence) -> Check:
        """Search each fax for the pages."""
        faxes = (fax.header for fax in narrow_faxes(evidence, list_arrived_faxes(evidence)))
        arrived = [header for header in faxes if self._selects(header)]
        if not arrived:
            return _fail(f"no fax {describe_expected(self.fax)} arrived")
        limits = self.find_limits(evidence)
        sent = [
            fax
            for fax in list_sent_faxes(evidence, self.sandbox)
            if all(row.passed for row in self.compare_properties(fax, limits))
            and self.compare_status(fax, "delivered").passed
        ]
        if not sent:
            return _fail(f"the agent sent no fax{self.describe_conditions()} that was delivered")
        for fax in sent:
            bodies = _list_bodies(evidence, fax)
            for header in arrived:
                place = self._find(bodies, header.pages)
                if place is not None:
                    row = FieldCheck(
                        path="pages", expected=header.id, actual=f"from page {place}", passed=True, seq=fax.event.seq
                    )
                    return Check.of(True, f"{header.id} is in {fax.describe()} from page {place}", row)
        where = "" if self.page is None else f" from page {self.page}"
        return _fail(f"{sent[0].describe()} does not have the pages of {arrived[0].id} as they came{where}")

    def _selects(self, header: FaxHeader) -> bool:
        return matches_expected(self.fax, header.id) or matches_address(self.fax, [header.sender])

    def _find(self, bodies: Sequence[str], pages: Sequence[str]) -> int | None:
        """Return where the pages are, from 1; None if they are not there."""
        last = len(bodies) - len(pages) + 1
        places = range(1, last + 1) if self.page is None else [self.page] if self.page <= last else []
        return next((place for place in places if tuple(bodies[place - 1 :][: len(pages)]) == tuple(pages)), None)


def _list_bodies(evidence: Evidence, fax: LoggedFax) -> list[str]:
    """Return the hash that each page had before the line at the top was printed."""
    bodies = []
    for page in fax.received_pages:
        stored = get_stored_page(evidence, fax.event.source, page.hash)
        body = (
            "" if stored is None else cut_top(read_single_page(stored.data), get_header_height(stored.resolution)).hash
        )
        bodies.append(body)
    return bodies


def _fail(detail: str) -> Check:
    return Check.of(False, detail, FieldCheck(path="pages", expected="as they came", actual=detail, passed=False))
