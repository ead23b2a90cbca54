"""Words as people understand them, but a comparison does not: with hesitations, or digits and signs as letters."""

import re
from collections.abc import Iterator

_HESITATION = re.compile(
    r"[,.…]{0,3}(?<!\w)(?:u+h+|u+m+|uhm+|er+m*|e+h|a+h|h+m+|m+h*m+)(?!['’]?\w)[,.…]{0,3}", re.IGNORECASE
)
_MIXED_WORD = re.compile(r"[^\W_]+(?:[@$!|€][^\W_]+)*")
_SIGNS = {"0": "o", "3": "e", "4": "a", "5": "s", "7": "t", "8": "b", "@": "a", "$": "s", "€": "e"}
_SIGN_LETTERS = tuple(str.maketrans(_SIGNS | dict.fromkeys("1!|", letter)) for letter in "il")
MIN_LETTERS = 2
"""Letters of a word in which digits and signs may be letters, too; there must be as many as digits and signs."""


def remove_hesitations(text: str) -> str:
    """Return a text of the same length with spaces for `uh`, `um` and similar sounds."""
    return _HESITATION.sub(lambda match: " " * len(match[0]), text)


def read_signs_as_letters(text: str) -> Iterator[str]:
    """Yield a text of the same length with letters for the digits and signs in words: `diabetes` for `d1abetes`."""
    seen = {text}
    for letters in _SIGN_LETTERS:
        read = _MIXED_WORD.sub(lambda match, letters=letters: _read_word(match[0], letters), text)  # type: ignore[misc]
        if read not in seen:
            seen.add(read)
            yield read


def _read_word(word: str, letters: dict[int, str]) -> str:
    count = sum(letter.isalpha() for letter in word)
    return word.translate(letters) if MIN_LETTERS <= count < len(word) <= 2 * count else word
