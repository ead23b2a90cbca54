"""Pages as Pillow images, and images as pages.

An image becomes a page by its brightness: it is scaled to the page first, then each dot is black that is darker than
two thirds of the paper. Small print stays readable that way. Dithering would keep shades of grey, but it
dissolves letters at fax resolutions.
"""

from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple

from clerkship.formats.fax_pages.document import UnreadableDocument
from clerkship.formats.fax_pages.page import DOTS_PER_INCH, PAGE_WIDTH, FaxPage, Resolution

if TYPE_CHECKING:
    from PIL import Image

SMALLEST_MARGIN = 8
"""Dots by which an image is narrower than fax paper at least, if it has a margin. Files round their resolution."""
MAX_PAGE_INCHES = 44
"""Length of a page on paper: four letters."""
PAPER_SHARE = 20
"""The paper is at least as bright as the brightest twentieth of the dots."""
MIN_PAPER = 96
"""Brightness below which an image has no paper: it is black all over."""


def to_image(page: FaxPage) -> "Image.Image":
    """Return the dots of a page as an image of mode `1`. They are not square."""
    from PIL import Image  # noqa: PLC0415  (an extra, loaded when used)

    return Image.frombytes("1", (page.width, page.height), page.dots, "raw", "1;I")


def fill_boxes(page: FaxPage, boxes: Iterable[tuple[int, int, int, int]], *, black: bool) -> FaxPage:
    """Return a page with boxes, given as left, top, width and height, that are black or white."""
    image = to_image(page)
    for left, top, width, height in boxes:
        image.paste(0 if black else 255, (left, top, left + width, top + height))
    return page.model_copy(update={"dots": image.tobytes("raw", "1;I")})


def from_image(
    image: "Image.Image", resolution: Resolution, dpi: tuple[float, float] | None = None, paper: int | None = None
) -> FaxPage:
    """Put an image on a page, keep its proportions on paper, and make its dots black or white.

    `dpi` is the image's own resolution; without it, its dots are square, and it is as wide as the page. `paper` is the
    brightness of the paper; without it, it is measured. Transparent dots are white. Raise UnreadableDocument if the
    page would be longer than MAX_PAGE_INCHES.
    """
    from PIL import Image  # noqa: PLC0415

    grey = to_grey(image)
    place = place_on_page(image.size, resolution, dpi)
    if grey.size != (place.width, place.height):
        grey = grey.resize((place.width, place.height), Image.Resampling.BICUBIC)
    if place.width < PAGE_WIDTH:
        paper = _paper_brightness(grey) if paper is None else paper
        sheet = Image.new("L", (PAGE_WIDTH, place.height), 255)
        sheet.paste(grey, (place.left, 0))
        grey = sheet
    return from_grey(grey, resolution, paper)


def from_grey(grey: "Image.Image", resolution: Resolution, paper: int | None = None) -> FaxPage:
    """Make the dots of an image of mode `L` black or white. Its dots are the page's."""
    limit = (_paper_brightness(grey) if paper is None else paper) * 2 // 3
    black = grey.point([255 if level < limit else 0 for level in range(256)], "1")
    return FaxPage(resolution=resolution, width=grey.width, height=grey.height, dots=black.tobytes())


def to_grey(image: "Image.Image") -> "Image.Image":
    """Return the brightness of an image of any mode, on white paper, as mode `L`."""
    from PIL import Image  # noqa: PLC0415

    if image.mode in ("I", "F") or image.mode.startswith("I;16"):
        return _scale_levels(image)
    if image.mode == "LAB":
        return image.getchannel("L")
    if image.mode == "P" and "transparency" in image.info:
        image = image.convert("RGBA")
    if image.mode in ("RGBA", "LA"):
        return Image.composite(image.convert("L"), Image.new("L", image.size, 255), image.getchannel("A"))
    return image if image.mode == "L" else image.convert("L")


class PagePlace(NamedTuple):
    """Where an image is on its page, in dots of the page. The page is as long as the image."""

    left: int
    width: int
    height: int


def place_on_page(
    size: tuple[float, float], resolution: Resolution, dpi: tuple[float, float] | None = None
) -> PagePlace:
    """Return where an image of this size is on its page: in the middle in its true size, or over the whole width.

    It is over the whole width if it is wider than fax paper, or if its resolution and so its size on paper is not
    known. Raise UnreadableDocument if the page would be longer than MAX_PAGE_INCHES.
    """
    width, height = size
    horizontal, vertical = dpi or (1.0, 1.0)
    page_horizontal, page_vertical = DOTS_PER_INCH[resolution]
    is_small = dpi is not None and width / horizontal * page_horizontal < PAGE_WIDTH - SMALLEST_MARGIN
    dots = max(round(width / horizontal * page_horizontal), 1) if is_small else PAGE_WIDTH
    lines = round(dots * (height / vertical) / (width / horizontal) * page_vertical / page_horizontal)
    if lines > MAX_PAGE_INCHES * page_vertical:
        reason = f"a page is {lines / page_vertical:.0f} inches long when it is as wide as fax paper"
        raise UnreadableDocument("too_large", f"{reason} (at most {MAX_PAGE_INCHES}); cut it into several pages")
    return PagePlace((PAGE_WIDTH - dots) // 2, dots, max(lines, 1))


def _paper_brightness(grey: "Image.Image") -> int:
    """Return the brightness of the paper: that of the brightest dots, so that a grey scan does not turn black."""
    histogram = grey.histogram()
    wanted, level = sum(histogram) // PAPER_SHARE, 255
    while level > MIN_PAPER and sum(histogram[level:]) <= wanted:
        level -= 1
    return level


def _scale_levels(image: "Image.Image") -> "Image.Image":
    """Return an image of 16 or 32 bits a dot with 8 bits. Pillow would cut its values at 255."""
    levels = image.convert("F")
    brightest = levels.getextrema()[1]
    if image.mode.startswith("I;16") or not isinstance(brightest, float):
        brightest = 65535.0
    scale = 255.0 / max(brightest, 1.0)
    return levels.point(lambda level: level * scale + 0.0).convert("L")
