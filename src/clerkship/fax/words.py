"""The words of a page, and where they are on it."""

from itertools import groupby
from typing import Annotated

from pydantic import Field

from clerkship.model.frozen import Frozen


class PageWord(Frozen):
    """A word in dots of the page, from the left and from the top."""

    text: str
    left: int
    top: int
    width: int
    height: int
    line: Annotated[int, Field(description="number of the line that it is on, from the top")] = 0


class PageWords(Frozen):
    """All words of a page in reading order."""

    words: tuple[PageWord, ...] = ()

    @property
    def text(self) -> str:
        """The lines of the page. It is not cached: a cached value would be written to the log with the fields."""
        return "\n".join(" ".join(word.text for word in words) for _, words in groupby(self.words, lambda w: w.line))
