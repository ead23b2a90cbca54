"""Text as mentions are looked for: one form for letters that look alike, without marks and invisible characters."""

import re
import unicodedata
from functools import lru_cache
from typing import NamedTuple

_LETTERS = str.maketrans(
    {"ß": "ss", "ø": "o", "Ø": "O", "đ": "d", "Đ": "D", "ł": "l", "Ł": "L", "æ": "ae", "Æ": "Ae", "œ": "oe", "ı": "i"}
    | {"’": "'", "‘": "'", "`": "'", "´": "'", "ʼ": "'", "‐": "-", "‑": "-", "‒": "-", "–": "-", "—": "-", "−": "-"}
    # Cyrillic and Greek letters that look like Latin ones. Names are folded too, so that names in these scripts match.
    | dict(zip("авекмнорстухіјѕѵԁԛԝ", "abekmhopctyxijsvdqw", strict=True))
    | dict(zip("АВЕКМНОРСТУХІЈЅ", "ABEKMHOPCTYXIJS", strict=True))
    | dict(zip("αεικορτυχν", "aeikoptuxv", strict=True))
    | dict(zip("ΑΒΕΖΗΙΚΜΝΟΡΤΥΧ", "ABEZHIKMNOPTYX", strict=True))
    | dict(zip("ᴀʙᴄᴅᴇꜰɢʜɪᴊᴋʟᴍɴᴏᴘꞯʀꜱᴛᴜᴠᴡʏᴢ", "abcdefghijklmnopqrstuvwyz", strict=True))
    # Letters in a filled square or circle, and those of flags.
    | {chr(first + number): chr(ord("A") + number) for first in (0x1F150, 0x1F170, 0x1F1E6) for number in range(26)}
)
"""Letters that Unicode does not decompose or fold, and signs with several forms."""
_TOKEN = re.compile(r"[^\W\d_]+(?:'[^\W\d_]+)*|\d+")
_POSSESSIVE = re.compile(r"'s?\Z")
_SENTENCE_END = re.compile(r"[.!?:;\n\r\t|]")
_MIN_SPELLED = 4
"""Single letters in a row that are read as a word: `R i v e r a`."""


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


def fold(text: str) -> str:
    """Return a text without marks and invisible characters, with full-width and similar letters as plain ones."""
    if text.isascii():
        return text
    decomposed = unicodedata.normalize("NFKD", text)
    kept = (each for each in decomposed if unicodedata.category(each) not in ("Mn", "Cf", "Me"))
    # Digits of other scripts are digits too: they would be read as a number by people.
    return "".join(str(unicodedata.digit(each)) if each.isdigit() else each for each in kept).translate(_LETTERS)


def fold_text(text: str) -> FoldedText:
    """Fold a text and split it into tokens."""
    plain = fold(text)
    lower = plain.lower()
    if len(lower) != len(plain):
        plain = lower
    tokens: list[Token] = []
    end = 0
    for match in _TOKEN.finditer(plain):
        before = plain[end : match.start()]
        starts_sentence = not tokens or _SENTENCE_END.search(before) is not None
        word = _POSSESSIVE.sub("", lower[match.start() : match.end()]).replace("'", "")
        tokens.append(Token(word, match.start(), match.end(), match[0][0].isupper(), starts_sentence))
        end = match.end()
    return FoldedText(plain, lower, tuple(_join_spelled(plain, tokens)))


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
    if len(row) < _MIN_SPELLED:
        return row
    first = row[0]
    return [first._replace(text="".join(token.text for token in row), end=row[-1].end)]


@lru_cache(maxsize=20_000)
def fold_words(text: str) -> tuple[str, ...]:
    """Return the words and numbers of a text, folded: `Núñez-O'Neil` is `nunez`, `oneil`."""
    return tuple(token.text for token in fold_text(text).tokens)
