"""The basic and extended character sets, and values that fit them.

The sets are those of X12.6 as the 5010 guides use them. Letters with accents are in neither.
"""

import re
from functools import lru_cache
from typing import Literal

from clerkship.formats.x12.segment import DEFAULT_X12_DELIMITERS, X12Delimiters
from clerkship.text.folding import SIGNS, remove_accents

X12Charset = Literal["basic", "extended"]
BASIC_CHARACTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789 !\"&'()*+,-./:;?="
EXTENDED_CHARACTERS = BASIC_CHARACTERS + "abcdefghijklmnopqrstuvwxyz%~@[]_{}\\|<>^`#$"
_CHARACTERS = {"basic": BASIC_CHARACTERS, "extended": EXTENDED_CHARACTERS}
_SPELLINGS = SIGNS | str.maketrans("“”", '""')


@lru_cache(maxsize=64)
def outside_pattern(delimiters: X12Delimiters, charset: X12Charset) -> re.Pattern[str]:
    """Return a pattern for characters that are neither in a character set nor separators."""
    return re.compile(f"[^{re.escape(_CHARACTERS[charset] + ''.join(delimiters))}]")


@lru_cache(maxsize=64)
def unusable_pattern(delimiters: X12Delimiters, charset: X12Charset) -> re.Pattern[str]:
    """Return a pattern for characters that a value cannot contain: outside the character set, or a separator."""
    usable = "".join(character for character in _CHARACTERS[charset] if character not in delimiters)
    return re.compile(f"[^{re.escape(usable)}]")


def clean_value(
    value: str, delimiters: X12Delimiters = DEFAULT_X12_DELIMITERS, charset: X12Charset = "extended"
) -> str:
    """Return a value that can be written: X12 has no escapes, so what cannot be written is replaced.

    In the basic set, letters become capitals. Accents are left out (`Muñoz` becomes `Munoz`). Every other character
    outside the set, and every separator, becomes a space. Spaces at the start and end are left out.
    """
    unusable = unusable_pattern(delimiters, charset)
    if unusable.search(value):
        if charset == "basic":
            value = value.upper()
        if not value.isascii():
            value = remove_accents(value.translate(_SPELLINGS))
            value = value.upper() if charset == "basic" else value
        value = unusable.sub(" ", value)
    return value.strip(" ")
