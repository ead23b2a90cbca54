"""Search the pages of sent faxes for values, as a recipient would: only what is on the page counts."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from clerkship.events.evidence import Evidence
from clerkship.fax.files import read_tiff
from clerkship.fax.header import HEIGHT
from clerkship.fax.matching import find_value
from clerkship.fax.page import FaxPage, Resolution
from clerkship.fax.turning import QuarterTurns, cut_top, looks_upright, turn_page
from clerkship.fax.words import PageWords
from clerkship.model.errors import PlatformError
from clerkship.model.run import PageBox, PageMark, PagePicture
from clerkship.simulators.fax.assertions.logged import LoggedFax, LoggedPage, get_stored_page
from clerkship.simulators.fax.ocr_words import read_words
from clerkship.simulators.fax.state import FaxState

MAX_PICTURES = 12
"""The most pages that one criterion shows."""
MAX_OCR_PAGES = 200
"""Pages of pictures that are read in one trial; an agent could send thousands, and each takes about a second."""
MAX_OCR_BYTES = 12_000_000
"""Bytes of these pages. A page of text has about 50,000, one of noise 600,000, and takes the engine forty seconds."""
QUARTER_TURNS: tuple[QuarterTurns, ...] = (1, 2, 3)
Alternatives = tuple[str, ...]
"""Notations of one value, such as those of a date."""


class TooManyPictures(Exception):
    """The agent sent more pages of pictures, or larger ones, than are read."""

    def __init__(self) -> None:
        super().__init__(
            f"the agent faxed more than {MAX_OCR_PAGES} different pages whose words are not known, or more than "
            f"{MAX_OCR_BYTES:,} bytes of them; faxes that cannot be checked in time fail"
        )


class PageText(NamedTuple):
    """The words of a page: the true ones, or those that OCR reads."""

    words: PageWords
    is_true: bool
    resolution: Resolution

    def find(self, value: Alternatives, *, with_header: bool) -> tuple[PageBox, ...]:
        """Return the boxes of the words that are a value, in one of its notations; empty if it is not there.

        The line at the top of a page is of the machine that sends, not of the document.
        """
        page = self.words if with_header else self._body
        for notation in value:
            matches = find_value(notation, page, tolerant=not self.is_true)
            if matches:
                words = [word for match in matches for word in match.words]
                return tuple((word.left, word.top, word.width, word.height) for word in words)
        return ()

    @property
    def is_upright(self) -> bool:
        """Whether it can be read without turning the page."""
        return self.is_true or looks_upright(self._body)

    @property
    def _body(self) -> PageWords:
        top = _header_height(self.resolution)
        return PageWords(words=tuple(word for word in self.words.words if word.top + word.height / 2 >= top))


class PageReader:
    """Reads the words of pages; each page once for all criteria."""

    def __init__(self, evidence: Evidence) -> None:
        self._evidence = evidence
        self._texts: dict[tuple[str, str], PageText] = {}
        self._turned: dict[tuple[str, str], list[PageText]] = {}
        self._ocr_pages = 0
        self._ocr_bytes = 0

    def read(self, source: str, page: LoggedPage) -> PageText:
        """Return the words of a page.

        Raises OcrUnavailable if they are not known and OCR is not installed: the criterion is then an error, not a
        failure. Raises TooManyPictures.
        """
        key = (source, page.hash)
        if key not in self._texts:
            self._texts[key] = self._read(source, page)
        return self._texts[key]

    def get_outline(self, source: str, page: LoggedPage) -> PageBox:
        """Return the box of the whole page."""
        stored = get_stored_page(self._evidence, source, page.hash)
        return (0, 0, stored.width, stored.height) if stored is not None else (0, 0, 0, 0)

    def has_true_words(self, source: str, page: LoggedPage) -> bool:
        """Return whether a page can be searched without OCR."""
        stored = get_stored_page(self._evidence, source, page.hash)
        return stored is not None and stored.true_words is not None

    def _read(self, source: str, page: LoggedPage) -> PageText:
        stored = get_stored_page(self._evidence, source, page.hash)
        if stored is None:
            raise PlatformError(f"the log of {source} has no page {page.hash}")
        if stored.true_words is not None:
            return PageText(stored.true_words, True, stored.resolution)
        state = self._evidence.states.get(source)
        shipped = state.shipped_words(page.hash) if isinstance(state, FaxState) else None
        if shipped is not None:
            return PageText(shipped, False, stored.resolution)
        return PageText(self._read_picture(read_tiff(stored.data)[0], len(stored.data)), False, stored.resolution)

    def read_turned(self, source: str, page: LoggedPage) -> list[PageText]:
        """Return the words of a page after each quarter turn, without the line at the top; none if it is upright."""
        key = (source, page.hash)
        if key not in self._turned:
            stored = get_stored_page(self._evidence, source, page.hash)
            self._turned[key] = []
            if stored is not None and not self.read(source, page).is_upright:
                body = cut_top(read_tiff(stored.data)[0], _header_height(stored.resolution))
                turned = [turn_page(body, quarters) for quarters in QUARTER_TURNS]
                texts = (self._read_picture(each, len(stored.data)) for each in turned)
                self._turned[key] = [PageText(words, False, "fine") for words in texts]
        return self._turned[key]

    def _read_picture(self, page: FaxPage, size: int) -> PageWords:
        self._ocr_pages += 1
        self._ocr_bytes += size
        if self._ocr_pages > MAX_OCR_PAGES or self._ocr_bytes > MAX_OCR_BYTES:
            raise TooManyPictures
        return read_words(page)


def _header_height(resolution: Resolution) -> int:
    return HEIGHT if resolution == "fine" else HEIGHT // 2


def open_reader(evidence: Evidence) -> PageReader:
    """Return the reader that all criteria of a trial share."""
    return evidence.cached(PageReader)


class PageFinding(NamedTuple):
    """What was found on one page."""

    fax: LoggedFax
    page: LoggedPage
    mark: PageMark


def find_on_pages(
    reader: PageReader, fax: LoggedFax, pages: Iterable[LoggedPage], value: Alternatives
) -> list[PageFinding]:
    """Return where a value is on some pages of a fax, the line at the top left out.

    Pages whose words are known come first, so that OCR is only needed if the value is not on one of them.
    """
    source = fax.event.source
    ordered = sorted(pages, key=lambda page: not reader.has_true_words(source, page))
    for page in ordered:
        boxes = reader.read(source, page).find(value, with_header=False)
        if boxes:
            return [PageFinding(fax, page, PageMark(text=value[0], sort="found", boxes=boxes))]
    return []


def find_forbidden(reader: PageReader, fax: LoggedFax, values: Sequence[Alternatives]) -> list[PageFinding]:
    """Return where values are on any page of a fax, also in the line at the top.

    A page that is upside down or sideways is turned: its recipient does so, too. The mark is then the whole page.
    """
    findings, source = [], fax.event.source
    for page in fax.pages:
        text, turned = reader.read(source, page), reader.read_turned(source, page)
        for value in values:
            boxes = text.find(value, with_header=True)
            if not boxes and any(each.find(value, with_header=True) for each in turned):
                boxes = (reader.get_outline(source, page),)
            if boxes:
                mark = PageMark(text=value[0], sort="forbidden", boxes=boxes)
                findings.append(PageFinding(fax, page, mark))
    return findings


def build_pictures(findings: Iterable[PageFinding]) -> tuple[PagePicture, ...]:
    """Return the pages with all marks on each, forbidden values first."""
    marks: dict[tuple[str, str, str], list[PageMark]] = {}
    for fax, page, mark in sorted(findings, key=lambda finding: finding.mark.sort != "forbidden"):
        caption = f"{page.caption} of the fax to {fax.header.to} (#{fax.event.seq})"
        marks.setdefault((fax.event.source, page.hash, caption), []).append(mark)
    pictures = (
        PagePicture(source=source, page=page, caption=caption, marks=tuple(listed))
        for (source, page, caption), listed in marks.items()
    )
    return tuple(pictures)[:MAX_PICTURES]
