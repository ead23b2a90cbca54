"""Text as it is compared: one form for letters that look alike, without accents and invisible characters."""

import contextlib
import re
import unicodedata
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import orjson

_TABLE: Mapping[str, Any] = orjson.loads((Path(__file__).parent / "tables" / "letters.json").read_bytes())
SIGNS = str.maketrans(*_TABLE["signs"])
"""Apostrophes and dashes, in one form each."""
DRAWN_THE_SAME = str.maketrans(*_TABLE["same"])
"""Letters of other alphabets, and some rare Latin ones, that are drawn with the same dots as common ones."""
_PLAIN: Mapping[str, str] = _TABLE["plain"]
"""Letters that Unicode neither decomposes nor names after a Latin letter."""
_ALIKE = SIGNS | DRAWN_THE_SAME | str.maketrans(*_TABLE["near"])
"""Letters that people take for Latin ones. Names are folded too, so that names in other scripts match."""
_LATIN_NAME = re.compile(
    r"(?:NEGATIVE (?:CIRCLED|SQUARED) )?LATIN (CAPITAL|SMALL) LETTER (?:DOTLESS |SCRIPT |LONG )?([A-Z])"
    r"|LATIN LETTER (SMALL) CAPITAL ([A-Z])|(REGIONAL) INDICATOR SYMBOL LETTER ([A-Z])"
)
"""The Unicode name of a Latin letter, without its accents, hooks and strokes."""
_TOKEN = re.compile(r"[^\W\d_]+(?:'[^\W\d_]+)*|\d+")
_POSSESSIVE = re.compile(r"'s?\Z")
_SENTENCE_END = re.compile(r"[.!?:;\n\r\t|]")
MIN_SPELLED = 4
"""Single letters in a row that are read as a word: `R i v e r a`."""


_MAX_STORED = 0x20000
"""Characters from here on are ideographs, which stay as they are."""


class Token(NamedTuple):
    """A word or a row of digits."""

    text: str
    """In lower case, without apostrophes and the `'s` of a possessive."""
    start: int
    end: int
    is_capitalized: bool
    starts_sentence: bool


class FoldedText(NamedTuple):
    """A text with its case, the same in lower case, and its tokens."""

    plain: str
    lower: str
    tokens: tuple[Token, ...]

    def excerpt(self, start: int, end: int, around: int = 0) -> str:
        """Return a part of the text on one line."""
        return " ".join(self.plain[max(0, start - around) : end + around].split())

    def gap(self, index: int) -> str:
        """Return what is between a token and the next."""
        return self.plain[self.tokens[index].end : self.tokens[index + 1].start]


class _LetterTable(dict[int, str]):
    """What each character becomes, filled when a character is first seen."""

    def __init__(self, read: Callable[[str], str]) -> None:
        super().__init__()
        self._read = read

    def __missing__(self, code: int) -> str:
        letter = self._read(chr(code))
        if code < _MAX_STORED:
            self[code] = letter
        return letter


def _remove_accent(letter: str) -> str:
    """Return a letter of the Latin alphabet in its plain form, nothing for a mark, and others as they are."""
    if letter.isascii() or letter in _PLAIN:
        return _PLAIN.get(letter, letter)
    if unicodedata.combining(letter):
        return ""
    latin = _LATIN_NAME.fullmatch(unicodedata.name(letter, "").partition(" WITH ")[0])
    if latin is None:
        return letter
    case, plain = (part for part in latin.groups() if part)
    return plain.lower() if case == "SMALL" else plain


def _fold_letter(letter: str) -> str:
    """Return what people take a letter for, and nothing for what is not seen."""
    if unicodedata.category(letter) in ("Mn", "Me", "Cf"):
        return ""
    if letter.isdigit():  # those of other scripts are read as a number, too
        return str(unicodedata.digit(letter))
    plain = _remove_accent(letter)
    if plain != letter or letter.isascii():
        return plain
    base = unicodedata.name(letter, "").partition(" WITH ")[0]
    with contextlib.suppress(KeyError):
        letter = unicodedata.lookup(base)
    return letter.translate(_ALIKE)


_WITHOUT_ACCENTS, _FOLDED = _LetterTable(_remove_accent), _LetterTable(_fold_letter)


def remove_accents(text: str) -> str:
    """Return a text without accents, and with plain letters for `ø`, `ß` and `æ`: as a clerk writes it."""
    return text if text.isascii() else unicodedata.normalize("NFKD", text).translate(_WITHOUT_ACCENTS)


def fold(text: str) -> str:
    """Return a text as people read it who look for something.

    It is without accents and invisible characters. Letters that look like Latin ones are Latin, and the digits of other
    scripts are digits.
    """
    return text if text.isascii() else unicodedata.normalize("NFKD", text.translate(SIGNS)).translate(_FOLDED)


def to_file_stem(text: str, max_length: int) -> str:
    """Return a text as the name of a file, in lower case: `refill_a_prescription`; empty without letters or digits."""
    plain = remove_accents(text).encode("ascii", "ignore").decode().lower()
    return re.sub(r"[^a-z0-9]+", "_", plain).strip("_")[:max_length].strip("_")


def fold_text(text: str) -> FoldedText:
    """Fold a text and split it into tokens."""
    plain = fold(text)
    lower = plain.lower()
    if len(lower) != len(plain):
        plain = lower
    tokens: list[Token] = []
    end = 0
    for match in _TOKEN.finditer(plain):
        start, last = match.span()
        before = plain[end:start]
        starts_sentence = (before != " " and _SENTENCE_END.search(before) is not None) or not tokens
        word = lower[start:last]
        if "'" in word:
            word = _POSSESSIVE.sub("", word).replace("'", "")
        # What `Token(…)` does, in half the time: texts have thousands.
        tokens.append(tuple.__new__(Token, (word, start, last, plain[start].isupper(), starts_sentence)))
        end = last
    is_spelled = [len(token.text) for token in tokens].count(1) >= MIN_SPELLED
    return FoldedText(plain, lower, tuple(_join_spelled(plain, tokens) if is_spelled else tokens))


def _join_spelled(plain: str, tokens: list[Token]) -> list[Token]:
    """Return the tokens with rows of single letters joined to one."""
    joined: list[Token] = []
    row: list[Token] = []
    for token in tokens:
        if row and (len(token.text) > 1 or not token.text.isalpha() or len(plain[row[-1].end : token.start]) > 3):
            joined += _join_row(row)
            row = []
        if len(token.text) == 1 and token.text.isalpha():
            row.append(token)
        else:
            joined.append(token)
    return joined + _join_row(row)


def _join_row(row: list[Token]) -> list[Token]:
    if len(row) < MIN_SPELLED:
        return row
    first = row[0]
    return [first._replace(text="".join(token.text for token in row), end=row[-1].end)]


@lru_cache(maxsize=20_000)
def fold_words(text: str) -> tuple[str, ...]:
    """Return the words and numbers of a text, folded: `Núñez-O'Neil` is `nunez`, `oneil`."""
    if text.isascii() and "'" not in text:  # most names and numbers: the same, without places
        words = _TOKEN.findall(text.lower())
        if [len(word) for word in words].count(1) < MIN_SPELLED:
            return tuple(words)
    return tuple(token.text for token in fold_text(text).tokens)


_HESITATION = re.compile(
    r"[,.…]{0,3}(?<!\w)(?:u+h+|u+m+|uhm+|er+m*|e+h|a+h|h+m+|m+h*m+)(?!['’]?\w)[,.…]{0,3}", re.IGNORECASE
)
_MIXED_WORD = re.compile(r"(?<![^\W_])(?=[^\W_]*(?:\d|[@$!|€][^\W_]))[^\W_]+(?:[@$!|€][^\W_]+)*")
"""A word with a digit or sign in it."""
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
