"""Names of people in what a caller says: whose they are, and what only looks like one."""

import re
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Literal, NamedTuple

import orjson

from clerkship.text.folding import FoldedText, Token, fold_text, fold_words
from clerkship.text.known_names import ORIGINS
from clerkship.text.spoken_words import CORRECTIONS, MONTHS, NUMBER_WORDS, to_word_set
from clerkship.text.words import (
    COMMON_WORDS,
    COURTESY_TITLES,
    DOCTOR_TITLES,
    NAME_NEIGHBORS,
    NICKNAMES,
    PARTICLES,
    SUFFIXES,
)

NameRole = Literal["caller", "patient", "staff", ""]
MAX_CUE_DISTANCE = 4
"""Words before a name that tell whose it is."""
MAX_NAME_WORDS = 5
_TABLE = orjson.loads(Path(__file__).with_name("spoken_names.json").read_bytes())
_OTHER_WORDS = to_word_set(" ".join(_TABLE["other_words"]).replace("'", "")).union(
    NAME_NEIGHBORS, MONTHS, NUMBER_WORDS, CORRECTIONS
)
"""Words that are no part of a name when nothing else tells so."""
_ORGANIZATIONS = to_word_set(_TABLE["organizations"])
_PATIENT_CUES, _LINKS = to_word_set(_TABLE["patient_cues"]), to_word_set(_TABLE["links"])
_QUESTION_CUES = to_word_set("does did has is was will can could should")
"""Words that begin a question about a person."""
_CALLER_CUES = frozenset(tuple(cue.split()) for cue in _TABLE["caller_cues"])
_FIRST_NAME = re.compile(r"\b(?:first|given) name(?: is|'s)?:? ([^\W\d_][\w'’-]*)", re.IGNORECASE)
_LAST_NAME = re.compile(r"\b(?:(?:last|family) name|surname)(?: is|'s)?:? ([^\W\d_][\w'’-]*)", re.IGNORECASE)
_OTHERS = to_word_set("patient patients member members his her their son daughter mother father husband wife client")
"""Words by which a caller speaks of another person."""


class SpokenName(NamedTuple):
    """A name that a caller said."""

    text: str
    """As it was said, without titles."""
    role: NameRole
    is_sure: bool
    """Whether its words are known as names, or it is said to be a name."""
    is_of_office: bool = False
    """Whether the caller says from which office they call."""
    is_alone: bool = False
    """Whether nothing else was said."""


def find_patient_name(text: str, *, is_asked: bool = False) -> str | None:
    """Return the name of the person whom a caller speaks of. With `is_asked`, that was the question."""
    parts = [pattern.search(text) for pattern in (_FIRST_NAME, _LAST_NAME)]
    if all(parts):
        return " ".join(part[1] for part in parts if part is not None)
    names = list(find_names(text, is_asked=is_asked))
    patients = [name for name in names if name.role == "patient" and (is_asked or name.is_sure)]
    if not patients and is_asked:
        patients = [name for name in names if name.role != "staff" and (name.is_sure or name.is_alone)]
    elif not patients and _OTHERS.isdisjoint(fold_words(text)):  # a patient calls
        patients = [name for name in names if name.role == "caller" and name.is_sure and not name.is_of_office]
    if not patients:
        return None
    if not CORRECTIONS.isdisjoint(fold_words(text)):
        return patients[-1].text
    return max(patients, key=lambda name: min(len(name.text.split()), 2)).text  # `Rivera, Ana Rivera`


def find_caller_name(text: str, *, is_asked: bool = False) -> str | None:
    """Return the name that a caller gives as their own."""
    names = [name for name in find_names(text, is_asked=is_asked) if name.role == "caller" or is_asked]
    return names[0].text if names else None


def find_names(text: str, *, is_asked: bool = False) -> Iterator[SpokenName]:
    """Yield the names in a text. One word alone is a name only if a name was asked for."""
    folded = fold_text(text)
    tokens = folded.tokens
    is_lower = folded.plain == folded.lower
    place = 0
    while place < len(tokens):
        end = _find_end(folded, place, is_lower=is_lower)
        start = place
        while start < end and tokens[start].text in _TITLES:
            start += 1
        words = tokens[start:end]
        role = _find_role(tokens, place, words)
        is_name = 0 < len(words) <= MAX_NAME_WORDS and (len(words) > 1 or is_asked)
        if is_name and role is not None and _ORGANIZATIONS.isdisjoint(word.text for word in tokens[place : end + 1]):
            is_known = tokens[place].text in COURTESY_TITLES or any(word.text in _list_known() for word in words)
            is_sure = is_known or (role != "" and all(word.is_capitalized for word in words if len(word.text) > 3))
            is_alone = all(word.text in _LINKS for word in (*tokens[:place], *tokens[end:]))
            spoken = " ".join(folded.plain[word.start : word.end].removesuffix("'s") for word in words)
            yield SpokenName(spoken, role, is_sure, _is_of_office(tokens, end), is_alone)
        place = max(end, place + 1)


_TITLES = COURTESY_TITLES | DOCTOR_TITLES


def _find_end(folded: FoldedText, start: int, *, is_lower: bool) -> int:
    """Return where the row of words ends that may be a name."""
    tokens, place = folded.tokens, start
    while place < len(tokens) and _may_be_name(tokens, place, is_first=place == start, is_lower=is_lower):
        place += 1
        gap, last = folded.gap(place - 1) if place < len(tokens) else "", tokens[place - 1].text
        may_have_dot = last in _TITLES or len(last) == 1
        if place == len(tokens) or gap.strip(" .-" if may_have_dot else " -"):
            break
    while place > start + 1 and tokens[place - 1].text in PARTICLES:
        place -= 1
    return place


def _may_be_name(tokens: Sequence[Token], place: int, *, is_first: bool, is_lower: bool) -> bool:
    token = tokens[place]
    if not token.text.isalpha():
        return False
    if token.text in _TITLES:
        return is_first
    if not is_first and (token.text in PARTICLES or token.text in SUFFIXES or len(token.text) == 1):
        return is_lower or token.is_capitalized or token.text in PARTICLES
    if token.text in _OTHER_WORDS:  # `May Lee` and `Will Grant` are names, `may` and `will` are none
        is_both = token.is_capitalized and (token.text in COMMON_WORDS or token.text in _list_known())
        return is_both and (not is_first or (place + 1 < len(tokens) and _is_plain_name(tokens[place + 1])))
    return is_lower or token.is_capitalized


def _is_plain_name(token: Token) -> bool:
    return token.is_capitalized and len(token.text) > 1 and token.text not in _OTHER_WORDS


def _find_role(tokens: Sequence[Token], start: int, words: Sequence[Token]) -> NameRole | None:
    """Return whose name stands at a place; None if it is said to be wrong."""
    if tokens[start].text in DOCTOR_TITLES and tokens[start] not in words:
        return "staff"
    before = [token.text for token in tokens[max(start - MAX_CUE_DISTANCE, 0) : start]]
    for distance in range(1, len(before) + 1):
        word = before[-distance]
        if word == "not":
            return None
        if any(tuple(before[-distance - len(cue) + 1 : len(before) - distance + 1]) == cue for cue in _CALLER_CUES):
            return "caller"
        if word in _PATIENT_CUES or (word in _QUESTION_CUES and tokens[start - distance].starts_sentence):
            return "patient"
        if word not in _LINKS:
            return "staff" if word in DOCTOR_TITLES or word in ("with", "by") else ""
    return ""


def _is_of_office(tokens: Sequence[Token], end: int) -> bool:
    return any(token.text in ("from", "with", "at", "of") for token in tokens[end : end + 2])


@cache
def _list_known() -> frozenset[str]:
    """Return the words of names that are known, folded, with short forms."""
    names = (name for origin in ORIGINS for name in (*origin.female, *origin.male, *origin.family))
    known = {word for name in names for word in fold_words(name) if len(word) > 1}
    return frozenset(known | NICKNAMES.keys() | {short for each in NICKNAMES.values() for short in each})
