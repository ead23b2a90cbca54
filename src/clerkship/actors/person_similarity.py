"""Measure how far one line repeats another, literally or nearly.

The measure is the share of a text's words that lie in a run of three words which also occurs in the other text.
Case, punctuation, white space, contractions and filler words are ignored. It takes time linear in the length of both
texts.
"""

import re
from collections.abc import Iterable, Iterator, Sequence

MIN_SIMILARITY = 0.8
"""With this share of words one text repeats the other; calibrated with `tests/actors/near_lines.yml`."""
MIN_WORDS = 4
"""Shorter lines ("yes", "I see") do not count as repetitions."""
MAX_ANSWER_WORDS = 8
"""The longest statement with a number that counts as an answer, which may be given again."""
_RUN = 3
_FILLERS = frozenset(
    {"um", "uh", "er", "hm", "hmm", "well", "so", "ok", "okay", "oh", "ah", "please", "just", "really", "actually"}
    | {"look", "sorry", "hello", "hi", "hey", "but", "and", "now", "again"}
)
_NEGATIONS = frozenset({"no", "not", "never", "none", "nothing", "neither", "nor", "without", "cannot"})
_CONTRACTED = ((r"\bcan['’]t\b", "can not"), (r"n['’]t\b", " not"), (r"['’]m\b", " am"), (r"['’]re\b", " are"))
_CONTRACTIONS = (*_CONTRACTED, (r"['’]ve\b", " have"), (r"['’]ll\b", " will"), (r"['’]d\b", " would"))
_SENTENCE = re.compile(r"[^.!?:;\n]+")


def split_words(text: str) -> list[str]:
    """Split a text into words, without case, punctuation, contractions and fillers."""
    return _remove_fillers(_expand_contractions(text))


def split_sentences(text: str) -> Iterator[list[str]]:
    """Yield the words of each sentence of a text; sentences without words are left out."""
    return (split for match in _SENTENCE.finditer(_expand_contractions(text)) if (split := _remove_fillers(match[0])))


def measure_coverage(text: Sequence[str], other: Sequence[str]) -> float:
    """Return the share of a text's words that lie in a run of words which the other text also has."""
    if not text:
        return 0.0
    size = min(_RUN, len(text))
    runs = set(_runs(other, size))
    places = {
        place for start, run in enumerate(_runs(text, size)) if run in runs for place in range(start, start + size)
    }
    return len(places) / len(text)


def is_similar(one: Sequence[str], other: Sequence[str]) -> bool:
    """Return whether each text is covered by the other."""
    return measure_coverage(one, other) >= MIN_SIMILARITY and measure_coverage(other, one) >= MIN_SIMILARITY


def is_repetition(line: str, before: str) -> bool:
    """Return whether a line repeats an earlier one.

    Short lines and short answers with a number are not repetitions, nor is a line with other numbers or another
    negation.
    """
    new, old = split_words(line), split_words(before)
    if len(new) < MIN_WORDS or _is_answer(line, new):
        return False
    return _significant_words(new) == _significant_words(old) and is_similar(new, old)


def is_echo(line: str, heard: Iterable[str]) -> bool:
    """Return whether a line consists of sentences of the agent's last messages, or nearly so."""
    new = split_words(line)
    if len(new) < MIN_WORDS:
        return False
    taken: list[str] = []
    for text in heard:
        for sentence in split_sentences(text):
            if measure_coverage(sentence, new) >= MIN_SIMILARITY:
                taken += sentence
    return measure_coverage(new, taken) >= MIN_SIMILARITY and len(taken) >= MIN_WORDS


def _expand_contractions(text: str) -> str:
    text = text.casefold()
    for pattern, full in _CONTRACTIONS:
        text = re.sub(pattern, full, text)
    return text


def _remove_fillers(text: str) -> list[str]:
    return [word for word in re.findall(r"\w+", text) if word not in _FILLERS]


def _runs(text: Sequence[str], size: int) -> Iterator[tuple[str, ...]]:
    return (tuple(text[start : start + size]) for start in range(len(text) - size + 1))


def _is_answer(line: str, split: Sequence[str]) -> bool:
    return "?" not in line and len(split) <= MAX_ANSWER_WORDS and any(_has_digit(word) for word in split)


def _significant_words(split: Sequence[str]) -> frozenset[str]:
    """Return the words that change the meaning of a line: numbers and negations."""
    return frozenset(word for word in split if _has_digit(word) or word in _NEGATIONS)


def _has_digit(word: str) -> bool:
    return any(sign.isdigit() for sign in word)
