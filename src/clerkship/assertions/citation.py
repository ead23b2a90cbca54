"""Look up what a judge cites: a line by its id, or words that stand in a turn or a line."""

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Annotated, NamedTuple

from pydantic import BaseModel, Field

from clerkship.assertions.verdict_claim import claims_a_verdict
from clerkship.events.evidence import Evidence
from clerkship.events.ledger import LedgerEntry, list_actions, list_utterances, quote_text
from clerkship.model.run import FieldCheck

LONGEST = 2000
"""Characters of a turn or an event that are kept beside a quote."""
MOST = 50
"""Citations of one verdict; more is no reading but a copy."""
MAX_PLACES = 3
LEAST_TELLING = 4
"""Letters and digits of a quote whose place is corrected."""
BEGINNING = 50
"""Characters of a quote that it is looked for by, where not all of a text is kept."""
_WHERE = re.compile(
    r"\[?(?:T(?P<turn>\d{1,9})(?:\.(?P<number>\d{1,9}))?|#(?P<event>\d{1,9})(?:\.\.#\d{1,9})?)\]?", re.IGNORECASE
)
"""`T2.1` and `#12`, which are lines; `T2`, which is a turn; `#12..#14`, as the ledger has those that are the same."""
_LABEL = re.compile(r"^(?:\[T\d+\.\d+\][^:]*: |#\d+(?:\.\.#\d+)? (?:reported )?)")
"""What stands before each line and is ours: to quote it says nothing."""
_SPEAKERS = {"agent": "agent", "assistant": "agent", "bot": "agent", "ai": "agent"} | dict.fromkeys(
    ("user", "customer", "person", "human"), "user"
)
_BEFORE = re.compile(
    r"^[\"'\s]*(?:#\d+(?:\.\.#\d+)?:? *)?(?:\[?T\d+(?:\.\d+)?\]?:? *)?(?:\(after [^)]*\) *)?(?:reported )?"
    rf"(?:(?P<speaker>{'|'.join(_SPEAKERS)})(?: on \S+)? *: *)?",
    re.IGNORECASE,
)
"""What a judge copies before a quote: an id, a turn, a speaker."""
_MARKS = str.maketrans(dict.fromkeys("“”„‟«»″", '"') | dict.fromkeys("‘’‚‛‹›′`", "'") | {"…": "..."})
_AROUND = re.compile(r"^(?:[\"'\s]|\.\.\.)+|(?:[\"'\s]|\.\.\.)+$")


class Citation(BaseModel):
    """Where something stands, and what."""

    where: Annotated[str, Field(description="the id of a line, such as `T2.1` or `#12`")]
    quote: Annotated[str, Field(description="words that stand there, copied letter for letter; or empty")] = ""


class Wanted(NamedTuple):
    """The words of a quote as they are looked for, and who is said to have spoken them; "" if nothing is said."""

    words: str
    speaker: str = ""

    def stands_in(self, entry: LedgerEntry) -> bool:
        """Whether a line has the words, in what was said or in the line as the judge was shown it."""
        if self.speaker and self.speaker != entry.speaker:
            return False
        return any(self.words in text for text in _texts(entry))

    def is_part_of(self, entry: LedgerEntry) -> bool:
        """The same for a quote long enough to tell its place, as whole words: `book` is no part of `bookings`."""
        if sum(map(str.isalnum, self.words)) < LEAST_TELLING or not self.stands_in(entry):
            return False
        pattern = re.compile(rf"(?<!\w){re.escape(self.words)}(?!\w)")
        return any(pattern.search(text) for text in _texts(entry))


class Found(NamedTuple):
    """A citation, and the line it was found in."""

    citation: Citation
    entry: LedgerEntry
    where: str
    """Its place: as it was cited, or corrected."""

    @property
    def cited(self) -> str:
        """The words that are cited: the quote, else the whole line."""
        return self.citation.quote if self.citation.quote.strip() else self.entry.text or self.entry.line

    def row(self) -> FieldCheck:
        """As evidence of a criterion, which leads to the event."""
        return FieldCheck(
            path=self.where,
            expected={"contains": self.cited[:LONGEST]},
            actual=_around(self.entry.text or self.entry.line, self.cited),
            passed=True,
            seq=self.entry.seqs[0],
        )


class Reading:
    """All that a judge can point at."""

    def __init__(self, evidence: Evidence) -> None:
        self._observers = evidence.observers
        self._turns: dict[int, list[LedgerEntry]] = {}
        for entry in list_utterances(evidence):
            self._turns.setdefault(entry.turn, []).append(entry)
        self._done = list_actions(evidence)
        self._events = {seq: entry for entry in self._done for seq in entry.seqs}

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to be quoted."""
        return not self._turns and not self._events

    def find(self, citation: Citation) -> Found | str:
        """Where it stands; or what is wrong with it, in words that the judge can act on.

        A quote that stands in exactly one other line is found there: the judge has put down the wrong number.
        """
        entries = self._named(citation.where)
        if not citation.quote.strip():
            return self._by_id(citation, entries)
        forms = [form for form in _forms(citation.quote) if any(letter.isalnum() for letter in form.words)]
        if not forms:
            return f"the quote from {citation.where.strip()} has no words in it"
        for form in forms:
            entry = next((entry for entry in entries if form.stands_in(entry)), None)
            if entry is not None:
                return _found(citation, entry)
        for form in forms:
            elsewhere = [entry for entry in self._entries() if form.is_part_of(entry)]
            if len(elsewhere) == 1:
                return Found(citation, elsewhere[0], _id(elsewhere[0]))
        return self._not_there(citation, entries, forms)

    def check(self, citations: Sequence[Citation]) -> tuple[list[Found], list[str]]:
        """Those that stand, each once; and what is wrong with the others."""
        stand: dict[tuple[int, str], Found] = {}
        wrong: list[str] = []
        if len(citations) > MOST:
            return [], [f"there are {len(citations)} citations, and {MOST} is the most"]
        for citation in citations:
            found = self.find(citation)
            if isinstance(found, str):
                wrong.append(found)
            else:
                stand.setdefault((found.entry.seqs[0], plain(citation.quote)), found)
        return list(stand.values()), list(dict.fromkeys(wrong))

    def weakness(self, found: Found) -> str | None:
        """Why a citation that stands cannot carry a pass; None if it can.

        What the agent says of its own verdict proves only that it said so. Where it speaks of the verdict at all, a
        judge may have been talked into a pass, so an id alone is not enough. A tool or an action that the agent reports
        proves nothing where a sandbox could have observed it.
        """
        entry = found.entry
        if _is_of_the_agent(entry) and claims_a_verdict(found.cited):
            return f"{found.where} speaks of the verdict itself, which proves only that the agent said so"
        if self.addresses_the_judge and not found.citation.quote.strip():
            return f"the agent speaks of the verdict in this conversation, so {found.where} needs a quote"
        if entry.is_reported_deed and self._observers:
            names = ", ".join(sorted(self._observers))
            return (
                f"{found.where} is only reported by the agent; what was done is proved by what was observed ({names})"
            )
        return None

    @property
    def addresses_the_judge(self) -> bool:
        """Whether anything that the agent said or reported speaks of the verdict."""
        return any(_is_of_the_agent(one) and claims_a_verdict(one.text or one.line) for one in self._entries())

    def _entries(self) -> Iterator[LedgerEntry]:
        for entries in self._turns.values():
            yield from entries
        yield from self._done

    def _named(self, where: str) -> list[LedgerEntry]:
        """The lines that a place names; none if it is no place, or there is nothing there."""
        place = _WHERE.fullmatch(where.strip())
        if place is None:
            return []
        if place["event"]:
            number = int(place["event"])
            return [self._events[number]._replace(seqs=(number,))] if number in self._events else []
        entries = self._turns.get(int(place["turn"]), [])
        return [entry for entry in entries if place["number"] is None or entry.number == int(place["number"])]

    def _by_id(self, citation: Citation, entries: Sequence[LedgerEntry]) -> Found | str:
        if len(entries) == 1:
            return _found(citation, entries[0])
        if not entries:
            return self._no_such_place(citation.where)
        ids = ", ".join(_id(entry) for entry in entries[:MAX_PLACES])
        return f"{citation.where.strip()} is a turn with {len(entries)} lines: give the id of one, such as {ids}"

    def _not_there(self, citation: Citation, entries: Sequence[LedgerEntry], forms: Sequence[Wanted]) -> str:
        if not entries:
            return self._no_such_place(citation.where)
        places = [_id(entry) for entry in self._entries() if any(form.stands_in(entry) for form in forms)]
        elsewhere = f", but in {' and in '.join(places[:MAX_PLACES])}" if places else ""
        return f"{quote_text(citation.quote, 200)} does not stand in {citation.where.strip()}{elsewhere}"

    def _no_such_place(self, where: str) -> str:
        place = _WHERE.fullmatch(where.strip())
        if place is None:
            return f"{quote_text(where, 40)} is no id of a line, such as T2.1 or #12"
        name = where.strip(" []").upper()
        if place["event"]:
            return f"there is no event {name} in the ledger"
        return f"there is no {'line' if place['number'] else 'turn'} {name} in the transcript"


def _found(citation: Citation, entry: LedgerEntry) -> Found:
    return Found(citation, entry, citation.where.strip(" []").upper())


def _id(entry: LedgerEntry) -> str:
    return f"T{entry.turn}.{entry.number}" if entry.number else f"#{entry.seqs[0]}"


def _is_of_the_agent(entry: LedgerEntry) -> bool:
    """Whether the words of a line are the agent's own: said, reported, or written to a sandbox by it."""
    return entry.speaker != "user"


def _forms(quote: str) -> list[Wanted]:
    """A quote as it is, and without the id and the speaker that a judge has copied before it."""
    forms = [Wanted(plain(quote))]
    label = _BEFORE.match(quote)
    if label is not None and label.end():
        speaker = _SPEAKERS[label["speaker"].casefold()] if label["speaker"] else ""
        forms.append(Wanted(plain(quote[label.end() :]), speaker))
    return forms


def _texts(entry: LedgerEntry) -> Iterator[str]:
    return (plain(text) for text in (entry.text, _LABEL.sub("", entry.line)) if text)


def plain(text: str) -> str:
    """Words without what differs between two who write the same: spaces, the sort of quote marks, dots at either end
    for what was left out. Letters and their case are as they are."""
    return _AROUND.sub("", " ".join(text.translate(_MARKS).split()))


def unlabelled(quote: str) -> str:
    """A quote without the id and the speaker before it."""
    return _BEFORE.sub("", quote, count=1)


def _around(text: str, quote: str) -> str:
    """So much of a text as is kept, with the quote in it."""
    start = max(text.find(quote[:BEGINNING]) - LONGEST // 2, 0) if len(text) > LONGEST else 0
    return text[start : start + LONGEST]


def rows(found: Iterable[Found]) -> tuple[FieldCheck, ...]:
    """Each once."""
    return tuple({(one.entry.seqs, one.cited): one.row() for one in found}.values())
