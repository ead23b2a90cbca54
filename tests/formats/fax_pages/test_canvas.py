"""The canvas, the header line, and what hands and offices leave on pages."""

from datetime import UTC, datetime

import pytest

from clerkship.formats.fax_pages.canvas import PAGE_HEIGHT, Canvas
from clerkship.formats.fax_pages.fonts import FontStyle, replace_missing_letters, space_width, text_width, wrap
from clerkship.formats.fax_pages.handwriting import Pen, write_by_hand
from clerkship.formats.fax_pages.header import add_header, format_header
from clerkship.formats.fax_pages.image import to_image
from clerkship.formats.fax_pages.layout import Column, PageFlow
from clerkship.formats.fax_pages.marks import LOGOS, add_logo, add_note, add_stamp, blot_letters, circle_words
from clerkship.formats.fax_pages.page import PAGE_WIDTH, FaxPage, PageWords, Resolution
from clerkship.kit.rng import Rng

STYLE = FontStyle(size=10)
AT = datetime(2026, 3, 2, 9, 14, tzinfo=UTC)


def black_dots(page: FaxPage, box: tuple[int, int, int, int] | None = None) -> int:
    """Return the number of black dots in a box (left, top, right, bottom) or on the page."""
    image = to_image(page)
    return (image.crop(box) if box else image).convert("L").histogram()[0]


def assert_words_are_drawn(page: FaxPage, words: PageWords) -> None:
    """Check that the box of each word is on the page and has black dots."""
    image = to_image(page).convert("L")
    for word in words.words:
        assert 0 <= word.left < word.left + word.width <= page.width, word
        assert 0 <= word.top < word.top + word.height <= page.height, word
        box = (word.left, word.top, word.left + word.width, word.top + word.height)
        assert image.crop(box).histogram()[0] > 0, word


@pytest.mark.parametrize("resolution", ["fine", "standard"])
def test_boxes_of_words_hold_all_that_is_drawn(resolution: Resolution) -> None:
    canvas = Canvas(resolution)
    canvas.text(200, 300, "Ångström, jogging (E11.9)", FontStyle("serif", 12, italic=True))
    canvas.text(PAGE_WIDTH - 200, 600, "right end", STYLE, "right")
    [(page, words)] = canvas.finish()

    in_boxes = sum(black_dots(page, (w.left, w.top, w.left + w.width, w.top + w.height)) for w in words.words)
    assert_words_are_drawn(page, words)
    assert in_boxes >= black_dots(page)
    assert words.text == "Ångström, jogging (E11.9)\nright end"


def test_several_spaces_stay_between_words() -> None:
    canvas = Canvas()
    canvas.text(100, 100, "a b", STYLE)
    canvas.text(100, 200, "a     b", STYLE)
    near, far = (canvas.sheet.words[place].left for place in (1, 3))

    assert far - near == 4 * space_width(STYLE)


def test_standard_page_has_half_the_lines_and_readable_text() -> None:
    pages = {}
    for resolution in ("fine", "standard"):
        canvas = Canvas("fine" if resolution == "fine" else "standard")
        canvas.text(200, 300, "Legible at both resolutions", STYLE)
        [pages[resolution]] = canvas.finish()

    fine, standard = (black_dots(pages[name][0]) for name in ("fine", "standard"))
    assert pages["standard"][0].height == PAGE_HEIGHT // 2
    assert fine * 0.4 < standard < fine * 0.75


def test_ticked_box_is_recorded_as_ticked() -> None:
    canvas = Canvas()
    canvas.tick_box(100, 100, "Urgent", STYLE, is_ticked=True)
    canvas.tick_box(100, 200, "Routine", STYLE, is_ticked=False)
    [(page, words)] = canvas.finish()

    assert words.text == "[X] Urgent\n[] Routine"
    ticked, empty = (black_dots(page, (100, top, 130, top + 40)) for top in (100, 200))
    assert ticked > empty > 0


@pytest.mark.parametrize(
    ("text", "drawn"),
    [("Łukasz Wiśniewski", "Łukasz Wiśniewski"), ("José", "José"), ("漢", "?"), ("tab\there", "tab here")],
)
def test_letters_that_the_font_lacks_are_replaced(text: str, drawn: str) -> None:
    assert replace_missing_letters(text, STYLE) == drawn


def test_word_with_letters_that_only_the_sans_font_has_is_drawn_with_it() -> None:
    drawn = []
    for family in ("serif", "sans"):
        canvas = Canvas(height=200)
        canvas.text(100, 60, "Nguyễn", FontStyle("serif" if family == "serif" else "sans", 12))
        [(page, words)] = canvas.finish()
        assert words.text == "Nguyễn"
        drawn.append(page.dots)

    assert drawn[0] == drawn[1]


def test_wrapped_lines_fit_and_keep_the_text() -> None:
    text = "Supercalifragilisticexpialidocious" * 4 + " and some short words\nnext line"
    lines = wrap(text, STYLE, 400)

    assert all(text_width(line, STYLE) <= 400 for line in lines)
    assert "".join("".join(lines).split()) == "".join(text.split())
    assert lines[-1] == "next line"


def test_text_flows_to_a_second_page() -> None:
    flow = PageFlow(STYLE)
    flow.paragraph("many words of a long letter " * 300)
    flow.table([Column("Test", 3), Column("Result", 1)], [("Glucose", str(number)) for number in range(80)])
    pages = flow.canvas.finish()

    assert len(pages) >= 3
    for page, words in pages:
        assert_words_are_drawn(page, words)
        assert max(word.top + word.height for word in words.words) <= flow.bottom
    assert all("Test Result" in words.text for _, words in pages[-2:]), "titles are repeated on each page"
    assert sum(words.text.count("Glucose") for _, words in pages) == 80


def test_handwriting_depends_on_the_seed_and_stays_readable_as_words() -> None:
    drawn = []
    for seed in ("1", "1", "2"):
        canvas = Canvas()
        write_by_hand(canvas, 300, 500, "call José back", Pen(), Rng(seed).stream("hand"))
        [(page, words)] = canvas.finish()
        assert_words_are_drawn(page, words)
        assert words.text == "call Jose back"
        drawn.append(page.dots)

    assert drawn[0] == drawn[1] != drawn[2]


def test_notes_and_stamps_take_free_places() -> None:
    flow = PageFlow(STYLE)
    flow.paragraph("The upper half of the page is full of text. " * 90)
    random = Rng("1").stream("marks")
    before = flow.canvas.finish()[0][1].words
    add_stamp(flow.canvas, ["RECEIVED", "MAR 02 2026"], random)
    add_note(flow.canvas, "pt called twice, please call back today", random)
    [(page, words)] = flow.canvas.finish()

    assert_words_are_drawn(page, words)
    added = words.words[len(before) :]
    assert "RECEIVED\nMAR 02 2026" in words.text
    assert all(word.top > max(w.top + w.height for w in before) for word in added)


def test_note_on_a_full_page_stays_on_the_paper() -> None:
    canvas = Canvas()
    canvas.shade(0, 0, PAGE_WIDTH, PAGE_HEIGHT)
    add_note(canvas, "W" * 160, Rng("1").stream("marks"))
    [(page, words)] = canvas.finish()

    assert_words_are_drawn(page, words)
    assert "".join(word.text for word in words.words) == "W" * 160


def test_circle_goes_around_words_and_not_through_them() -> None:
    canvas = Canvas()
    canvas.text(300, 500, "due April 25, 2026 at noon", STYLE)
    before, words = canvas.finish()[0]
    assert circle_words(canvas, "April 25, 2026", Rng("1").stream("circle"))
    after, _ = canvas.finish()[0]

    assert black_dots(after) > black_dots(before)
    for word in words.words[1:4]:
        box = (word.left, word.top, word.left + word.width, word.top + word.height)
        assert black_dots(after, box) == black_dots(before, box)
    assert not circle_words(canvas, "May 1", Rng("1").stream("circle"))


def test_blot_hides_letters_also_from_the_true_text() -> None:
    canvas = Canvas()
    canvas.text(300, 500, "born 07/25/1952 in town", STYLE)
    before, words = canvas.finish()[0]
    assert blot_letters(canvas, "07/25/1952", 4, 2, Rng("1").stream("blot"))
    after, blotted = canvas.finish()[0]

    assert [word.text for word in blotted.words] == ["born", "07/??/1952", "in", "town"]
    date = words.words[1]
    tenth = date.width // 10
    hidden = (date.left + 3 * tenth + 4, date.top, date.left + 5 * tenth - 4, date.top + date.height)
    assert black_dots(after, hidden) == (hidden[2] - hidden[0]) * (hidden[3] - hidden[1])
    readable = (date.left + 6 * tenth, date.top, date.left + date.width, date.top + date.height)
    assert black_dots(after, readable) == black_dots(before, readable)
    assert not blot_letters(canvas, "07/25/1952", 4, 2, Rng("1").stream("blot"))


def test_logos_differ() -> None:
    drawn = set()
    for name in LOGOS:
        canvas = Canvas(height=200)
        add_logo(canvas, name, 40, 40, 120)
        page = canvas.finish()[0][0]
        assert 500 < black_dots(page) < 120 * 120
        drawn.add(page.dots)

    assert len(drawn) == len(LOGOS) >= 8


@pytest.mark.parametrize("resolution", ["fine", "standard"])
def test_header_line_is_above_the_page_and_nothing_is_lost(resolution: Resolution) -> None:
    canvas = Canvas(resolution)
    canvas.text(200, 300, "first line", STYLE)
    [(page, words)] = canvas.finish()
    line = format_header(AT, "Riverbend Family Medicine", "+15550100200", 1, 3)
    headed, all_words = add_header(page, words, line)

    assert line == "2026-03-02 09:14  FROM: Riverbend Family Medicine  +1 555 010 0200  PAGE 1/3"
    assert all_words.text == " ".join(line.split()) + "\nfirst line"
    assert headed.dots.endswith(page.dots)
    assert headed.hash != page.hash
    assert len(headed.dots) == headed.height * headed.width // 8
    assert_words_are_drawn(headed, all_words)


def test_page_that_is_faxed_on_has_two_header_lines() -> None:
    page, words = Canvas().finish()[0]
    for number in (1, 2):
        page, words = add_header(page, words, format_header(AT, f"Clinic {number}", "+15550100200", 1, 1))

    assert [line.split()[3:5] for line in words.text.split("\n")] == [["Clinic", "2"], ["Clinic", "1"]]
    assert_words_are_drawn(page, words)


@pytest.mark.parametrize("name", ["W" * 300, "Ärztehaus am Łąka", "漢字", ""])
def test_header_line_of_any_name_fits(name: str) -> None:
    page, words = Canvas(height=200).finish()[0]
    headed, all_words = add_header(page, words, format_header(AT, name, "+4930123456", 199, 200))

    assert_words_are_drawn(headed, all_words)
    assert all_words.text.endswith("PAGE 199/200")


def test_long_header_line_is_cut() -> None:
    page, words = Canvas(height=200).finish()[0]
    headed, all_words = add_header(page, words, "W" * 500 + "  PAGE 1/1")

    assert_words_are_drawn(headed, all_words)
    assert all_words.text.endswith("PAGE 1/1")
