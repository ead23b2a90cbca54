"""Search the pages of sent faxes for values, as a recipient would: only what is on the page counts."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from clerkship.assertions.narrowing import find_subject
from clerkship.events.evidence import Evidence
from clerkship.formats.fax_pages.files import read_single_page, write_tiff
from clerkship.formats.fax_pages.header import get_header_height
from clerkship.formats.fax_pages.matching import find_value
from clerkship.formats.fax_pages.page import FaxPage, OcrWords, PageWords, Resolution
from clerkship.formats.fax_pages.turning import (
    QUARTER_TURNS,
    cut_top,
    erase_words,
    looks_upright,
    may_have_text,
    turn_page,
)
from clerkship.model.errors import PlatformError
from clerkship.model.run import PageBox, PageMark, PagePicture
from clerkship.simulators.fax.assertions.logged import LoggedFax, LoggedPage, get_stored_page
from clerkship.simulators.fax.ocr_words import read_upright, read_words
from clerkship.simulators.fax.state import FaxState

MAX_PICTURES = 12
"""The most pages that one criterion shows."""
MAX_OCR_PAGES = 200
"""Pages of pictures that are read in one trial; an agent could send thousands, and each takes about a second."""
MAX_OCR_BYTES = 12_000_000
"""Bytes of these pages. A page of text has about 50,000, one of noise 600,000, and takes the engine forty seconds."""
Alternatives = tuple[str, ...]
"""Notations of one value, such as those of a date."""


class TooManyPictures(Exception):
    """The agent sent more pages of pictures, or larger ones, than are read."""

    def __init__(self) -> None:
        super().__init__(
            f"the agent faxed more than {MAX_OCR_PAGES} different pages whose words are not known, or more than "
            f"{MAX_OCR_BYTES:,} bytes of them; faxes that cannot be checked in time fail"
        )


@dataclass(frozen=True)
class PageText:
    """The words of a page: the true ones, or those that OCR reads."""

    words: PageWords
    is_true: bool
    resolution: Resolution

    def find(self, value: Alternatives, *, is_forbidden: bool = False) -> tuple[PageBox, ...]:
        """Return the boxes of the words that are a value, in one of its notations; empty if it is not there.

        The line at the top of a page is of the machine that sends, not of the document. A forbidden value must not be
        there, either, and is found with letters that look like its own.
        """
        page = self.words if is_forbidden else self._body
        for notation in value:
            matches = find_value(notation, page, tolerant=not self.is_true, lookalikes=is_forbidden)
            if matches:
                words = [word for match in matches for word in match.words]
                return tuple((word.left, word.top, word.width, word.height) for word in words)
        return ()

    def get_body_text(self) -> str:
        """Return all words but those of the line at the top."""
        return self._body.text

    @property
    def is_upright(self) -> bool:
        """Whether it can be read without turning the page."""
        return self.is_true or looks_upright(self._body)

    @cached_property
    def _body(self) -> PageWords:
        top = get_header_height(self.resolution)
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
        return PageText(self._read_picture(read_single_page(stored.data), len(stored.data)), False, stored.resolution)

    def read_turned(self, source: str, page: LoggedPage) -> list[PageText]:
        """Return the words of a page after each quarter turn, without the line at the top.

        Of an upright page, only what the engine did not read for sure is turned; none if there is nothing else on it.
        """
        key = (source, page.hash)
        if key not in self._turned:
            rest = self._find_turned(source, page)
            texts = () if rest is None else self._read_turns(rest)
            self._turned[key] = [PageText(words, False, "fine") for words in texts]
        return self._turned[key]

    def _find_turned(self, source: str, page: LoggedPage) -> FaxPage | None:
        """Return the page, or the part of it, that may be upside down or sideways; None if there is none."""
        stored = get_stored_page(self._evidence, source, page.hash)
        text = self.read(source, page)
        if stored is None or text.is_true:
            return None
        dots = read_single_page(stored.data)
        if text.is_upright:
            if not isinstance(text.words, OcrWords):  # shipped: the page is one of the suite
                return None
            dots = erase_words(dots, (text.words.words[place] for place in text.words.sure))
        rest = cut_top(dots, get_header_height(stored.resolution))
        return rest if may_have_text(rest) else None

    def _read_turns(self, page: FaxPage) -> Iterator[PageWords]:
        size = len(write_tiff([page]))
        for quarters in QUARTER_TURNS:
            self._count_bytes(size)
            yield read_words(turn_page(page, quarters))

    def _read_picture(self, page: FaxPage, size: int) -> PageWords:
        self._ocr_pages += 1
        if self._ocr_pages > MAX_OCR_PAGES:
            raise TooManyPictures
        self._count_bytes(size)
        return read_upright(page)

    def _count_bytes(self, size: int) -> None:
        self._ocr_bytes += size
        if self._ocr_bytes > MAX_OCR_BYTES:
            raise TooManyPictures


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
        boxes = reader.read(source, page).find(value)
        if boxes:
            return [PageFinding(fax, page, PageMark(text=value[0], sort="found", boxes=boxes))]
    return []


def find_forbidden(reader: PageReader, fax: LoggedFax, values: Sequence[Alternatives]) -> list[PageFinding]:
    """Return where values are on any page of a fax, also in the line at the top.

    A page, or a text on it, that is upside down or sideways is turned: its recipient does so, too. The mark is then the
    whole page.
    """
    findings, source = [], fax.event.source
    for page in fax.pages:
        text = reader.read(source, page)
        for value in values:
            boxes = text.find(value, is_forbidden=True)
            if not boxes and any(each.find(value, is_forbidden=True) for each in reader.read_turned(source, page)):
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


def narrow_faxes(evidence: Evidence, faxes: Iterable[LoggedFax], *, forbids: bool = False) -> list[LoggedFax]:
    """Return the faxes about the record of the criterion, by their numbers, labels and pages; all if it has none.

    If the pages cannot all be read, a fax is not known to be about the record, and with `forbids` it may be.
    """
    subject = find_subject(evidence)
    if subject is None:
        return list(faxes)
    reader, about = open_reader(evidence), []
    for fax in faxes:
        header = fax.header
        try:
            texts = [reader.read(fax.event.source, page).words.text for page in fax.pages]
        except TooManyPictures:
            concerns = forbids
        else:
            stated = [*texts, *(part.name for part in header.parts), *header.labels.values()]
            concerns = subject.concerns(stated, (header.to, header.sender), forbids=forbids)
        about += [fax] if concerns else []
    return about
