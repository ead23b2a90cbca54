"""What was said with some words in another spelling, such as numbers in digits, and where each part was said."""

import re
from collections.abc import Callable, Iterable
from typing import NamedTuple, Self


class SpokenToken(NamedTuple):
    """A word or a number, with its place in the text."""

    text: str
    start: int
    end: int

    @property
    def is_number(self) -> bool:
        """Whether it is written in digits here, however it was said."""
        return self.text[0].isdigit()

    @property
    def is_digit(self) -> bool:
        """Whether it is one digit, which may be a part of a number that is read digit by digit."""
        return len(self.text) == 1 and self.text.isdigit()


class RespelledText(NamedTuple):
    """A text, and for each of its characters where the words that it stands for are in the text that was said."""

    text: str
    starts: tuple[int, ...]
    ends: tuple[int, ...]

    @classmethod
    def of(cls, plain: str) -> Self:
        """Return a text as it was said."""
        return cls(plain, tuple(range(len(plain))), tuple(range(1, len(plain) + 1)))

    def locate(self, start: int, end: int) -> tuple[int, int]:
        """Return where a part of the text was said."""
        return self.starts[start], self.ends[end - 1]

    def replace(self, tokens: Iterable[SpokenToken]) -> Self:
        """Write the text of tokens at their places, which are in order."""
        return self._replace_parts((token.start, token.end, token.text) for token in tokens)

    def substitute(self, pattern: re.Pattern[str], write: Callable[[re.Match[str]], str]) -> Self:
        """Write another text for each match of a pattern."""
        return self._replace_parts((*match.span(), write(match)) for match in pattern.finditer(self.text))

    def _replace_parts(self, parts: Iterable[tuple[int, int, str]]) -> Self:
        pieces: list[str] = []
        starts: list[int] = []
        ends: list[int] = []
        place = 0
        for start, end, text in parts:
            pieces += [self.text[place:start], text]
            first, last = self.locate(start, end)
            starts += [*self.starts[place:start], *[first] * len(text)]
            ends += [*self.ends[place:start], *[last] * len(text)]
            place = end
        if not pieces:
            return self
        return type(self)(
            "".join((*pieces, self.text[place:])), (*starts, *self.starts[place:]), (*ends, *self.ends[place:])
        )
