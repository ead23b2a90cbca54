"""Letters that OCR engines, and readers, take for one another on fax pages.

A letter stands for one digit at most, and no chain is followed: 1 is read as l and l as i, but 1 never becomes 7.
"""

import unicodedata
from functools import cache

from clerkship.text.folding import DRAWN_THE_SAME

_DIGITS = {"0": "OoQD", "1": "Iil|![]", "2": "Zz", "5": "Ss$", "6": "Gb", "8": "B&", "9": "gq"}
"""What an engine reads in place of each digit. The case counts: B looks like 8 and b like 6, so a B that an agent wrote
because it did not know the digit is not both."""
_PAIRS = (
    *("il", "i|", "i!", "i]", "i[", "ij", "l|", "l!", "l]", "l[", "oq", "ec", ".,", ";:", "'\"", "-_", "-~", "-="),
    *(letter.casefold() + digit for digit, letters in _DIGITS.items() for letter in letters),
)
_CONFUSABLE = frozenset(pairs for pair in _PAIRS for pairs in ((pair[0], pair[1]), (pair[1], pair[0])))
_GROUPS = (("m", "rn"), ("w", "vv"), ("d", "cl"), ("u", "ii"))
SPECKS = frozenset("'\"~^°*·“”«»")
"""Marks that engines read in noise. Points and commas are not among them: 1.5 is not 15."""
_DRAWN_ALIKE = ("0o", "1i", "1l", "1|", "il", "i|", "l|", "3з", "4ч", "6б")


def is_confusable(wanted: str, read: str) -> bool:
    """Return whether an engine may read a letter or digit as another; never a digit as two others.

    `wanted` is without case, `read` as it is on the page.
    """
    if wanted in _DIGITS:
        return read in _DIGITS[wanted]
    return (wanted, read.casefold()) in _CONFUSABLE


@cache
def list_letter_groups(letter: str) -> tuple[tuple[str, str], ...]:
    """Return the groups that begin with a letter, each with the one it is confused with: m and rn."""
    both = (*_GROUPS, *((other, one) for one, other in _GROUPS))
    return tuple((one, other) for one, other in both if one.startswith(letter))


def is_drawn_alike(wanted: str, read: str) -> bool:
    """Return whether a reader takes one letter or digit for another on a clean page: O for 0, and l for 1."""
    return f"{wanted}{read}" in _DRAWN_ALIKE or f"{read}{wanted}" in _DRAWN_ALIKE


def to_latin_lookalikes(text: str) -> str:
    """Return text as it looks: letters of other alphabets that look Latin are, and what is not drawn is left out.

    Accents that are part of a letter stay, because they are dots of the page.
    """
    composed = unicodedata.normalize("NFC", text).translate(DRAWN_THE_SAME)
    return "".join(letter for letter in composed if unicodedata.category(letter) not in ("Mn", "Me", "Cf"))
