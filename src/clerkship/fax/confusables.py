"""Letters that OCR engines take for one another on fax pages.

A pair has at most one digit, and no chain is followed: 1 is read as l and l as i, but 1 never becomes 7.
"""

import unicodedata
from functools import cache

_PAIRS = (
    *("0o", "0q", "0d", "1i", "1l", "1|", "1!", "1]", "1[", "2z", "5s", "5$", "6g", "6b", "8b", "8&", "9g", "9q"),
    *("il", "i|", "i!", "i]", "i[", "ij", "l|", "l!", "l]", "l[", "oq", "ec", ".,", ";:", "'\"", "-_", "-~", "-="),
)
_CONFUSABLE = frozenset(pairs for pair in _PAIRS for pairs in ((pair[0], pair[1]), (pair[1], pair[0])))
_GROUPS = (("m", "rn"), ("w", "vv"), ("d", "cl"), ("u", "ii"))
SPECKS = frozenset("'\"~^°*·“”«»")
"""Marks that engines read in noise. Points and commas are not among them: 1.5 is not 15."""
_PLAIN = str.maketrans({"ø": "o", "ł": "l", "đ": "d", "ð": "d", "þ": "th", "æ": "ae", "œ": "oe", "ı": "i"})


def is_confusable(one: str, other: str) -> bool:
    """Return whether a letter, without case, is read as another; never one digit as another."""
    return (one, other) in _CONFUSABLE


@cache
def list_letter_groups(letter: str) -> tuple[tuple[str, str], ...]:
    """Return the groups that begin with a letter, each with the one it is confused with: m and rn."""
    both = (*_GROUPS, *((other, one) for one, other in _GROUPS))
    return tuple((one, other) for one, other in both if one.startswith(letter))


def to_plain_letters(text: str) -> str:
    """Return text without accents, as an engine for English reads it."""
    decomposed = unicodedata.normalize("NFKD", text.translate(_PLAIN))
    return "".join(letter for letter in decomposed if not unicodedata.combining(letter))
