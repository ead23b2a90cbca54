"""Pages and images for tests."""

import random

from PIL import Image, ImageDraw

from clerkship.formats.fax_pages.page import LETTER_HEIGHT, PAGE_WIDTH, FaxPage, Resolution


def random_page(seed: int = 1, resolution: Resolution = "fine", height: int | None = None) -> FaxPage:
    """Return a page of noise: no coder or scaler can keep it by luck."""
    lines = height or LETTER_HEIGHT[resolution]
    dots = random.Random(seed).randbytes(lines * PAGE_WIDTH // 8)
    return FaxPage(resolution=resolution, height=lines, dots=dots)


def black_share(page: FaxPage, box: tuple[float, float, float, float] = (0, 0, 1, 1)) -> float:
    """Return the share of black dots in a box, whose sides are shares of the page."""
    image = Image.frombytes("1", (page.width, page.height), page.dots)
    left, top, right, bottom = box
    part = image.crop(
        (int(left * page.width), int(top * page.height), int(right * page.width), int(bottom * page.height))
    ).convert("L")
    return part.histogram()[255] / (part.width * part.height)


def picture(mode: str = "L", size: tuple[int, int] = (850, 1100)) -> Image.Image:
    """Return a white sheet of any mode with a black box in its upper left quarter."""
    sheet = Image.new("L", size, 255)
    ImageDraw.Draw(sheet).rectangle((0, 0, size[0] // 2, size[1] // 2), fill=0)
    return sheet if mode == "L" else sheet.convert(mode)
