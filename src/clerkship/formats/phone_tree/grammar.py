"""Which choice of a menu a caller means by what they say."""

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple

from clerkship.formats.phone_tree.nodes import Choice
from clerkship.text.spoken_words import ORDINALS, UNITS, fold_speech, split_words, to_word_set

MAX_NEGATION_DISTANCE = 5
"""Within so many words after `not`, a phrase is negated."""
_FILLERS = to_word_set(
    "a an the um uh er erm ah hm hmm well so please my your our to with of for about on in i id im ill would like "
    "want need wish could can you me get just"
)
_NEGATIONS = to_word_set("not dont doesnt didnt never isnt arent wasnt without except neither nor cannot cant wont")
_JOINING = frozenset({"or", "and", "nor"})
_CLAUSE_WORDS = frozenset({"but", "instead", "rather", "actually"})
_KEY_MARKS = to_word_set("press option number choice key select dial choose button")
_KEYS = (
    {word: str(digit) for word, digit in UNITS.items() if word not in ("nought",)}
    | {str(digit): str(digit) for digit in range(10)}
    | {"star": "*", "asterisk": "*", "pound": "#", "hash": "#"}
)
_KEY_SIGNS = {"*": " star ", "#": " pound "}
_PART = re.compile(r"[a-z0-9]+|[,.;:!?]")
_DOUBLE_LETTER = re.compile(r"([a-z])\1$")
_YES = to_word_set("yes yeah yep yup ya correct right sure okay ok affirmative absolutely exactly definitely true si")
_YES_SOUND = ("uh", "huh")
_NO = to_word_set("no nope nah wrong incorrect negative false mistake")
_DENIABLE = frozenset({"correct", "right", "true", "yes", "exactly"})
_NOT_AN_ANSWER = re.compile(r"\bno (?:problem|worries|doubt)\b")


class _SpokenWord(NamedTuple):
    """A word of the caller."""

    stem: str
    clause: int
    """The number of its clause; a negation ends with its clause."""
    is_negation: bool
    is_joining: bool


class _PhraseMatch(NamedTuple):
    """A choice that is named in the text, and by how many words."""

    length: int
    choice: int


def match_choice(choices: Sequence[Choice], text: str) -> Choice | None:
    """Return the choice that a caller names; None if they name none, or two that match equally well.

    A phrase may stand anywhere in the text. The longest phrase wins. A key may be said instead: "press two".
    """
    matches = [*_find_phrases(choices, text), *_find_keys(choices, text)]
    if not matches:
        return None
    longest = max(match.length for match in matches)
    best = sorted({match.choice for match in matches if match.length == longest})
    if len({choices[index].next for index in best}) > 1:
        return None
    return choices[best[0]]


def is_yes(text: str) -> bool:
    """Return whether a caller says yes, and does not say no as well."""
    return _find_answers(text) == {True}


def is_no(text: str) -> bool:
    """Return whether a caller says no, and does not say yes as well."""
    return _find_answers(text) == {False}


def list_stems(text: str, kept: frozenset[str] = frozenset()) -> frozenset[str]:
    """Return the words of a text that carry its meaning, without inflection and without negated ones.

    Words of `kept` count, although they are usually fillers.
    """
    words = _split_clauses(fold_speech(text), fillers=_FILLERS - kept)
    return frozenset(word.stem for index, word in enumerate(words) if _find_negation(words, index, set()) is None)


def _find_answers(text: str) -> set[bool | None]:
    """Return what a text says: True for yes, False for no, None for "not sure"."""
    folded = _NOT_AN_ANSWER.sub(" ", fold_speech(text))
    words = _split_clauses(folded, fillers=frozenset())
    answers: set[bool | None] = set()
    for index, word in enumerate(words):
        is_negated = _find_negation(words, index, set()) is not None
        pair = tuple(part.stem for part in words[index : index + 2])
        if word.stem in _NO_STEMS:
            answers.add(is_negated)
        elif word.stem in _YES_STEMS or pair == _YES_SOUND:
            answers.add(True if not is_negated else False if word.stem in _DENIABLE_STEMS else None)
    return answers


def _find_phrases(choices: Sequence[Choice], text: str) -> Iterator[_PhraseMatch]:
    """Yield the places where a phrase of a choice stands, unless it is negated."""
    phrases: dict[tuple[str, ...], list[int]] = {}
    for index, choice in enumerate(choices):
        for phrase in choice.speech:
            phrases.setdefault(_stem_phrase(phrase), []).append(index)
    phrases.pop((), None)
    words = _split_clauses(fold_speech(text))
    lengths = sorted({len(phrase) for phrase in phrases}, reverse=True)
    firsts = {phrase[0] for phrase in phrases}
    negated: set[int] = set()
    stems = [word.stem for word in words]
    for start, stem in enumerate(stems):
        if stem not in firsts:
            continue
        negation = _find_negation(words, start, negated)
        for length in lengths:
            if start + length > len(stems):
                continue
            indexes = phrases.get(tuple(stems[start : start + length]), ())
            if indexes and negation is not None:
                negated.update(range(start, start + length))
                break
            for index in indexes:
                yield _PhraseMatch(length, index)


def _find_negation(words: Sequence[_SpokenWord], start: int, negated: set[int]) -> int | None:
    """Return the place of the negation that a word is subject to.

    A negation applies to the phrase that follows it, and to phrases that `or` joins to that one.
    """
    clause = words[start].clause
    for place in range(start - 1, max(start - MAX_NEGATION_DISTANCE, 0) - 1, -1):
        word = words[place]
        if word.clause != clause:
            return None
        if place in negated:
            between = words[place + 1 : start]
            return place if between and all(word.is_joining for word in between) else None
        if word.is_negation or (word.stem == "no" and place == start - 1):
            return place
    return None


def _find_keys(choices: Sequence[Choice], text: str) -> list[_PhraseMatch]:
    """Return the choices whose key is said: alone, or after a word such as `press`."""
    folded = fold_speech(text)
    for sign, name in _KEY_SIGNS.items():
        folded = folded.replace(sign, name)
    words = [word for word in split_words(folded) if word not in _FILLERS]
    keys = {choice.key: index for index, choice in reversed(list(enumerate(choices))) if choice.key is not None}
    pressed: list[tuple[str, int]] = []
    if len(words) == 1 and words[0] in _KEYS:
        pressed.append((_KEYS[words[0]], 1))
    for word, following in pairwise(words):
        if word in _KEY_MARKS and following in _KEYS:
            pressed.append((_KEYS[following], 2))
        elif ORDINALS.get(word, 10) < 10 and following in ("option", "choice"):
            pressed.append((str(ORDINALS[word]), 2))
    return [_PhraseMatch(length, keys[key]) for key, length in pressed if key in keys]


def _split_clauses(folded: str, fillers: frozenset[str] = _FILLERS) -> list[_SpokenWord]:
    """Return the words of a folded text without fillers, each with the number of its clause."""
    words: list[_SpokenWord] = []
    clause = 0
    for part in _PART.findall(folded):
        if part in _CLAUSE_WORDS or not part[0].isalnum():
            clause += 1
        elif part not in fillers:
            words.append(_SpokenWord(_stem(part), clause, part in _NEGATIONS, part in _JOINING))
    return words


@lru_cache(maxsize=4_000)
def _stem_phrase(phrase: str) -> tuple[str, ...]:
    """Return the stems of a phrase; fillers count only if there is nothing else."""
    words = split_words(phrase)
    return tuple(_stem(word) for word in words if word not in _FILLERS | _CLAUSE_WORDS)


def _stem(word: str) -> str:
    """Return a word without its inflection, so that `claims` and `claim`, `billing` and `bill` are the same."""
    word = word.replace("isation", "ization")
    if len(word) > 4 and word.endswith("ies"):
        word = word[:-3] + "y"
    elif len(word) > 3 and word.endswith("s") and not word.endswith("ss"):
        word = word[:-1]
    if len(word) > 5 and word.endswith("ing"):
        word = word[:-3]
    elif len(word) > 4 and word.endswith("ed"):
        word = word[:-2]
    if len(word) > 3 and word.endswith("e"):
        word = word[:-1]
    return _DOUBLE_LETTER.sub(r"\1", word) if len(word) > 3 else word


_YES_STEMS = frozenset(_stem(word) for word in _YES)
_NO_STEMS = frozenset(_stem(word) for word in _NO)
_DENIABLE_STEMS = frozenset(_stem(word) for word in _DENIABLE)
