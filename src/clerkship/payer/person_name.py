"""Names as payers compare them: without accents, case, punctuation and middle names that only one side has."""

import re
import unicodedata
from collections.abc import Sequence
from functools import lru_cache

_SEPARATORS = re.compile(r"[\s\-.,'’`]+")
_LETTERS = str.maketrans({"ß": "ss", "ø": "o", "đ": "d", "ł": "l", "æ": "ae", "œ": "oe"})
"""Letters that Unicode does not decompose into a letter and an accent."""


@lru_cache(maxsize=4096)
def normalise_name(name: str) -> tuple[str, ...]:
    """Return the words of a name: `Núñez-O'Neil` is `nunez`, `o`, `neil`."""
    decomposed = unicodedata.normalize("NFKD", name.casefold())
    plain = "".join(each for each in decomposed if not unicodedata.combining(each)).translate(_LETTERS)
    return tuple(word for word in _SEPARATORS.split(plain) if word)


def is_same_family(first: str, second: str) -> bool:
    """Return whether two family names are the same. `O'Neil` and `ONeil` are."""
    return "".join(normalise_name(first)) == "".join(normalise_name(second))


def is_same_given(asked: str, names: Sequence[str]) -> bool:
    """Return whether given names are the same: the first, and middle names or initials where both sides have them."""
    words, known = normalise_name(asked), normalise_name(" ".join(names))
    if not words or not known or words[0] != known[0]:
        return "".join(words) == "".join(known) != ""
    return all(_is_same_or_initial(*pair) for pair in zip(words[1:], known[1:], strict=False))


def _is_same_or_initial(first: str, second: str) -> bool:
    return first == second or (1 in (len(first), len(second)) and first[0] == second[0])
