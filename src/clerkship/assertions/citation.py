"""What a judge relies on: a turn or an event, and words that stand there. What does not stand there is found out."""

import re
from collections.abc import Iterable, Sequence
from typing import Annotated, NamedTuple

from pydantic import BaseModel, Field

from clerkship.events.evidence import Evidence
from clerkship.events.ledger import Entry, done, quoted, said
from clerkship.model.run import FieldCheck

LONGEST = 2000
"""Characters of a turn or an event that are kept beside a quote."""
MOST = 50
"""Citations of one verdict; more is no reading but a copy."""
MOST_PLACES = 3
BEGINNING = 50
"""Characters of a quote that it is looked for by, where not all of a text is kept."""
_WHERE = re.compile(r"\[?(?:(?P<turn>T)(?P<which>\d{1,9})|#(?P<event>\d{1,9})(?:\.\.#\d{1,9})?)\]?", re.IGNORECASE)
"""`T2`, `#12`; and `#12..#14`, as the ledger has those that are the same."""
_LABEL = re.compile(r"^(?:\[T\d+\][^:]*: |#\d+(?:\.\.#\d+)? )")
"""What stands before each line and is ours: to quote it says nothing."""
_MARKS = str.maketrans(dict.fromkeys("“”„‟«»″", '"') | dict.fromkeys("‘’‚‛‹›′`", "'") | {"…": "..."})
_AROUND = re.compile(r"^(?:[\"'\s]|\.\.\.)+|(?:[\"'\s]|\.\.\.)+$")


class Citation(BaseModel):
    """Where something stands, and what."""

    where: Annotated[str, Field(description="the turn, such as `T2`, or the event of the ledger, such as `#12`")]
    quote: Annotated[str, Field(description="words that stand there, copied letter for letter")]


class Found(NamedTuple):
    """A citation, and the line it was found in."""

    citation: Citation
    entry: Entry

    def row(self) -> FieldCheck:
        """As evidence of a criterion, which leads to the event."""
        entry, citation = self.entry, self.citation
        return FieldCheck(
            path=citation.where.strip(" []").upper(),
            expected={"contains": citation.quote[:LONGEST]},
            actual=_around(entry.text or entry.line, citation.quote),
            passed=True,
            seq=entry.seqs[0],
        )


class Reading:
    """All that a judge can point at."""

    def __init__(self, evidence: Evidence) -> None:
        self._turns: dict[int, list[Entry]] = {}
        for entry in said(evidence):
            self._turns.setdefault(entry.turn, []).append(entry)
        self._events = {seq: entry for entry in done(evidence) for seq in entry.seqs}

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to be quoted."""
        return not self._turns and not self._events

    def find(self, citation: Citation) -> Found | str:
        """Where it stands; or what is wrong with it, in words that its author can act on."""
        place = _WHERE.fullmatch(citation.where.strip())
        if place is None:
            return f"{quoted(citation.where, 40)} is neither a turn, such as T2, nor an event, such as #12"
        number = int(place["which"] or place["event"])
        entries = self._turns.get(number, []) if place["turn"] else self._at(number)
        if not entries:
            return f"there is no {f'turn T{number} in the transcript' if place['turn'] else _no_event(number)}"
        wanted = plain(citation.quote)
        if not any(letter.isalnum() for letter in wanted):
            return f"the quote from {citation.where.strip()} has no words in it"
        found = next((entry for entry in entries if _stands_in(wanted, entry)), None)
        if found is None:
            return f"{quoted(citation.quote, 200)} does not stand in {citation.where.strip()}{self._elsewhere(wanted)}"
        if not place["turn"]:
            found = found._replace(seqs=(number,))
        return Found(citation, found)

    def _elsewhere(self, wanted: str) -> str:
        """Where it does stand: a judge that read it there has put down the wrong number."""
        turns = [f"T{turn}" for turn, said in self._turns.items() if any(_stands_in(wanted, entry) for entry in said)]
        events = [f"#{seq}" for seq, entry in self._events.items() if _stands_in(wanted, entry)]
        places = [*turns, *events][:MOST_PLACES]
        return f", but in {' and in '.join(places)}" if places else ""

    def _at(self, seq: int) -> list[Entry]:
        return [self._events[seq]] if seq in self._events else []

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


def plain(text: str) -> str:
    """Words without what differs between two who write the same: spaces, the sort of quote marks, dots at either end
    for what was left out. Letters and their case are as they are."""
    return _AROUND.sub("", " ".join(text.translate(_MARKS).split()))


def _stands_in(wanted: str, entry: Entry) -> bool:
    """In the words themselves, or in the line as the judge was shown it."""
    return any(wanted in plain(text) for text in (entry.text, _LABEL.sub("", entry.line)) if text)


def _around(text: str, quote: str) -> str:
    """So much of a text as is kept, with the quote in it."""
    start = max(text.find(quote[:BEGINNING]) - LONGEST // 2, 0) if len(text) > LONGEST else 0
    return text[start : start + LONGEST]


def _no_event(number: int) -> str:
    return f"event #{number} in the ledger"


def rows(found: Iterable[Found]) -> tuple[FieldCheck, ...]:
    """Each once."""
    return tuple({(one.entry.seqs, one.citation.quote): one.row() for one in found}.values())
