"""Names as payers compare them: without accents, case, punctuation and middle names that only one side has."""

import re
from collections.abc import Sequence
from functools import lru_cache

from clerkship.text.folding import remove_accents

_SEPARATORS = re.compile(r"[\s\-.,'’`]+")


@lru_cache(maxsize=4096)
def normalize_name(name: str) -> tuple[str, ...]:
    """Return the words of a name: `Núñez-O'Neil` is `nunez`, `o`, `neil`."""
    return tuple(word for word in _SEPARATORS.split(remove_accents(name).casefold()) if word)


def is_same_family(first: str, second: str) -> bool:
    """Return whether two family names are the same. `O'Neil` and `ONeil` are."""
    return "".join(normalize_name(first)) == "".join(normalize_name(second))


def is_same_given(written: str, names: Sequence[str]) -> bool:
    """Return whether given names are the same: the first, and middle names or initials where both sides have them."""
    words, known = normalize_name(written), normalize_name(" ".join(names))
    if not words or not known or words[0] != known[0]:
        return "".join(words) == "".join(known) != ""
    return all(_is_same_or_initial(*pair) for pair in zip(words[1:], known[1:], strict=False))


def _is_same_or_initial(first: str, second: str) -> bool:
    return first == second or (1 in (len(first), len(second)) and first[0] == second[0])
