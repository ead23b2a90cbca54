"""Words of a caller: folded to plain lower case, and the numbers among them."""

import re
from collections.abc import Sequence

from clerkship.text.folding import fold

UNITS = {
    word: value
    for value, word in enumerate(("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine"))
} | {"oh": 0, "nought": 0}
TEENS = {
    word: value
    for value, word in enumerate(
        (
            "ten",
            "eleven",
            "twelve",
            "thirteen",
            "fourteen",
            "fifteen",
            "sixteen",
            "seventeen",
            "eighteen",
            "nineteen",
        ),
        start=10,
    )
}
TENS = {
    word: 10 * value
    for value, word in enumerate(
        ("twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"), start=2
    )
} | {"fourty": 40}
REPEATS = {"double": 2, "triple": 3, "treble": 3, "quadruple": 4}
HESITATIONS = frozenset({"um", "uh", "er", "erm", "ah", "hm", "hmm", "well", "okay", "so", "please"})
CORRECTIONS = frozenset({"no", "sorry", "correction", "mean", "meant", "wait", "oops", "actually", "rather"})
"""Words after which a caller says again what they got wrong."""
_TOKEN = re.compile(r"[a-z0-9]+")


def to_word_set(words: str) -> frozenset[str]:
    """Return the words of a text as a set."""
    return frozenset(words.split())


def fold_text(text: str) -> str:
    """Return a text in lower case, without accents and apostrophes."""
    return fold(text).replace("'", "").casefold()


def split_words(text: str) -> list[str]:
    """Return the words and numbers of a text, folded."""
    return _TOKEN.findall(fold_text(text))


def read_number_below_hundred(words: Sequence[str], start: int) -> tuple[int, int] | None:
    """Return a number from 0 to 99 that is said in words, and how many words it takes; None if there is none."""
    word = words[start] if start < len(words) else ""
    if word in UNITS:
        return UNITS[word], 1
    if word in TEENS:
        return TEENS[word], 1
    if word in TENS:
        unit = UNITS.get(words[start + 1], 0) if start + 1 < len(words) else 0
        return TENS[word] + unit, 2 if unit else 1
    return None
