"""`portal_document`: which documents the agent sent to a payer, and what is in them."""

import base64
import binascii
from collections.abc import Iterable, Iterator, Sequence
from typing import Annotated, Any, ClassVar, Literal, NamedTuple, get_args

from pydantic import Field

from clerkship.assertions.field_rows import compare_texts
from clerkship.assertions.narrowing import ItemContent, narrow
from clerkship.assertions.patients.directory import build_directory, list_clinicians
from clerkship.assertions.selection import Compared, SelectionAssertion
from clerkship.events.event import Event
from clerkship.events.evidence import Evidence
from clerkship.formats.fax_pages.conversion import CONVERTER
from clerkship.formats.fax_pages.document import DocumentFormat, FaxDocument, UnreadableDocument
from clerkship.formats.fax_pages.file_format import find_signature
from clerkship.formats.fhir.chart import ChartView, list_chart_views
from clerkship.formats.fhir.resource import Resource, list_objects, parse_resource
from clerkship.model.closed import OneOf
from clerkship.model.errors import InputError
from clerkship.model.matcher import describe_expected, matches_expected
from clerkship.model.run import FieldCheck
from clerkship.model.scenario import Expected
from clerkship.payer.answer import Member
from clerkship.payer.name_sorts import MEMBER_ID
from clerkship.payer.state import PayerState
from clerkship.simulators.portal.document_events import DocumentUploaded
from clerkship.simulators.portal.records import DocumentType, UploadedDocument
from clerkship.simulators.portal.uploads import read_text
from clerkship.text.folding import fold_text, fold_words
from clerkship.text.index import MentionQuery

SentWith = Literal["request", "appeal"]
MAX_TEXT = 2_000_000
"""Characters of one document that are searched for patients. A longer one fails, because they may be in the rest."""
MAX_READ_PAGES = 300
"""Pages of pictures, of one trial, that an OCR engine may have to read."""


class SentDocument(NamedTuple):
    """An uploaded document, and the request or appeal with which it was sent."""

    event: Event
    document: UploadedDocument
    data: bytes
    numbers: tuple[str, ...]
    """The reference number and the authorization number of the request, or the number of the claim; of an appeal, its
    own besides."""
    sent_with: SentWith
    member: Member | None

    @property
    def member_id(self) -> str:
        """The member id of the patient; empty if the payer does not know the member any more."""
        return self.member.member_id if self.member is not None else ""

    def describe(self) -> str:
        """Return it in words: `note.pdf with the request R-1 (#12)`."""
        return f"{self.document.name} with the {self.sent_with} {self.numbers[0]} (#{self.event.seq})"


class PortalDocumentSent(SelectionAssertion):
    """A document that the agent uploaded to the payer portal, and sent with a request, a reply or an appeal, is as
    expected. A document that was uploaded but not sent does not count. Its text is that of the file; pages without text
    are read by OCR. `input_entity_id` selects documents of requests for that patient.
    """

    name: ClassVar[str] = "portal_document"
    simulator: ClassVar[str | None] = "portal"
    scoped: ClassVar[bool] = True
    reference: Annotated[
        Expected | None,
        Field(description="only with this request or appeal: its reference number, authorization number, or a matcher"),
    ] = None
    member_id: Annotated[Expected | None, MEMBER_ID, Field(description="only for this member: id or matcher")] = None
    sent_with: Annotated[SentWith | None, Field(description="only with a request (or a reply), or with an appeal")] = (
        None
    )
    type: Annotated[
        Expected | None,
        OneOf(*get_args(DocumentType)),
        Field(description="only documents of this type, such as imaging_report"),
    ] = None
    text: Annotated[
        Expected | None, Field(description="what all pages say together, such as a matcher `says` or `contains`")
    ] = None
    same_as: Annotated[
        str | None,
        Field(
            pattern=r"^DocumentReference/[A-Za-z0-9.-]{1,64}$",
            description="the document of the chart whose pages it has: the same words in the same order, or the same "
            "pictures. More pages before or after them are allowed",
        ),
    ] = None
    not_about: Annotated[
        Literal["others"] | None,
        Field(description="`others`: no document that is selected may tell of a patient but the one of its request"),
    ] = None
    sandbox: Annotated[str | None, Field(description="which payer portal; any if not given")] = None

    def compare(self, evidence: Evidence) -> Iterator[Compared]:
        """Yield each document that is selected."""
        for sent in self._select(evidence):
            yield Compared(sent.describe(), tuple(self._compare_content(evidence, sent)), sent)

    def compare_conditions(self, evidence: Evidence) -> Iterator[FieldCheck]:
        """Yield a row for each patient of whom a document must not tell."""
        if self.not_about is not None:
            for sent in self._select(evidence):
                yield from _find_others(evidence, sent)

    def describe_selection(self, evidence: Evidence) -> str:
        """Return the conditions."""
        names = ("reference", "member_id", "sent_with", "type")
        given = [(name, getattr(self, name)) for name in names if getattr(self, name) is not None]
        conditions = ", ".join(f"{name} {describe_expected(value)}" for name, value in given)
        return "document that the agent sent" + (f" with {conditions}" if conditions else "")

    def describe_expectation(self) -> str:
        """Return what is expected of its content."""
        parts = [] if self.text is None else [f"text {describe_expected(self.text)}"]
        parts += [] if self.same_as is None else [f"the pages of {self.same_as}"]
        return f" that has {' and '.join(parts)}" if parts else ""

    def explain_failure(self, evidence: Evidence, compared: Sequence[Compared]) -> Iterator[str]:
        """Yield which documents were uploaded but not sent, or sent otherwise, if none is selected."""
        if not compared:
            names = [payload.document.name for _, payload in _list_uploads(evidence, self.sandbox)]
            yield f"uploaded: {', '.join(names[:10]) or 'nothing'}"

    def _select(self, evidence: Evidence) -> list[SentDocument]:
        selected = (
            sent
            for sent in _list_sent(evidence, self.sandbox)
            if (self.reference is None or any(matches_expected(self.reference, each) for each in sent.numbers))
            and (
                self.member_id is None or matches_expected(self.member_id, sent.member.member_id if sent.member else "")
            )
            and self.sent_with in (None, sent.sent_with)
            and (self.type is None or matches_expected(self.type, sent.document.type))
        )
        return list(narrow(evidence, selected, _read_owner, forbids=self.is_none))

    def _compare_content(self, evidence: Evidence, sent: SentDocument) -> Iterator[FieldCheck]:
        seq = sent.event.seq
        if self.text is not None:
            yield compare_texts("text", self.text, [_read(evidence, sent)], seq)
        if self.same_as is not None:
            originals = list(_list_attachments(evidence, self.same_as))
            if not originals:
                raise InputError.of(f"the chart has no document {self.same_as} with a file", hint="check `same_as`")
            how = next(filter(None, (_find_same(evidence, sent, each) for each in originals)), "")
            actual = how or "other pages"
            yield FieldCheck(path="same_as", expected=self.same_as, actual=actual, passed=bool(how), seq=seq)


def _read_owner(sent: SentDocument) -> ItemContent:
    patient = sent.member.patient if sent.member is not None else ""
    return ItemContent(data={"reference": list(sent.numbers), "patient": patient})


def _list_uploads(evidence: Evidence, sandbox: str | None) -> list[tuple[Event, DocumentUploaded]]:
    events = (each for each in evidence.of_kind(DocumentUploaded.kind) if sandbox in (None, each.source))
    return [
        (event, event.payload)
        for event in events
        if isinstance(event.payload, DocumentUploaded) and evidence.find_originator(event) == "agent"
    ]


def _list_sent(evidence: Evidence, sandbox: str | None) -> Iterator[SentDocument]:
    """Yield the documents of each request and appeal that the agent uploaded, oldest request first."""
    uploads = {payload.document.id: (event, payload) for event, payload in _list_uploads(evidence, sandbox)}

    def find(
        ids: Iterable[str],
        numbers: Iterable[str | None],
        sent_with: Literal["request", "appeal"],
        member: Member | None,
    ) -> Iterator[SentDocument]:
        for event, payload in (uploads[id] for id in dict.fromkeys(ids) if id in uploads):
            yield SentDocument(event, payload.document, payload.data, tuple(filter(None, numbers)), sent_with, member)

    for state in evidence.states.values():
        if not isinstance(state, PayerState):
            continue
        current = state.current
        for request in current.authorizations.values():
            member = current.find_member(request.member_key)
            yield from find(request.query.attachments, (request.id, request.number), "request", member)
        for appeal in current.appeals.values():
            denied = current.find_authorization(appeal.of)
            record = denied or current.find_claim(appeal.of)
            member = current.find_member(record.member_key) if record is not None else None
            numbers = (appeal.id, appeal.of, denied.number if denied is not None else None)
            yield from find(appeal.attachments, numbers, "appeal", member)


class DocumentTexts:
    """The texts of documents, each read once for all criteria."""

    def __init__(self, _: Evidence) -> None:
        self._texts: dict[str, str] = {}
        self._pages = 0

    def read(self, document: UploadedDocument, data: bytes) -> str:
        """Return the text of a document; empty for one that cannot be opened, or after MAX_READ_PAGES."""
        key = document.sha256
        if key not in self._texts:
            self._pages += document.pages
            is_read = self._pages <= MAX_READ_PAGES
            self._texts[key] = _read_file(document.format, data) if is_read else ""
        return self._texts[key]


def _read(evidence: Evidence, sent: SentDocument) -> str:
    return evidence.cached(DocumentTexts).read(sent.document, sent.data)


def _read_file(format: DocumentFormat, data: bytes) -> str:
    try:
        return "\n".join(read_text(format, data))
    except UnreadableDocument:
        return ""


def _find_others(evidence: Evidence, sent: SentDocument) -> Iterator[FieldCheck]:
    """Yield a row for each patient beside that of the request of whom a document tells; one that passes for none."""
    directory, text = evidence.cached(build_directory), _read(evidence, sent)
    path = f"{sent.describe()}: not_about"
    expected, seq = "a text that can be read", sent.event.seq
    if not text.strip() or len(text) > MAX_TEXT:
        yield FieldCheck(path=path, expected=expected, actual=f"{len(text)} characters", passed=False, seq=seq)
        return
    own = directory.people.get(sent.member.patient) if sent.member is not None else None
    allowed = (*evidence.cached(list_clinicians), *(() if own is None else (own,)))
    folded = fold_text(text)
    query = MentionQuery(allowed=allowed, now=evidence.now.date() if evidence.now is not None else None)
    leaks = directory.find_leaks(folded, query)
    for leak in leaks:
        expected = f"no {leak.kind.replace('_', ' ')} of {leak.person.label}"
        yield FieldCheck(
            path=path, expected=expected, actual=folded.excerpt(leak.start, leak.end), passed=False, seq=seq
        )
    if not leaks:
        yield FieldCheck(path=path, expected="others", actual="(no other patient)", passed=True, seq=seq)


def _list_attachments(evidence: Evidence, key: str) -> Iterator[bytes]:
    """Yield the files of a document of a chart; of a deleted one, those of the dataset."""
    for chart in list_chart_views(evidence.states):
        for content in list_objects(_find_resource(chart, key) or {}, "content"):
            attachment: dict[str, Any] = content.get("attachment") or {}
            binary = _find_resource(chart, "/".join(str(attachment.get("url", "")).split("/")[-2:])) or {}
            try:
                data = base64.b64decode(attachment.get("data") or binary.get("data") or "", validate=True)
            except (binascii.Error, ValueError, TypeError):
                continue
            if data:
                yield data


def _find_resource(chart: ChartView, key: str) -> Resource | None:
    line = chart.chart.get(key)
    return chart.resource(key) or (parse_resource(line) if line is not None else None)


def _find_same(evidence: Evidence, sent: SentDocument, original: bytes) -> str:
    """Return how a document has the pages of another: `same file`, `same words` or `same pictures`; empty if not."""
    if original == sent.data:
        return "same file"
    format = find_signature(original) or "text"
    words = " ".join(fold_words(_read_file(format, original)))
    if words:
        return "same words" if f" {words} " in f" {' '.join(fold_words(_read(evidence, sent)))} " else ""
    try:
        wanted, pages = (_hash_pages(*each) for each in ((format, original), (sent.document.format, sent.data)))
    except UnreadableDocument:
        return ""
    starts = range(len(pages) - len(wanted) + 1)
    return "same pictures" if any(pages[start : start + len(wanted)] == wanted for start in starts) else ""


def _hash_pages(format: DocumentFormat, data: bytes) -> list[str]:
    document = FaxDocument(name="document", format=format, data=data)
    return [each.page.hash for each in CONVERTER.convert(document, "fine")]
