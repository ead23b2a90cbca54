"""Images become pages and pages images."""

import pytest
from PIL import Image, ImageDraw

from clerkship.formats.fax_pages.document import UnreadableDocument
from clerkship.formats.fax_pages.image import from_image, to_image
from clerkship.formats.fax_pages.page import DOTS_PER_INCH, PAGE_WIDTH, Resolution
from tests.formats.fax_pages.pages import black_share, picture, random_page

UPPER_LEFT, REST = (0.0, 0.0, 0.49, 0.49), (0.51, 0.51, 1.0, 1.0)
RESOLUTIONS: tuple[Resolution, ...] = ("standard", "fine")


@pytest.mark.parametrize("resolution", RESOLUTIONS)
def test_page_survives_as_image(resolution: Resolution) -> None:
    page = random_page(resolution=resolution)
    assert from_image(to_image(page), resolution, DOTS_PER_INCH[resolution]) == page


def test_black_dots_are_black_in_the_image() -> None:
    page = from_image(picture(), "fine")
    assert to_image(page).getpixel((10, 10)) == 0
    assert to_image(page).getpixel((1700, 2000)) == 255


@pytest.mark.parametrize(("resolution", "height"), [("standard", 1074), ("fine", 2149)])
def test_letter_keeps_its_proportions_on_paper(resolution: Resolution, height: int) -> None:
    page = from_image(picture(size=(850, 1100)), resolution)
    assert (page.width, page.height) == (PAGE_WIDTH, height)
    horizontal, vertical = DOTS_PER_INCH[resolution]
    assert (page.height / vertical) / (page.width / horizontal) == pytest.approx(11 / 8.5, rel=0.001)


def test_dots_that_are_not_square_keep_their_proportions() -> None:
    assert from_image(picture(size=(850, 550)), "fine", (100, 50)).height == 2149


@pytest.mark.parametrize("mode", ["1", "L", "P", "RGB", "RGBA", "LA", "CMYK", "YCbCr", "LAB", "HSV", "I", "I;16", "F"])
def test_image_of_any_mode_has_its_box_black_and_its_paper_white(mode: str) -> None:
    image = picture()
    if mode == "LAB":
        sheet = Image.merge("LAB", (image, *(Image.new("L", image.size, 128) for _ in "ab")))
    elif mode == "HSV":
        sheet = image.convert("RGB").convert("HSV")
    elif mode == "I;16":
        sheet = image.convert("I").point(lambda level: level * 257 + 0).convert("I;16")
    else:
        sheet = image.convert(mode)
    page = from_image(sheet, "fine")
    assert black_share(page, UPPER_LEFT) == 1
    assert black_share(page, REST) == 0


def test_16_bit_shades_are_not_cut_to_white() -> None:
    sheet = Image.new("I;16", (850, 1100), 60_000)
    sheet.paste(9_000, (0, 0, 425, 550))
    assert black_share(from_image(sheet, "fine"), UPPER_LEFT) == 1


def test_transparent_dots_are_paper() -> None:
    sheet = Image.new("RGBA", (850, 1100), (0, 0, 0, 0))
    ImageDraw.Draw(sheet).rectangle((0, 0, 425, 550), fill=(0, 0, 0, 255))
    page = from_image(sheet, "fine")
    assert (black_share(page, UPPER_LEFT), black_share(page, REST)) == (1, 0)


def test_transparent_color_of_a_palette_is_paper() -> None:
    sheet = Image.new("P", (850, 1100), 0)
    sheet.putpalette([0, 0, 0, 10, 10, 10])
    sheet.paste(1, (0, 0, 425, 550))
    sheet.info["transparency"] = 0
    page = from_image(sheet, "fine")
    assert (black_share(page, UPPER_LEFT), black_share(page, REST)) == (1, 0)


def test_grey_paper_becomes_white() -> None:
    scan = picture().point([70] * 128 + [160] * 128)
    page = from_image(scan, "fine")
    assert (black_share(page, UPPER_LEFT), black_share(page, REST)) == (1, 0)


def test_black_image_stays_black() -> None:
    assert black_share(from_image(Image.new("L", (850, 1100), 0), "fine")) == 1


def test_thin_rules_remain_when_a_scan_is_reduced() -> None:
    sheet = Image.new("L", (5100, 6600), 255)
    ImageDraw.Draw(sheet).rectangle((0, 3000, 5100, 3002), fill=0)
    page = from_image(sheet, "fine")
    assert black_share(page) * page.height >= 1


def test_page_longer_than_four_letters_is_refused() -> None:
    with pytest.raises(UnreadableDocument, match="inches long") as refused:
        from_image(Image.new("1", (1, 20_000)), "fine")
    assert refused.value.code == "too_large"
