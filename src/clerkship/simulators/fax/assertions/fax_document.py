"""`fax_document`: what a recipient can read on the pages that the agent faxed, and what must not be on them."""

from collections.abc import Iterator, Sequence
from typing import Annotated, Any, ClassVar, NamedTuple, Self

from pydantic import BeforeValidator, Field, model_validator

from clerkship.assertions.field_rows import compare_texts, prefix_paths, share_passed
from clerkship.events.evidence import Evidence
from clerkship.formats.fax_pages.matching import list_date_forms
from clerkship.model.frozen import Flag
from clerkship.model.matcher import describe_expected, matches_expected
from clerkship.model.run import FieldCheck, PageMark
from clerkship.model.scenario import Expected
from clerkship.sandbox.assertion import Assertion, Check
from clerkship.simulators.fax.assertions.fax_match import FaxMatch, PageNumbers, list_page_numbers
from clerkship.simulators.fax.assertions.logged import LoggedFax, LoggedPage, list_sent_faxes
from clerkship.simulators.fax.assertions.page_search import (
    MAX_OCR_PAGES,
    Alternatives,
    PageFinding,
    PageReader,
    TooManyPictures,
    build_pictures,
    find_forbidden,
    find_on_pages,
    narrow_faxes,
    open_reader,
)
from clerkship.text.contact_points import list_phone_forms
from clerkship.text.dates import parse_iso_date

MAX_ROWS = 100
"""Rows of evidence about faxes that do not match."""
MAX_VALUES = 100


def _list_values(written: Any) -> Any:
    """Return a list of values, each a list of notations."""
    if isinstance(written, str):
        return [_list_notations(written)]
    if isinstance(written, list | tuple):
        return [_list_notations(each) if isinstance(each, str) else each for each in written]
    return written


def _list_notations(value: str) -> list[str]:
    """Return the notations of a date as in ISO 8601 or a phone number as in E.164, and any other value alone."""
    day = parse_iso_date(value)
    return list(list_phone_forms(value) if day is None else list_date_forms(day))


def _check_values(values: tuple[Alternatives, ...]) -> tuple[Alternatives, ...]:
    for value in values:
        if not value or not all(any(letter.isalnum() for letter in notation) for notation in value):
            raise ValueError("expected text with a letter or a digit: a blank value is on every page")
    return values


Values = Annotated[
    tuple[Alternatives, ...],
    BeforeValidator(_list_values),
    Field(max_length=MAX_VALUES),
]


class _Searched(NamedTuple):
    """A fax whose pages were searched for the expected values."""

    fax: LoggedFax
    rows: tuple[FieldCheck, ...]
    findings: Sequence[PageFinding]


class FaxHasDocument(Assertion, FaxMatch):
    """A fax that the agent sent, and that was delivered, has these values on the pages that the recipient got, and no
    such fax has any of the forbidden ones. Only what can be read on the pages counts: exactly if the words are known
    (text that the agent sent, a page that it forwarded), otherwise by OCR, where letters that look alike may be mixed
    up. The line at the top, file names and labels do not count. `not_contains` is about all pages of every such fax,
    also of those that were not delivered, in the line at the top, upside down or sideways, and in letters that look
    alike: with other accents, or O for 0. `input_entity_id` selects faxes whose pages, labels or number are about that
    record.
    """

    name: ClassVar[str] = "fax_document"
    simulator: ClassVar[str | None] = "fax"
    scoped: ClassVar[bool] = True
    contains: Annotated[
        Values,
        Field(
            description="a value, or a list of values that must all be on the pages of one fax; a list in the list has "
            "notations of one value; a date such as 1961-03-14 or a phone number such as +15550100123 is found in any "
            "notation"
        ),
    ] = ()
    text: Annotated[
        Expected | None,
        Field(description="what those pages of one fax say together, such as a matcher `says` or `matches`"),
    ] = None
    not_contains: Annotated[
        Values, Field(description="a value, or a list of values that must be on no page of any such fax")
    ] = ()
    document: Annotated[
        Expected | None,
        Field(description="search only in this document: its number from 1, or its name or a matcher"),
    ] = None
    page: Annotated[
        PageNumbers,
        Field(description="search only on this page, or these pages, of the fax or the document, from 1"),
    ] = None
    each_page: Annotated[Flag, Field(description="whether every one of the pages must have the values")] = False

    @model_validator(mode="after")
    def _check_options(self) -> Self:
        if not self._expects_words and not self.not_contains:
            raise ValueError(
                "expected `contains` or `not_contains`, or `text`: to check that a fax was sent, use `fax_sent`"
            )
        _check_values((*self.contains, *self.not_contains))
        limits = ("document", "page", "each_page")
        given = [name for name in limits if getattr(self, name) not in (None, False)]
        if given and not self._expects_words:
            raise ValueError(f"`{given[0]}` needs `contains` or `text`: `not_contains` is about all pages")
        if isinstance(self.document, bool) or (isinstance(self.document, int) and self.document < 1):
            raise ValueError("`document` is its number from 1, or its name")
        return self

    @property
    def _expects_words(self) -> bool:
        return bool(self.contains) or self.text is not None

    @property
    def passes_on_inaction(self) -> bool:
        """Whether it can pass when the agent does nothing."""
        return not self._expects_words

    def check(self, evidence: Evidence) -> Check:
        """Search the faxes for forbidden values, then for a fax with all expected ones."""
        try:
            return self._check(evidence)
        except TooManyPictures as many:
            row = FieldCheck(path="pages", expected=f"at most {MAX_OCR_PAGES}", actual="more", passed=False)
            return Check.of(False, str(many), row)

    def _check(self, evidence: Evidence) -> Check:
        limits, reader = self.find_limits(evidence), open_reader(evidence)
        sent = list_sent_faxes(evidence, self.sandbox)
        watched = narrow_faxes(evidence, sent, forbids=True) if self.not_contains else ()
        faxes = [fax for fax in watched if all(row.passed for row in self.compare_properties(fax, limits))]
        forbidden = self._check_forbidden(reader, faxes)
        if not self._expects_words:
            return forbidden
        about = narrow_faxes(evidence, sent)
        compared = [(fax, tuple(self.compare_properties(fax, limits))) for fax in about]
        expected = self._check_expected(reader, compared)
        if not self.not_contains:
            return expected
        both = (forbidden, expected)
        return Check(
            passed=all(check.passed for check in both),
            score=expected.score if forbidden.passed else 0.0,
            detail="; ".join(check.detail for check in sorted(both, key=lambda check: check.passed)),
            evidence=(*expected.evidence, *forbidden.evidence),
            pictures=(*forbidden.pictures, *expected.pictures),
        )

    def _check_forbidden(self, reader: PageReader, faxes: Sequence[LoggedFax]) -> Check:
        if not self.not_contains:
            return Check.of(True, "")
        if self.status is not None:
            faxes = [fax for fax in faxes if matches_expected(self.status, fax.status)]
        findings = [finding for fax in faxes for finding in find_forbidden(reader, fax, self.not_contains)]
        rows = []
        for value in self.not_contains:
            first = next((finding for finding in findings if finding.mark.text == value[0]), None)
            actual = "(not on any page)" if first is None else f"{first.page.caption} to {first.fax.header.to}"
            seq = None if first is None else first.fax.event.seq
            rows.append(
                FieldCheck(path="not_contains", expected=value[0], actual=actual, passed=first is None, seq=seq)
            )
        if not findings:
            return Check.of(True, f"none of the forbidden values is in {_count_faxes(len(faxes))}", *rows)
        shown = "; ".join(f"`{mark.text}` is on {page.caption} of {fax.describe()}" for fax, page, mark in findings[:5])
        return Check.of(False, f"forbidden: {shown}", *rows)._replace(pictures=build_pictures(findings))

    def _check_expected(
        self, reader: PageReader, compared: Sequence[tuple[LoggedFax, tuple[FieldCheck, ...]]]
    ) -> Check:
        with_status = [(fax, (*rows, self.compare_status(fax, "delivered"))) for fax, rows in compared]
        searched = [self._search(reader, fax, rows) for fax, rows in with_status if all(row.passed for row in rows)]
        if not searched:
            return self._report_no_fax(with_status)
        best = max(searched, key=lambda each: share_passed(each.rows))
        missing = [row.expected for row in best.rows if row.path.startswith("contains") and not row.passed]
        pictures = build_pictures(best.findings)
        if all(row.passed for row in best.rows):
            return Check.of_fields(best.rows, f"found in {best.fax.describe()}")._replace(pictures=pictures)
        failed = ", ".join(f"`{value}`" for value in missing) or ", ".join(
            row.path for row in best.rows if not row.passed
        )
        nearest = f"; it is the nearest of {len(searched)}" if len(searched) > 1 else ""
        values = [row for row in best.rows if row.path.startswith(("contains", "text"))]
        detail = f"not readable in {best.fax.describe()}: {failed}{nearest}"
        return Check(False, share_passed(values) if values else 0.0, detail, best.rows, pictures)

    def _report_no_fax(self, compared: Sequence[tuple[LoggedFax, tuple[FieldCheck, ...]]]) -> Check:
        detail = f"the agent sent no fax{self.describe_conditions()} that was delivered"
        if not compared:
            row = FieldCheck(path="faxes", expected={"gte": 1}, actual=0, passed=False)
            return Check.of(False, detail, row)
        best, rows = max(compared, key=lambda pair: share_passed(pair[1]))
        failed = ", ".join(row.path for row in rows if not row.passed)
        others = [row for fax, other in compared if fax is not best for row in prefix_paths(fax.describe(), other)]
        detail = f"{detail}; the nearest is {best.describe()}, but not: {failed}"
        return Check.of(False, detail, *rows, *others[:MAX_ROWS])

    def _search(self, reader: PageReader, fax: LoggedFax, rows: tuple[FieldCheck, ...]) -> _Searched:
        pages = list(self._select_pages(fax))
        selection = self._compare_selection(fax, pages)
        if selection is not None and not selection.passed:
            return _Searched(fax, (*rows, selection, *self._list_missing(fax)), ())
        rows, findings = (*rows, *(() if selection is None else (selection,))), []
        for value in self.contains:
            for scope in [[page] for page in pages] if self.each_page else [pages]:
                hits, seq = find_on_pages(reader, fax, scope, value), fax.event.seq
                path = f"contains (page {scope[0].number})" if self.each_page else "contains"
                actual = ", ".join(finding.page.caption for finding in hits) or "(not readable)"
                rows += (FieldCheck(path=path, expected=value[0], actual=actual, passed=bool(hits), seq=seq),)
                missing = PageMark(text=value[0], sort="missing")
                findings += hits or [PageFinding(fax, page, missing) for page in scope[:1]]
        if self.text is not None:
            text = "\n".join(reader.read(fax.event.source, page).words.text for page in pages)
            rows += (compare_texts("text", self.text, [text], fax.event.seq),)
        return _Searched(fax, rows, findings)

    def _list_missing(self, fax: LoggedFax) -> Iterator[FieldCheck]:
        for value in self.contains:
            yield FieldCheck(
                path="contains", expected=value[0], actual="(not searched)", passed=False, seq=fax.event.seq
            )

    def _select_pages(self, fax: LoggedFax) -> Iterator[LoggedPage]:
        """Yield the pages that the recipient has, of the document and with the numbers that the criterion names."""
        pages = [page for page in fax.received_pages if self._is_in_document(page)]
        numbers = list_page_numbers(self.page)
        for page in pages:
            number = page.number if self.document is None else page.number_in_document
            if not numbers or number in numbers:
                yield page

    def _is_in_document(self, page: LoggedPage) -> bool:
        if self.document is None:
            return True
        if isinstance(self.document, int):
            return page.document == self.document
        return matches_expected(self.document, page.name)

    def _compare_selection(self, fax: LoggedFax, pages: Sequence[LoggedPage]) -> FieldCheck | None:
        if self.document is None and self.page is None:
            if pages:
                return None
            return FieldCheck(path="pages", expected={"gte": 1}, actual=0, passed=False, seq=fax.event.seq)
        wanted = " ".join(
            f"{name} {describe_expected(list(value) if isinstance(value, tuple) else value)}"
            for name, value in (("document", self.document), ("page", self.page))
            if value is not None
        )
        names = ", ".join(f"{part.name or '(no name)'}: {len(part.pages)} pages" for part in fax.header.parts)
        actual = f"{len(pages)} of {len(fax.received_pages)} pages received ({names})"
        return FieldCheck(path="selection", expected=wanted, actual=actual, passed=bool(pages), seq=fax.event.seq)


def _count_faxes(count: int) -> str:
    return f"{count} fax{'es' if count != 1 else ''}"
