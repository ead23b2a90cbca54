"""Look up the citations of a judge: a line by its id, or a quote from a turn or a line."""

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Annotated, NamedTuple

from pydantic import BaseModel, Field

from clerkship.assertions.addressed_lines import AddressedLines, find_addressed_lines
from clerkship.events.evidence import Evidence
from clerkship.events.ledger import LedgerEntry, list_actions, list_utterances, quote_text
from clerkship.model.run import FieldCheck

MAX_EXCERPT_LENGTH = 2000
"""The most characters of a turn or event in a row of evidence."""
MAX_CITATIONS = 50
"""The most citations of one verdict. A judge that gives more copies the transcript."""
MAX_SUGGESTED_IDS = 3
MAX_ID_LENGTH = 40
"""Characters of a wrong id that are shown."""
MIN_RELOCATED_LENGTH = 4
"""The fewest letters and digits of a quote whose wrong id is corrected."""
SEARCH_PREFIX_LENGTH = 50
"""Characters of a quote by which it is located in a long text."""
_LINE_ID = re.compile(
    r"\[?(?:T(?P<turn>\d{1,9})(?:\.(?P<number>\d{1,9}))?|#(?P<event>\d{1,9})(?:\.\.#\d{1,9})?)\]?", re.IGNORECASE
)
"""`T2.1` and `#12` are lines, `T2` is a turn, and `#12..#14` are equal events that the ledger shows as one."""
_SPEAKERS = {"agent": "agent", "assistant": "agent", "bot": "agent", "ai": "agent"} | dict.fromkeys(
    ("user", "customer", "person", "human"), "user"
)
_COPIED_PREFIX = re.compile(
    r"^[\"'\s]*(?:#\d+(?:\.\.#\d+)?:? *)?(?:\[?T\d+(?:\.\d+)?\]?:? *)?(?:\(after [^)]*\) *)?(?:reported )?"
    rf"(?:(?P<speaker>{'|'.join(_SPEAKERS)})(?: on \S+)? *: *)?",
    re.IGNORECASE,
)
"""An id, turn or speaker that a judge copies before a quote."""
_QUOTE_MARKS = str.maketrans(dict.fromkeys("“”„‟«»″", '"') | dict.fromkeys("‘’‚‛‹›′`", "'") | {"…": "..."})
_OUTER_MARKS = re.compile(r"^(?:[\"'\s]|\.\.\.)+|(?:[\"'\s]|\.\.\.)+$")


class Citation(BaseModel):
    """A line, and a quote from it."""

    where: Annotated[str, Field(description="the id of a line, such as `T2.1` or `#12`")]
    quote: Annotated[str, Field(description="words from that line, copied exactly; or empty")] = ""


class NormalizedQuote(NamedTuple):
    """A quote prepared for the search, and the speaker that the judge named, if any."""

    text: str
    speaker: str = ""

    def occurs_in(self, entry: LedgerEntry) -> bool:
        """Return whether an entry contains the quote, in what was said or in the line as the judge saw it."""
        if self.speaker and self.speaker != entry.speaker:
            return False
        return any(self.text in text for text in _list_entry_texts(entry))

    def occurs_as_words_in(self, entry: LedgerEntry) -> bool:
        """Return whether an entry contains the quote as whole words, and the quote is long enough to identify it."""
        if sum(map(str.isalnum, self.text)) < MIN_RELOCATED_LENGTH or not self.occurs_in(entry):
            return False
        pattern = re.compile(rf"(?<!\w){re.escape(self.text)}(?!\w)")
        return any(pattern.search(text) for text in _list_entry_texts(entry))


class FoundCitation(NamedTuple):
    """A citation and the entry it refers to."""

    citation: Citation
    entry: LedgerEntry
    where: str
    """The id of the line, as cited or corrected."""
    moved_from: str = ""
    """The id that the judge gave, if the quote is not there but in another line."""

    @property
    def cited_text(self) -> str:
        """The cited words: the quote, or the whole line."""
        return self.citation.quote if self.citation.quote.strip() else self.entry.text or self.entry.line

    def to_row(self) -> FieldCheck:
        """Return a row of evidence that links to the event."""
        return FieldCheck(
            path=self.where,
            expected={"contains": self.cited_text[:MAX_EXCERPT_LENGTH]}
            | ({"moved_from": self.moved_from} if self.moved_from else {}),
            actual=_build_excerpt(self.entry.text or self.entry.line, self.cited_text),
            passed=True,
            seq=self.entry.seqs[0],
        )


class CitationIndex:
    """All lines that a judge can cite."""

    def __init__(self, evidence: Evidence) -> None:
        self._observers = evidence.observers
        self._turns: dict[int, list[LedgerEntry]] = {}
        utterances = list_utterances(evidence)
        for entry in utterances:
            self._turns.setdefault(entry.turn, []).append(entry)
        self._actions = list_actions(evidence)
        self.addressed: AddressedLines = find_addressed_lines(utterances, self._actions)
        self._events = {seq: entry for entry in self._actions for seq in entry.seqs}

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to cite."""
        return not self._turns and not self._events

    def find(self, citation: Citation) -> FoundCitation | str:
        """Return the entry of a citation, or a message for the judge that says what is wrong.

        A quote that occurs in exactly one other line is accepted there: the judge gave the wrong id.
        """
        entries = self._find_entries(citation.where)
        if not citation.quote.strip():
            return self._find_by_id(citation, entries)
        forms = [form for form in _normalize_variants(citation.quote) if any(letter.isalnum() for letter in form.text)]
        if not forms:
            return f"the quote from {citation.where.strip()} has no words in it"
        for form in forms:
            entry = next((entry for entry in entries if form.occurs_in(entry)), None)
            if entry is not None:
                return _build_found(citation, entry)
        for form in forms:
            elsewhere = [entry for entry in self._all_entries() if form.occurs_as_words_in(entry)]
            if len(elsewhere) == 1:
                moved_from = citation.where.strip(" []")[:MAX_ID_LENGTH] or "no line"
                return FoundCitation(citation, elsewhere[0], elsewhere[0].id, moved_from)
        return self._explain_not_found(citation, entries, forms)

    def check(self, citations: Sequence[Citation]) -> tuple[list[FoundCitation], list[str]]:
        """Return the citations that were found, each once, and messages about the others."""
        valid: dict[tuple[int, str], FoundCitation] = {}
        messages: list[str] = []
        if len(citations) > MAX_CITATIONS:
            return [], [f"there are {len(citations)} citations, but at most {MAX_CITATIONS} are allowed"]
        for citation in citations:
            result = self.find(citation)
            if isinstance(result, str):
                messages.append(result)
            else:
                valid.setdefault((result.entry.seqs[0], normalize_text(citation.quote)), result)
        return list(valid.values()), list(dict.fromkeys(messages))

    def find_weakness(self, citation: FoundCitation) -> str | None:
        """Return why a valid citation is no evidence for a pass; None if it is.

        A message that addresses the judge is none, nor is one that it announces. If the agent addresses the judge
        anywhere, it may have influenced the judge: the citation must then quote what the agent said or did elsewhere.
        A tool or action that only the agent reports proves nothing if a sandbox could have observed it.
        """
        entry = citation.entry
        if self.addressed:
            weakness = self.addressed.find_weakness(entry.seqs[0], citation.where)
            if weakness is not None:
                return weakness
            if entry.speaker == "user":
                return f"{self.addressed.describe()}, so what the user says in {citation.where} is not enough"
            if not citation.citation.quote.strip():
                return f"{self.addressed.describe()}, so {citation.where} needs a quote"
        if entry.is_reported_action and self._observers:
            names = ", ".join(sorted(self._observers))
            return f"{citation.where} is only reported by the agent; cite what was observed instead ({names})"
        return None

    def _all_entries(self) -> Iterator[LedgerEntry]:
        for entries in self._turns.values():
            yield from entries
        yield from self._actions

    def _find_entries(self, where: str) -> list[LedgerEntry]:
        """Return the entries that an id refers to; none if it is not an id or does not exist."""
        place = _LINE_ID.fullmatch(where.strip())
        if place is None:
            return []
        if place["event"]:
            number = int(place["event"])
            return [self._events[number]._replace(seqs=(number,))] if number in self._events else []
        entries = self._turns.get(int(place["turn"]), [])
        return [entry for entry in entries if place["number"] is None or entry.number == int(place["number"])]

    def _find_by_id(self, citation: Citation, entries: Sequence[LedgerEntry]) -> FoundCitation | str:
        if len(entries) == 1:
            return _build_found(citation, entries[0])
        if not entries:
            return self._explain_bad_id(citation.where)
        ids = ", ".join(entry.id for entry in entries[:MAX_SUGGESTED_IDS])
        return f"{citation.where.strip()} is a turn with {len(entries)} lines: give the id of one, such as {ids}"

    def _explain_not_found(
        self, citation: Citation, entries: Sequence[LedgerEntry], forms: Sequence[NormalizedQuote]
    ) -> str:
        if not entries:
            return self._explain_bad_id(citation.where)
        places = [entry.id for entry in self._all_entries() if any(form.occurs_in(entry) for form in forms)]
        elsewhere = f", but in {' and in '.join(places[:MAX_SUGGESTED_IDS])}" if places else ""
        return f"{quote_text(citation.quote, 200)} does not occur in {citation.where.strip()}{elsewhere}"

    def _explain_bad_id(self, where: str) -> str:
        place = _LINE_ID.fullmatch(where.strip())
        if place is None:
            return f"{quote_text(where, 40)} is not the id of a line, such as T2.1 or #12"
        name = where.strip(" []").upper()
        if place["event"]:
            return f"there is no event {name} in the ledger"
        return f"there is no {'line' if place['number'] else 'turn'} {name} in the transcript"


def _build_found(citation: Citation, entry: LedgerEntry) -> FoundCitation:
    return FoundCitation(citation, entry, citation.where.strip(" []").upper())


def _normalize_variants(quote: str) -> list[NormalizedQuote]:
    """Return the quote as it is, and without the id and speaker that a judge may have copied."""
    forms = [NormalizedQuote(normalize_text(quote))]
    label = _COPIED_PREFIX.match(quote)
    if label is not None and label.end():
        speaker = _SPEAKERS[label["speaker"].casefold()] if label["speaker"] else ""
        forms.append(NormalizedQuote(normalize_text(quote[label.end() :]), speaker))
    return forms


def _list_entry_texts(entry: LedgerEntry) -> Iterator[str]:
    return (normalize_text(text) for text in (entry.text, entry.content) if text)


def normalize_text(text: str) -> str:
    """Return a text with single spaces, plain quote marks and no ellipsis at either end. Case is kept."""
    return _OUTER_MARKS.sub("", " ".join(text.translate(_QUOTE_MARKS).split()))


def remove_label(quote: str) -> str:
    """Return a quote without the id and the speaker before it."""
    return _COPIED_PREFIX.sub("", quote, count=1)


def _build_excerpt(text: str, quote: str) -> str:
    """Return the part of a text around a quote, up to the maximum length."""
    start = (
        max(text.find(quote[:SEARCH_PREFIX_LENGTH]) - MAX_EXCERPT_LENGTH // 2, 0)
        if len(text) > MAX_EXCERPT_LENGTH
        else 0
    )
    return text[start : start + MAX_EXCERPT_LENGTH]


def build_citation_rows(citations: Iterable[FoundCitation]) -> tuple[FieldCheck, ...]:
    """Return the rows of the citations, each once."""
    return tuple({(citation.entry.seqs, citation.cited_text): citation.to_row() for citation in citations}.values())
