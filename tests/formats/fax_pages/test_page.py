"""The hash of a page."""

from clerkship.formats.fax_pages.page import FaxPage


def test_copy_of_a_page_has_its_own_hash() -> None:
    page = FaxPage(width=8, height=1, dots=b"\x0f")
    before = page.hash
    longer = page.model_copy(update={"height": 2, "dots": b"\x0f\x00"})
    assert longer.hash == FaxPage(width=8, height=2, dots=b"\x0f\x00").hash
    assert (page.hash, page.model_copy().hash) == (before, before)
