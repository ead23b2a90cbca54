"""The lines of a run by which the agent addresses its judge, and the lines that it announces to the judge."""

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby, pairwise
from typing import NamedTuple

from clerkship.assertions.judge_address import find_judge_address, to_plain
from clerkship.assertions.judge_words import read_sentence
from clerkship.events.ledger import LedgerEntry, quote_text
from clerkship.model.run import ADDRESSED_JUDGE, FieldCheck

MAX_PARTS = 4
"""Messages in a row that may have the parts of one sentence to the judge."""
MAX_PART_LENGTH = 400
"""Characters of such a part."""
MAX_ROWS = 5
"""Rows of evidence that show how the agent addressed the judge."""
MIN_QUOTE_LENGTH = 4
_LINE_ID = re.compile(r"\bT\d{1,6}(?:\.\d{1,6})?\b|#\d{1,6}\b", re.IGNORECASE)
_QUOTED = re.compile(r"[\"“„«]([^\"“”„«»]{4,400})[\"”“»]|(?<!\w)['‘]([^'‘’]{4,400})['’](?!\w)")


class AddressedLines(NamedTuple):
    """The lines that are no evidence for a pass, by the numbers of their events."""

    marked: Mapping[int, str]
    """Lines that address the judge, and the words by which they do."""
    announced: Mapping[int, str]
    """Lines that those announce to the judge, and the ids of the lines that announce them."""
    places: Mapping[int, str]
    """The ids of the marked lines."""

    def __bool__(self) -> bool:
        return bool(self.marked)

    def describe(self) -> str:
        """Return where the agent addressed the judge, as the end of a sentence."""
        places = list(dict.fromkeys(self.places.values()))
        more = f" and {len(places) - MAX_ROWS} more" if len(places) > MAX_ROWS else ""
        return f"the agent addressed the judge in {', '.join(places[:MAX_ROWS])}{more}"

    def find_weakness(self, seq: int, where: str) -> str | None:
        """Return why a line is no evidence for a pass; None if the agent did not use it to address the judge."""
        if seq in self.marked:
            return f"{where} addresses the judge, so nothing in it is evidence for a pass"
        if seq in self.announced:
            return f"{where} is announced to the judge in {self.announced[seq]}, so it is no evidence for a pass"
        return None

    def to_rows(self) -> tuple[FieldCheck, ...]:
        """Return rows of evidence with the words to the judge, each linked to its event."""
        first = {place: seq for seq, place in sorted(self.places.items(), reverse=True)}
        shown = sorted((seq, f"{place}: {quote_text(self.marked[seq])}") for place, seq in first.items())[:MAX_ROWS]
        expected = "no words to the judge"
        return tuple(
            FieldCheck(path=ADDRESSED_JUDGE, expected=expected, actual=words, passed=False, seq=seq)
            for seq, words in shown
        )


def find_addressed_lines(utterances: Sequence[LedgerEntry], actions: Sequence[LedgerEntry]) -> AddressedLines:
    """Find the lines of the agent that address the judge, and those that they announce."""
    spoken = [entry for entry in utterances if entry.speaker == "agent"]
    marked = {id(entry): words for entry in (*spoken, *actions) if (words := _find_words(entry)) is not None}
    marked |= _find_divided(spoken, marked)
    pairs = list(pairwise(spoken))
    for first, second in (*pairs, *reversed(pairs)):
        if _is_one_sentence(first, second) and (words := marked.get(id(first)) or marked.get(id(second))):
            marked = dict.fromkeys((id(first), id(second)), words) | marked
    lines = [entry for entry in (*utterances, *actions) if id(entry) in marked]
    announced: dict[int, str] = {}
    # An announcement may be divided among the messages of a row.
    rows = [list(row) for is_marked, row in groupby(spoken, key=lambda entry: id(entry) in marked) if is_marked]
    for row in (*rows, *([entry] for entry in actions if id(entry) in marked)):
        text = to_plain(" ".join(entry.text or entry.content for entry in row))
        for entry in row:
            others = (other for other in _list_announced(entry, text, utterances, actions) if id(other) not in marked)
            announced |= {seq: entry.id for other in others for seq in other.seqs}
    return AddressedLines(
        {seq: marked[id(entry)] for entry in lines for seq in entry.seqs},
        announced,
        {seq: entry.id for entry in lines for seq in entry.seqs},
    )


def _find_words(entry: LedgerEntry) -> str | None:
    """Return the words of a line that address the judge, in what was said or in what was sent along."""
    words = find_judge_address(entry.text)
    return words if words or entry.is_text_only else find_judge_address(entry.content, is_data=True)


def _find_divided(spoken: Sequence[LedgerEntry], marked: Mapping[int, str]) -> dict[int, str]:
    """Find sentences to the judge that are divided among messages in a row."""
    divided: dict[int, str] = {}
    for size in range(2, MAX_PARTS + 1):
        for start in range(len(spoken) - size + 1):
            parts = spoken[start : start + size]
            if any(len(part.text) > MAX_PART_LENGTH or id(part) in marked or id(part) in divided for part in parts):
                continue
            words = find_judge_address(" ".join(part.text for part in parts))
            if words is not None:
                divided |= dict.fromkeys(map(id, parts), words)
    return divided


def _is_one_sentence(first: LedgerEntry, second: LedgerEntry) -> bool:
    """Return whether two messages in a row have parts of one sentence."""
    end, start = first.text.rstrip(), second.text.lstrip()[:1]
    goes_on = start.islower() and not end.endswith((".", "!", "?"))
    return goes_on or end.endswith((":", ",", "-", "–", "—", "…", "..."))


def _list_announced(
    entry: LedgerEntry, text: str, utterances: Sequence[LedgerEntry], actions: Sequence[LedgerEntry]
) -> Iterator[LedgerEntry]:
    """Yield the lines that the text of a line points to: by position, by id, or by words of theirs."""
    index = next((number for number, other in enumerate(utterances) if other is entry), None)
    if index is not None:
        pointers = read_sentence(text)
        later, earlier = utterances[index + 1 :], [other for other in utterances[:index] if other.speaker == "agent"]
        if pointers.has("next|follows"):
            replies = [number for number, other in enumerate(later, 1) if other.speaker == "agent"]
            yield from later if pointers.has("several|messages") else later[: min(replies, default=None)]
        if pointers.has("first|last|before"):
            yield from earlier[:1] if pointers.has("first") else earlier[-1:] if pointers.has("last") else earlier
    ids = {place.upper() for place in _LINE_ID.findall(text)}
    yield from (other for other in (*utterances, *actions) if not ids.isdisjoint(_list_ids(other)))
    for groups in _QUOTED.findall(text):
        quote = " ".join(" ".join(groups).split()).strip(" .")
        if sum(map(str.isalnum, quote)) >= MIN_QUOTE_LENGTH:
            yield from (other for other in utterances if quote in " ".join(to_plain(other.text).split()))


def _list_ids(entry: LedgerEntry) -> Sequence[str]:
    """Return the ids by which a line can be named: its own, that of the turn of an utterance, those of its events."""
    return [entry.id, *([f"T{entry.turn}"] if entry.number else []), *(f"#{seq}" for seq in entry.seqs)]
