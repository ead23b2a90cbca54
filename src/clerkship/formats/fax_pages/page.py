"""One page as a fax machine sends it, black and white and 1,728 dots wide, and the words on it."""

import hashlib
from collections.abc import Mapping
from functools import cached_property
from itertools import groupby
from typing import Annotated, Any, Literal, NamedTuple, Self

from pydantic import Field

from clerkship.model.frozen import Frozen, PlacedText

Resolution = Literal["standard", "fine"]
PAGE_WIDTH = 1728
"""Dots per line of a page of 215 mm (ITU-T T.4, A4 and North American Letter)."""
DOTS_PER_INCH: dict[Resolution, tuple[int, int]] = {"standard": (204, 98), "fine": (204, 196)}
"""Horizontal and vertical resolution. The dots are not square."""
LETTER_HEIGHT: dict[Resolution, int] = {"standard": 1078, "fine": 2156}
"""Lines of a page of 11 inches."""
MAX_CACHED_PAGES = 64
"""How many pages a cache of this process holds: half a megabyte each."""


class FaxPage(Frozen):
    """A page of dots. `dots` has the rows one after the other, eight dots a byte, 1 is black, as in a PBM file."""

    resolution: Resolution = "fine"
    width: Annotated[int, Field(ge=1, multiple_of=8)] = PAGE_WIDTH
    height: Annotated[int, Field(ge=1)]
    dots: bytes

    @cached_property
    def hash(self) -> str:
        """The SHA-256 of the page, by which its OCR text is cached."""
        head = f"{self.resolution} {self.width} {self.height}\n".encode()
        return hashlib.sha256(head + self.dots).hexdigest()

    def model_copy(self, *, update: Mapping[str, Any] | None = None, deep: bool = False) -> Self:
        """Return a copy with other fields; its hash is computed anew."""
        copied = super().model_copy(update=update, deep=deep)
        copied.__dict__.pop("hash", None)
        return copied


class PageWord(NamedTuple):
    """A word and its box, in dots from the left and from the top of the page. In a log it is a list, which is short."""

    text: str
    left: int
    top: int
    width: int
    height: int
    line: int = 0
    """The number of the line that it is on, from the top."""


class PageWords(PlacedText):
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
