"""The words of a page, and where they are on it."""

from itertools import groupby
from typing import NamedTuple

from clerkship.model.frozen import Frozen


class PageWord(NamedTuple):
    """A word and its box, in dots from the left and from the top of the page. In a log it is a list, which is short."""

    text: str
    left: int
    top: int
    width: int
    height: int
    line: int = 0
    """The number of the line that it is on, from the top."""


class PageWords(Frozen):
    """All words of a page in reading order."""

    words: tuple[PageWord, ...] = ()

    def __hash__(self) -> int:
        """Hash a few words only: pages are looked up often, and have hundreds."""
        return hash((len(self.words), self.words[:3]))

    @property
    def text(self) -> str:
        """The lines of the page. It is not cached: a cached value would be written to the log with the fields."""
        return "\n".join(" ".join(word.text for word in words) for _, words in groupby(self.words, lambda w: w.line))


class OcrWords(PageWords):
    """The words that an OCR engine reads on a page."""

    sure: tuple[int, ...] = ()
    """The places in `words`, from 0, of the words that the engine is sure of."""
