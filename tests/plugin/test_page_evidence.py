"""An assertion of a plug-in shows pages of faxes, with names of `clerkship.plugin` alone."""

from typing import ClassVar

from clerkship.plugin import Assertion, Check, Evidence, PageMark, PagePicture
from tests.simulators.fax.sent_log import SentLog


class CoverSheetSigned(Assertion):
    """The first page that was stored is cited, with the place of the signature."""

    name: ClassVar[str] = "acme.cover_sheet_signed"

    def check(self, evidence: Evidence) -> Check:
        event = next(iter(evidence.of_kind("fax.page.stored")))
        mark = PageMark(text="Signed", sort="found", boxes=((150, 100, 180, 30),))
        page = PagePicture(source=event.source, page=event.payload.hash, caption="the cover sheet", marks=(mark,))  # type: ignore[attr-defined]
        return Check.of(True, "the cover sheet is signed")._replace(pictures=(page,))


def test_assertion_of_a_plugin_cites_a_page_with_marks() -> None:
    log = SentLog()
    log.add_fax("Signed Helen Okafor")
    [picture] = CoverSheetSigned().check(log.evidence()).pictures
    assert (picture.source, picture.page) == ("line", "Signed Helen Okafor")
    assert [mark.text for mark in picture.marks] == ["Signed"]
