"""Text becomes pages with the words that are on them."""

import pytest

from clerkship.formats.fax_pages.document import MAX_PAGES, UnreadableDocument
from clerkship.formats.fax_pages.image import to_image
from clerkship.formats.fax_pages.page import LETTER_HEIGHT, PAGE_WIDTH, PageWords, Resolution
from clerkship.formats.fax_pages.text_pages import LINES_PER_PAGE, render_text
from tests.waiting import processor_limit


def words_of(text: str) -> PageWords:
    (page,) = render_text(text, "fine")
    return page[1]


def lefts(text: str) -> list[int]:
    return [word.left for word in words_of(text).words]


@pytest.mark.parametrize("resolution", ["standard", "fine"])
def test_text_is_a_letter_page_with_ink_in_each_box(resolution: Resolution) -> None:
    ((page, words),) = render_text("Member 4471-993\nNPI 1234567893, ICD-10 E11.9", resolution)
    assert (page.width, page.height) == (PAGE_WIDTH, LETTER_HEIGHT[resolution])
    assert words.text == "Member 4471-993\nNPI 1234567893, ICD-10 E11.9"
    image = to_image(page).convert("L")
    for word in words.words:
        box = image.crop((word.left, word.top, word.left + word.width, word.top + word.height))
        assert box.histogram()[0] > word.width
        image.paste(255, (word.left, word.top, word.left + word.width, word.top + word.height))
    assert image.getextrema() == (255, 255), "ink outside the boxes"


def test_long_line_is_wrapped_between_words() -> None:
    words = words_of("one two three four five " * 20)
    assert words.text.replace("\n", " ") == ("one two three four five " * 20).strip()
    assert "\n" in words.text
    assert max(word.left + word.width for word in words.words) < PAGE_WIDTH - 140


def test_word_longer_than_a_line_is_cut() -> None:
    words = words_of("A" * 300)
    assert words.text.count("\n") == 4
    assert words.text.replace("\n", "") == "A" * 300


def test_columns_of_a_table_stay_in_line() -> None:
    text = "Test              Result\nHemoglobin A1c    7.9\niii               2.1\nWWWW\t\t  3"
    column = {word.left for word in words_of(text).words if word.text in ("Result", "7.9", "2.1", "3")}
    assert len(column) == 1


def test_indented_line_is_indented() -> None:
    margin, indented = lefts("a\n    b")
    assert indented - margin > 50


def test_word_after_more_spaces_than_fit_is_on_the_next_line() -> None:
    assert words_of("a" + " " * 500 + "b").text == "a\nb"


def test_form_feed_starts_a_page() -> None:
    assert [words.text for _, words in render_text("one\ftwo\f\fthree\n\f", "fine")] == ["one", "two", "", "three"]


def test_more_lines_than_fit_continue_on_the_next_page() -> None:
    pages = render_text("\n".join(str(line) for line in range(LINES_PER_PAGE + 1)), "fine")
    assert [len(words.words) for _, words in pages] == [LINES_PER_PAGE, 1]


def test_control_characters_are_not_drawn() -> None:
    assert words_of("\x00a\x07b\x1b c\u200bd\u202ee\ufeff").text == "ab cde"
    assert render_text("a\x00b", "fine")[0][0] == render_text("ab", "fine")[0][0]


@pytest.mark.parametrize("line_break", ["\n", "\r\n", "\r", "\v", "\x85", "\u2028"])
def test_each_kind_of_line_break_ends_a_line(line_break: str) -> None:
    assert words_of(f"a{line_break}b").text == "a\nb"


def test_accents_and_other_alphabets_are_drawn() -> None:
    assert words_of("José Muñoz Ștefan Ελένη Анна").text == "José Muñoz Ștefan Ελένη Анна"
    assert words_of("Jose\N{COMBINING ACUTE ACCENT}").text == "José"


def test_character_that_the_font_lacks_is_replaced_in_the_true_text_too() -> None:
    assert words_of("☑ yes ☐ no → ﬁne").text == "[x] yes [ ] no -> fine"
    assert words_of("日本 😀").text == "?? ?"


@pytest.mark.parametrize("text", ["", " \n\t\n", "\f\f", "\x00"])
def test_empty_text_has_no_pages(text: str) -> None:
    with pytest.raises(UnreadableDocument) as refused:
        render_text(text, "fine")
    assert refused.value.code == "no_pages"


@pytest.mark.parametrize(("part", "count"), [("\n", 200_000), ("\f", MAX_PAGES), ("x", 20_000_000), ("x ", 10_000_000)])
def test_too_much_text_is_refused_at_once(part: str, count: int) -> None:
    with processor_limit(5), pytest.raises(UnreadableDocument) as refused:
        render_text(part * count + "x", "fine")
    assert refused.value.code == "too_many_pages"


def test_same_text_gives_the_same_dots() -> None:
    text = "Referral for José Muñoz\t" * 40
    first, second = (render_text(text, "standard")[0][0] for _ in range(2))
    assert first.hash == second.hash
