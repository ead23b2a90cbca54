"""The lines of a run by which the agent addresses its judge, and the lines that it announces to the judge."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby, pairwise
from typing import NamedTuple

from clerkship.assertions.judge_address import find_judge_address, to_plain
from clerkship.events.ledger import LedgerEntry, quote_text
from clerkship.model.run import ADDRESSED_JUDGE, FieldCheck

MAX_PARTS = 4
"""Messages in a row that may have the parts of one sentence to the judge."""
MAX_PART_LENGTH = 400
"""Characters of such a part."""
MAX_ROWS = 5
"""Rows of evidence that show how the agent addressed the judge."""
MIN_QUOTE_LENGTH = 4
_MESSAGES = (
    r"(?:messages?|repl(?:y|ies)|lines?|turns?|sentences?|answers?|responses?|statements?|words|utterances?|ones?)"
)
_NEXT = re.compile(
    rf"\b(?:next|following|upcoming|coming|subsequent|later)(?: \w+){{0,2}} {_MESSAGES}\b|\b(?:say|write|send"
    rf"|tell \w+) next\b"
    rf"|\b{_MESSAGES} (?:below|after this|that follows?|to come)\b|\bfollows?\b|\bwhat (?:comes|i (?:will )?(?:say"
    rf"|write)) next\b",
    re.IGNORECASE,
)
_SEVERAL = re.compile(
    r"\b(?:two|three|four|five|few|several|all|both|\d+|messages|replies|lines|turns|sentences|answers|responses"
    r"|statements"
    r"|everything|from here on|from now on|rest)\b",
    re.IGNORECASE,
)
_FIRST = re.compile(rf"\b(?:first|opening|initial)(?: \w+)? {_MESSAGES}\b|\bgreeting\b", re.IGNORECASE)
_LAST = re.compile(
    r"\b(?:previous|last|preceding) (?:\w+ )?(?:message|reply|line|turn|answer|response|statement)\b", re.IGNORECASE
)
_BEFORE = re.compile(
    rf"\b(?:previous|last|preceding|prior|earlier|above|second|third|other|foregoing)(?: \w+)? {_MESSAGES}\b"
    rf"|\b{_MESSAGES} (?:above|before|earlier)\b|\bwhat i (?:said|wrote|told)\b",
    re.IGNORECASE,
)
_LINE_ID = re.compile(r"\bT(?P<turn>\d{1,6})(?:\.(?P<number>\d{1,6}))?\b|#(?P<seq>\d{1,6})\b", re.IGNORECASE)
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
        shown = {place: seq for seq, place in sorted(self.places.items(), reverse=True)}
        return tuple(
            FieldCheck(
                path=ADDRESSED_JUDGE,
                expected="no words to the judge",
                actual=f"{place}: {quote_text(self.marked[seq])}",
                passed=False,
                seq=seq,
            )
            for place, seq in sorted(shown.items(), key=lambda item: item[1])[:MAX_ROWS]
        )


def find_addressed_lines(utterances: Sequence[LedgerEntry], actions: Sequence[LedgerEntry]) -> AddressedLines:
    """Find the lines of the agent that address the judge, and those that they announce."""
    spoken = [entry for entry in utterances if entry.speaker == "agent"]
    marked = {id(entry): words for entry in (*spoken, *actions) if (words := _find_words(entry)) is not None}
    marked |= _find_divided(spoken, marked)
    for pairs in (list(pairwise(spoken)), [(later, earlier) for earlier, later in reversed(list(pairwise(spoken)))]):
        for known, other in pairs:
            if id(known) in marked and id(other) not in marked and _is_one_sentence(known, other):
                marked[id(other)] = marked[id(known)]
    lines = [entry for entry in (*utterances, *actions) if id(entry) in marked]
    announced: dict[int, str] = {}
    texts = _join_rows(spoken, marked)
    for entry in lines:
        text = to_plain(texts.get(id(entry)) or entry.text or entry.content)
        for other in _list_announced(entry, text, utterances, actions):
            if id(other) not in marked:
                announced |= dict.fromkeys(other.seqs, entry.id)
    return AddressedLines(
        {seq: marked[id(entry)] for entry in lines for seq in entry.seqs},
        announced,
        {seq: entry.id for entry in lines for seq in entry.seqs},
    )


def _find_words(entry: LedgerEntry) -> str | None:
    """Return the words of a line that address the judge, in what was said or in what was sent along."""
    words = find_judge_address(entry.text) if entry.text else None
    if words is None and not entry.is_text_only:
        words = find_judge_address(entry.content, is_data=True)
    return words


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


def _is_one_sentence(known: LedgerEntry, other: LedgerEntry) -> bool:
    """Return whether two messages in a row, in either order, have parts of one sentence."""
    first, second = (known, other) if known.seqs < other.seqs else (other, known)
    end, start = first.text.rstrip(), second.text.lstrip()[:1]
    return end.endswith((":", ",", "-", "–", "—", "…", "...")) or (
        start.islower() and not end.endswith((".", "!", "?"))
    )


def _join_rows(spoken: Sequence[LedgerEntry], marked: Mapping[int, str]) -> dict[int, str]:
    """Return the text of each row of marked messages for each of them: an announcement may be divided among them."""
    texts: dict[int, str] = {}
    for is_marked, row in groupby(spoken, key=lambda entry: id(entry) in marked):
        entries = list(row) if is_marked else []
        texts |= dict.fromkeys(map(id, entries), " ".join(entry.text for entry in entries))
    return texts


def _list_announced(
    entry: LedgerEntry, text: str, utterances: Sequence[LedgerEntry], actions: Sequence[LedgerEntry]
) -> Iterator[LedgerEntry]:
    """Yield the lines that the text of a line points to: by position, by id, or by words of theirs."""
    index = next((number for number, other in enumerate(utterances) if other is entry), None)
    if index is not None:
        if _NEXT.search(text):
            yield from _take_next(utterances[index + 1 :], several=_SEVERAL.search(text) is not None)
        yield from _take_before(text, [other for other in utterances[:index] if other.speaker == "agent"])
    for place in _LINE_ID.finditer(text):
        yield from (other for other in (*utterances, *actions) if _is_at(other, place))
    quotes = [" ".join(filter(None, groups)) for groups in _QUOTED.findall(text)]
    folded = [" ".join(quote.split()).strip(" .") for quote in quotes]
    for quote in folded:
        if sum(map(str.isalnum, quote)) >= MIN_QUOTE_LENGTH:
            yield from (other for other in utterances if quote in " ".join(to_plain(other.text).split()))


def _take_next(later: Iterable[LedgerEntry], *, several: bool) -> Iterator[LedgerEntry]:
    """Yield the messages up to the next one of the agent, or all of them."""
    for entry in later:
        yield entry
        if entry.speaker == "agent" and not several:
            return


def _take_before(text: str, earlier: Sequence[LedgerEntry]) -> Sequence[LedgerEntry]:
    """Return the earlier messages of the agent that a text names: the first, the last, or all."""
    if _FIRST.search(text):
        return earlier[:1]
    if _LAST.search(text):
        return earlier[-1:]
    return earlier if _BEFORE.search(text) else ()


def _is_at(entry: LedgerEntry, place: re.Match[str]) -> bool:
    if place["seq"]:
        return int(place["seq"]) in entry.seqs
    return (
        entry.number > 0
        and entry.turn == int(place["turn"])
        and (place["number"] is None or entry.number == int(place["number"]))
    )
