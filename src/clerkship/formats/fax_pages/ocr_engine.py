"""Tesseract, in the worker process: from the dots of a page to its words.

Three things before the engine sees a page make it read more of it: single dots go, the dots become square, and where
there was much noise, small spots go too. See docs/decisions/0023-fax.md for the figures.
"""

from collections.abc import Iterator, Sequence
from functools import cache
from typing import TYPE_CHECKING, cast

from clerkship.formats.fax_pages.image import to_image
from clerkship.formats.fax_pages.ocr_text import MAX_WORDS, dump_ocr_words
from clerkship.formats.fax_pages.page import DOTS_PER_INCH, FaxPage, OcrWords, PageWord, Resolution

if TYPE_CHECKING:
    from PIL import Image
    from tesserocr import PyTessBaseAPI

NOISY_SHARE = 0.008
"""Share of the dots that stand alone, above which a page is noisy, as with `noise: 1` and more. With less noise, to
remove small spots too costs more letters than it saves."""
BLACK, WHITE = 0, 255
MIN_CONFIDENCE = 10
"""Percent. What the engine is less sure of is noise that it takes for letters."""
SURE_CONFIDENCE = 90
"""Percent. Of a text that is upside down or sideways, the engine is so sure of a few short words at most."""
MIN_SURE_LETTERS = 3
_OTHER_DOTS_ALONE, _OTHER_DOTS_OF_SPOT = 1, 2


def read_request(request: bytes) -> bytes:
    """Read a page, given as a line with its size and the folder of the language data, and its dots."""
    head, _, dots = request.partition(b"\n")
    resolution, width, height, folder = head.decode().split(" ", 3)
    page = FaxPage(resolution=cast(Resolution, resolution), width=int(width), height=int(height), dots=dots)
    return dump_ocr_words(read_words(page, folder))


def read_words(page: FaxPage, folder: str) -> OcrWords:
    """Return the words of a page, with boxes in its own dots."""
    image = prepare_image(page)
    engine = _open_engine(folder)
    engine.SetImage(image)
    engine.SetSourceResolution(DOTS_PER_INCH[page.resolution][0])
    engine.Recognize()
    lines_per_row = image.height / page.height
    read = list(_list_words(engine, lines_per_row))[:MAX_WORDS]
    engine.Clear()
    engine.ClearAdaptiveClassifier()  # a page must not change how the next one is read
    return OcrWords(words=tuple(word for word, _ in read), sure=tuple(_list_sure(read)))


def _list_sure(read: Sequence[tuple[PageWord, int]]) -> Iterator[int]:
    """Yield the places of the words that the engine is sure of. A short one must be beside a longer one."""
    sure = [place for place, (_, confidence) in enumerate(read) if confidence >= SURE_CONFIDENCE]
    long = {place for place in sure if sum(letter.isalnum() for letter in read[place][0].text) >= MIN_SURE_LETTERS}
    for place in sure:
        neighbours = long & {place - 1, place + 1}
        if place in long or any(_is_beside(read[place][0], read[other][0]) for other in neighbours):
            yield place


def _is_beside(word: PageWord, other: PageWord) -> bool:
    left, right = sorted((word, other), key=lambda each: each.left)
    return word.line == other.line and right.left - left.left - left.width < other.height


def is_noisy(page: FaxPage) -> bool:
    """Return whether a page has so many single dots that the engine takes long and reads little."""
    return _count_alone(to_image(page).convert("L")) > NOISY_SHARE * page.width * page.height


def prepare_image(page: FaxPage) -> "Image.Image":
    """Return a page without single dots, and with square dots."""
    from PIL import Image  # noqa: PLC0415  (an extra, loaded when used)

    image = to_image(page).convert("L")
    is_noisy = _count_alone(image) > NOISY_SHARE * image.width * image.height
    image = _remove_spots(image, _OTHER_DOTS_ALONE)
    if is_noisy:
        image = _remove_spots(image, _OTHER_DOTS_OF_SPOT)
    horizontal, vertical = DOTS_PER_INCH[page.resolution]
    height = round(image.height * horizontal / vertical)
    # 196 lines per inch beside 204 dots are square enough: to scale by 4 percent would blur each letter.
    return image if vertical * 2 > horizontal else image.resize((image.width, height), Image.Resampling.BICUBIC)


def _remove_spots(image: "Image.Image", size: int) -> "Image.Image":
    """Return an image without black spots, and white holes, that have at most so many dots in a square of nine."""
    from PIL import ImageFilter  # noqa: PLC0415

    cleaned = image.copy()
    darkest, lightest = image.filter(ImageFilter.RankFilter(3, size)), image.filter(ImageFilter.RankFilter(3, 8 - size))
    cleaned.paste(WHITE, mask=darkest)  # white where even the next darkest dot of the nine is white
    cleaned.paste(BLACK, mask=lightest.point([WHITE if level == BLACK else BLACK for level in range(256)]))
    return cleaned


def _count_alone(image: "Image.Image") -> int:
    """Count the black dots without a black neighbour."""
    from PIL import ImageChops, ImageFilter  # noqa: PLC0415

    second_darkest = image.filter(ImageFilter.RankFilter(3, 1))
    return ImageChops.subtract(second_darkest, image).histogram()[WHITE]


@cache
def _open_engine(folder: str) -> "PyTessBaseAPI":
    import tesserocr  # noqa: PLC0415

    return tesserocr.PyTessBaseAPI(path=folder, lang="eng", psm=tesserocr.PSM.SINGLE_COLUMN)


def _list_words(engine: "PyTessBaseAPI", lines_per_row: float) -> Iterator[tuple[PageWord, int]]:
    """Yield each word with the confidence of the engine."""
    import tesserocr  # noqa: PLC0415

    line = -1
    for item in tesserocr.iterate_level(engine.GetIterator(), tesserocr.RIL.WORD):
        if item.Empty(tesserocr.RIL.WORD):
            continue
        if item.IsAtBeginningOf(tesserocr.RIL.TEXTLINE):
            line += 1
        text, box = item.GetUTF8Text(tesserocr.RIL.WORD).strip(), item.BoundingBox(tesserocr.RIL.WORD)
        confidence = int(item.Confidence(tesserocr.RIL.WORD))
        if not text or box is None or confidence < MIN_CONFIDENCE:
            continue
        left, top, right, bottom = box
        top, bottom = round(top / lines_per_row), round(bottom / lines_per_row)
        word = PageWord(
            text=text, left=left, top=top, width=right - left, height=max(bottom - top, 1), line=max(line, 0)
        )
        yield word, confidence
