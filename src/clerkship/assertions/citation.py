"""Look up what a judge cites: a line by its id, or words that stand in a turn or a line."""

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Annotated, NamedTuple

from pydantic import BaseModel, Field

from clerkship.assertions.verdict_claim import mentions_grading
from clerkship.events.evidence import Evidence
from clerkship.events.ledger import LedgerEntry, list_actions, list_utterances, quote_text
from clerkship.model.run import FieldCheck

MAX_EXCERPT_LENGTH = 2000
"""Characters of a turn or an event that are kept beside a quote."""
MAX_CITATIONS = 50
"""Citations of one verdict; more is no reading but a copy."""
MAX_SUGGESTED_IDS = 3
MIN_RELOCATED_LENGTH = 4
"""Letters and digits of a quote whose place is corrected."""
SEARCH_PREFIX_LENGTH = 50
"""Characters of a quote that it is looked for by, where not all of a text is kept."""
_LINE_ID = re.compile(
    r"\[?(?:T(?P<turn>\d{1,9})(?:\.(?P<number>\d{1,9}))?|#(?P<event>\d{1,9})(?:\.\.#\d{1,9})?)\]?", re.IGNORECASE
)
"""`T2.1` and `#12`, which are lines; `T2`, which is a turn; `#12..#14`, as the ledger has those that are the same."""
_LABEL = re.compile(r"^(?:\[T\d+\.\d+\][^:]*: |#\d+(?:\.\.#\d+)? (?:reported )?)")
"""What stands before each line and is ours: to quote it says nothing."""
_SPEAKERS = {"agent": "agent", "assistant": "agent", "bot": "agent", "ai": "agent"} | dict.fromkeys(
    ("user", "customer", "person", "human"), "user"
)
_COPIED_PREFIX = re.compile(
    r"^[\"'\s]*(?:#\d+(?:\.\.#\d+)?:? *)?(?:\[?T\d+(?:\.\d+)?\]?:? *)?(?:\(after [^)]*\) *)?(?:reported )?"
    rf"(?:(?P<speaker>{'|'.join(_SPEAKERS)})(?: on \S+)? *: *)?",
    re.IGNORECASE,
)
"""What a judge copies before a quote: an id, a turn, a speaker."""
_QUOTE_MARKS = str.maketrans(dict.fromkeys("“”„‟«»″", '"') | dict.fromkeys("‘’‚‛‹›′`", "'") | {"…": "..."})
_OUTER_MARKS = re.compile(r"^(?:[\"'\s]|\.\.\.)+|(?:[\"'\s]|\.\.\.)+$")


class Citation(BaseModel):
    """Where something stands, and what."""

    where: Annotated[str, Field(description="the id of a line, such as `T2.1` or `#12`")]
    quote: Annotated[str, Field(description="words that stand there, copied letter for letter; or empty")] = ""


class NormalisedQuote(NamedTuple):
    """The words of a quote as they are looked for, and who is said to have spoken them; "" if nothing is said."""

    description: str
    speaker: str = ""

    def occurs_in(self, entry: LedgerEntry) -> bool:
        """Whether a line has the words, in what was said or in the line as the judge was shown it."""
        if self.speaker and self.speaker != entry.speaker:
            return False
        return any(self.description in text for text in _list_entry_texts(entry))

    def occurs_as_words_in(self, entry: LedgerEntry) -> bool:
        """The same for a quote long enough to tell its place, as whole words: `book` is no part of `bookings`."""
        if sum(map(str.isalnum, self.description)) < MIN_RELOCATED_LENGTH or not self.occurs_in(entry):
            return False
        pattern = re.compile(rf"(?<!\w){re.escape(self.description)}(?!\w)")
        return any(pattern.search(text) for text in _list_entry_texts(entry))


class FoundCitation(NamedTuple):
    """A citation, and the line it was found in."""

    citation: Citation
    entry: LedgerEntry
    where: str
    """Its place: as it was cited, or corrected."""

    @property
    def cited_text(self) -> str:
        """The words that are cited: the quote, else the whole line."""
        return self.citation.quote if self.citation.quote.strip() else self.entry.text or self.entry.line

    def to_row(self) -> FieldCheck:
        """As evidence of a criterion, which leads to the event."""
        return FieldCheck(
            path=self.where,
            expected={"contains": self.cited_text[:MAX_EXCERPT_LENGTH]},
            actual=_build_excerpt(self.entry.text or self.entry.line, self.cited_text),
            passed=True,
            seq=self.entry.seqs[0],
        )


class CitationIndex:
    """All that a judge can point at."""

    def __init__(self, evidence: Evidence) -> None:
        self._observers = evidence.observers
        self._turns: dict[int, list[LedgerEntry]] = {}
        for entry in list_utterances(evidence):
            self._turns.setdefault(entry.turn, []).append(entry)
        self._actions = list_actions(evidence)
        self._events = {seq: entry for entry in self._actions for seq in entry.seqs}

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to be quoted."""
        return not self._turns and not self._events

    def find(self, citation: Citation) -> FoundCitation | str:
        """Where it stands; or what is wrong with it, in words that the judge can act on.

        A quote that stands in exactly one other line is found there: the judge has put down the wrong number.
        """
        entries = self._find_entries(citation.where)
        if not citation.quote.strip():
            return self._find_by_id(citation, entries)
        forms = [
            form for form in _normalise_variants(citation.quote) if any(letter.isalnum() for letter in form.description)
        ]
        if not forms:
            return f"the quote from {citation.where.strip()} has no words in it"
        for form in forms:
            entry = next((entry for entry in entries if form.occurs_in(entry)), None)
            if entry is not None:
                return _build_found(citation, entry)
        for form in forms:
            elsewhere = [entry for entry in self._all_entries() if form.occurs_as_words_in(entry)]
            if len(elsewhere) == 1:
                return FoundCitation(citation, elsewhere[0], _entry_id(elsewhere[0]))
        return self._explain_not_found(citation, entries, forms)

    def check(self, citations: Sequence[Citation]) -> tuple[list[FoundCitation], list[str]]:
        """Those that stand, each once; and what is wrong with the others."""
        stand: dict[tuple[int, str], FoundCitation] = {}
        wrong: list[str] = []
        if len(citations) > MAX_CITATIONS:
            return [], [f"there are {len(citations)} citations, and {MAX_CITATIONS} is the most"]
        for citation in citations:
            found = self.find(citation)
            if isinstance(found, str):
                wrong.append(found)
            else:
                stand.setdefault((found.entry.seqs[0], normalise_text(citation.quote)), found)
        return list(stand.values()), list(dict.fromkeys(wrong))

    def find_weakness(self, found: FoundCitation) -> str | None:
        """Why a citation that stands cannot carry a pass; None if it can.

        What the agent says of its own verdict proves only that it said so. Where it speaks of the verdict at all, a
        judge may have been talked into a pass, so an id alone is not enough. A tool or an action that the agent reports
        proves nothing where a sandbox could have observed it.
        """
        entry = found.entry
        if _is_by_agent(entry) and mentions_grading(found.cited_text):
            return f"{found.where} speaks of the verdict itself, which proves only that the agent said so"
        if self.mentions_grading and not found.citation.quote.strip():
            return f"the agent speaks of the verdict in this conversation, so {found.where} needs a quote"
        if entry.is_reported_action and self._observers:
            names = ", ".join(sorted(self._observers))
            return (
                f"{found.where} is only reported by the agent; what was done is proved by what was observed ({names})"
            )
        return None

    @property
    def mentions_grading(self) -> bool:
        """Whether anything that the agent said or reported speaks of the verdict."""
        return any(_is_by_agent(one) and mentions_grading(one.text or one.line) for one in self._all_entries())

    def _all_entries(self) -> Iterator[LedgerEntry]:
        for entries in self._turns.values():
            yield from entries
        yield from self._actions

    def _find_entries(self, where: str) -> list[LedgerEntry]:
        """The lines that a place names; none if it is no place, or there is nothing there."""
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
        ids = ", ".join(_entry_id(entry) for entry in entries[:MAX_SUGGESTED_IDS])
        return f"{citation.where.strip()} is a turn with {len(entries)} lines: give the id of one, such as {ids}"

    def _explain_not_found(
        self, citation: Citation, entries: Sequence[LedgerEntry], forms: Sequence[NormalisedQuote]
    ) -> str:
        if not entries:
            return self._explain_bad_id(citation.where)
        places = [_entry_id(entry) for entry in self._all_entries() if any(form.occurs_in(entry) for form in forms)]
        elsewhere = f", but in {' and in '.join(places[:MAX_SUGGESTED_IDS])}" if places else ""
        return f"{quote_text(citation.quote, 200)} does not stand in {citation.where.strip()}{elsewhere}"

    def _explain_bad_id(self, where: str) -> str:
        place = _LINE_ID.fullmatch(where.strip())
        if place is None:
            return f"{quote_text(where, 40)} is no id of a line, such as T2.1 or #12"
        name = where.strip(" []").upper()
        if place["event"]:
            return f"there is no event {name} in the ledger"
        return f"there is no {'line' if place['number'] else 'turn'} {name} in the transcript"


def _build_found(citation: Citation, entry: LedgerEntry) -> FoundCitation:
    return FoundCitation(citation, entry, citation.where.strip(" []").upper())


def _entry_id(entry: LedgerEntry) -> str:
    return f"T{entry.turn}.{entry.number}" if entry.number else f"#{entry.seqs[0]}"


def _is_by_agent(entry: LedgerEntry) -> bool:
    """Whether the words of a line are the agent's own: said, reported, or written to a sandbox by it."""
    return entry.speaker != "user"


def _normalise_variants(quote: str) -> list[NormalisedQuote]:
    """A quote as it is, and without the id and the speaker that a judge has copied before it."""
    forms = [NormalisedQuote(normalise_text(quote))]
    label = _COPIED_PREFIX.match(quote)
    if label is not None and label.end():
        speaker = _SPEAKERS[label["speaker"].casefold()] if label["speaker"] else ""
        forms.append(NormalisedQuote(normalise_text(quote[label.end() :]), speaker))
    return forms


def _list_entry_texts(entry: LedgerEntry) -> Iterator[str]:
    return (normalise_text(text) for text in (entry.text, _LABEL.sub("", entry.line)) if text)


def normalise_text(text: str) -> str:
    """Words without what differs between two who write the same: spaces, the sort of quote marks, dots at either end
    for what was left out. Letters and their case are as they are."""
    return _OUTER_MARKS.sub("", " ".join(text.translate(_QUOTE_MARKS).split()))


def remove_label(quote: str) -> str:
    """A quote without the id and the speaker before it."""
    return _COPIED_PREFIX.sub("", quote, count=1)


def _build_excerpt(text: str, quote: str) -> str:
    """So much of a text as is kept, with the quote in it."""
    start = (
        max(text.find(quote[:SEARCH_PREFIX_LENGTH]) - MAX_EXCERPT_LENGTH // 2, 0)
        if len(text) > MAX_EXCERPT_LENGTH
        else 0
    )
    return text[start : start + MAX_EXCERPT_LENGTH]


def build_citation_rows(found: Iterable[FoundCitation]) -> tuple[FieldCheck, ...]:
    """Each once."""
    return tuple({(one.entry.seqs, one.cited_text): one.to_row() for one in found}.values())
