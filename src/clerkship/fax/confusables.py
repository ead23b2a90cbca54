"""Letters that OCR engines take for one another on fax pages.

A letter stands for one digit at most, and no chain is followed: 1 is read as l and l as i, but 1 never becomes 7.
"""

import unicodedata
from functools import cache

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
_PLAIN = {"ø": "o", "ł": "l", "đ": "d", "ð": "d", "þ": "th", "æ": "ae", "œ": "oe", "ı": "i"}
_PLAIN_LETTERS = str.maketrans(_PLAIN | {one.upper(): other.upper() for one, other in _PLAIN.items() if one != "ı"})

_LOOKALIKES = str.maketrans(
    "АВЕЅІЈКМНОРСТХУаеоѕіјрсхуһԁԛԝΑΒΕΖΗΙΚΜΝΟΡΤΥΧοѵ",
    "ABESIJKMHOPCTXYaeosijpcxyhdqwABEZHIKMNOPTYXov",
)
"""Cyrillic and Greek letters that are drawn with the same dots as Latin ones."""


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


def to_plain_letters(text: str) -> str:
    """Return text without accents, as an engine for English reads it."""
    decomposed = unicodedata.normalize("NFKD", text.translate(_PLAIN_LETTERS))
    return "".join(letter for letter in decomposed if not unicodedata.combining(letter))


def to_latin_lookalikes(text: str) -> str:
    """Return text as it looks: letters of other alphabets that look Latin are, and marks on letters are left out.

    Accents that are part of a letter stay.
    """
    composed = unicodedata.normalize("NFC", text).translate(_LOOKALIKES)
    return "".join(letter for letter in composed if unicodedata.category(letter) not in ("Mn", "Me"))
