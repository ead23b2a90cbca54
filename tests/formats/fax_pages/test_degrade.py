"""Degraded pages: the same dots for the same seed, more damage for more of it, and the words that remain."""

import pytest

from clerkship.formats.fax_pages.canvas import Canvas, DrawnPage
from clerkship.formats.fax_pages.degradation import Degradation
from clerkship.formats.fax_pages.degrade import degrade, degrade_words
from clerkship.formats.fax_pages.fonts import FontStyle
from clerkship.formats.fax_pages.page import LETTER_HEIGHT, FaxPage, PageWord, Resolution
from tests.formats.fax_pages.pages import random_page

ALL = Degradation(noise=0.5, speckle=100, skew=1.5, missing_lines=40, streaks=2, cut=0.25)


def draw_page(resolution: Resolution = "fine") -> DrawnPage:
    """Return a page with a word near each corner and in the middle."""
    canvas = Canvas(resolution)
    for x, y in ((150, 120), (1400, 120), (760, 1050), (150, 1980), (1400, 1980)):
        canvas.text(x, y, f"word{x}x{y}", FontStyle(size=9))
    return canvas.finish()[0]


def changed_dots(page: FaxPage, other: FaxPage) -> int:
    """Return the dots that two pages of the same size differ in, one bit each."""
    assert len(page.dots) == len(other.dots)
    return int.from_bytes(page.dots, "big") ^ int.from_bytes(other.dots, "big")


def count_black(page: FaxPage, word: PageWord) -> int:
    """Return the number of black dots in the box of a word."""
    row = page.width // 8
    shift, mask = page.width - word.left - word.width, (1 << word.width) - 1
    return sum(
        ((int.from_bytes(page.dots[line * row : (line + 1) * row], "big") >> shift) & mask).bit_count()
        for line in range(word.top, word.top + word.height)
    )


@pytest.mark.parametrize("resolution", ["fine", "standard"])
def test_same_seed_gives_same_dots_and_another_seed_gives_others(resolution: Resolution) -> None:
    page, _ = draw_page(resolution)

    assert degrade(page, ALL, 7) == degrade(page, ALL, 7)
    assert degrade(page, ALL, 7).hash == degrade(page, ALL, 7).hash != page.hash
    assert degrade(page, ALL, 7).dots != degrade(page, ALL, 8).dots


def test_dots_are_those_of_any_other_machine() -> None:
    # Integers alone: this hash must be the same on each machine and with each version of Python.
    page = FaxPage(height=200, dots=bytes(range(216)) * 200)
    degraded = degrade(page, ALL, "seed")

    assert (degraded.height, degraded.hash[:16]) == (150, "a460dba53b4cf5de")


def test_pages_with_the_same_seed_have_different_noise() -> None:
    noise = Degradation(noise=0.5)
    first, second = (random_page(seed, height=400) for seed in (1, 2))

    assert changed_dots(first, degrade(first, noise, 7)) != changed_dots(second, degrade(second, noise, 7))


def test_no_degradation_changes_nothing() -> None:
    page, words = draw_page()

    assert degrade(page, Degradation(), 7).dots == page.dots
    assert degrade_words(words, page, Degradation(), 7) == words


@pytest.mark.parametrize(
    ("lesser", "more"),
    [
        (Degradation(noise=0.2), Degradation(noise=0.3)),
        (Degradation(noise=1), Degradation(noise=5)),
        (Degradation(speckle=50), Degradation(speckle=51)),
        (Degradation(speckle=300), Degradation(speckle=2000)),
        (Degradation(streaks=1), Degradation(streaks=4)),
    ],
)
def test_more_damage_keeps_the_lesser_damage(lesser: Degradation, more: Degradation) -> None:
    page, _ = draw_page()
    first, second = (changed_dots(page, degrade(page, degradation, 7)) for degradation in (lesser, more))

    assert first & second == first
    assert 0 < first.bit_count() < second.bit_count()


def test_noise_flips_its_percentage_of_dots() -> None:
    page, _ = draw_page()
    flipped = changed_dots(page, degrade(page, Degradation(noise=2), 7)).bit_count()

    assert flipped / (page.width * page.height) == pytest.approx(0.02, rel=0.02)


def test_missing_lines_repeat_the_line_above() -> None:
    page = random_page(height=600)
    lost = _changed_lines(page, degrade(page, Degradation(missing_lines=30), 7))
    more = _changed_lines(page, degrade(page, Degradation(missing_lines=90), 7))

    assert (len(lost), len(more)) == (30, 90)
    assert set(lost) < set(more)
    assert any(line + 1 in lost for line in lost), "lines are lost in bursts"


def _changed_lines(page: FaxPage, degraded: FaxPage) -> list[int]:
    """Return the lines that differ; each must be the line above it."""
    before, after = (
        [each.dots[start : start + 216] for start in range(0, len(each.dots), 216)] for each in (page, degraded)
    )
    changed = [line for line, (old, new) in enumerate(zip(before, after, strict=True)) if old != new]
    assert all(after[line] == after[line - 1] for line in changed)
    return changed


def test_every_line_but_the_first_can_be_lost() -> None:
    page = random_page(height=40)

    assert degrade(page, Degradation(missing_lines=500), 7).dots == page.dots[:216] * 40


@pytest.mark.parametrize("resolution", ["fine", "standard"])
@pytest.mark.parametrize("skew", [-3, -0.7, 0.4, 3])
def test_boxes_of_words_move_with_the_skew(skew: float, resolution: Resolution) -> None:
    page, words = draw_page(resolution)
    degradation = Degradation(skew=skew)
    turned, moved = degrade(page, degradation, 7), degrade_words(words, page, degradation, 7)

    assert [word.text for word in moved.words] == [word.text for word in words.words]
    for before, after in zip(words.words, moved.words, strict=True):
        assert count_black(turned, after) == count_black(page, before) > 0


def test_positive_skew_turns_clockwise() -> None:
    page, words = draw_page()
    moved = degrade_words(words, page, Degradation(skew=2), 7).words

    assert moved[0].top < words.words[0].top
    assert moved[1].top > words.words[1].top
    assert moved[0].left > words.words[0].left
    assert moved[3].left < words.words[3].left


def test_words_below_a_cut_are_gone() -> None:
    page, words = draw_page()
    degradation = Degradation(cut=0.25)
    cut, remaining = degrade(page, degradation, 7), degrade_words(words, page, degradation, 7)

    assert cut.height == LETTER_HEIGHT["fine"] * 3 // 4
    assert cut.dots == page.dots[: cut.height * 216]
    assert [word.text for word in remaining.words] == ["word150x120", "word1400x120", "word760x1050"]


def test_a_word_that_the_cut_goes_through_is_gone() -> None:
    page, words = draw_page()
    middle = words.words[2]
    through = 1 - (middle.top + middle.height // 2) / page.height
    below = 1 - (middle.top + middle.height + 2) / page.height

    assert middle not in degrade_words(words, page, Degradation(cut=through), 7).words
    assert middle in degrade_words(words, page, Degradation(cut=below), 7).words


def test_a_page_that_is_cut_off_whole_has_one_line_and_no_words() -> None:
    page, words = draw_page()

    assert degrade(page, Degradation(cut=1), 7).height == 1
    assert degrade_words(words, page, Degradation(cut=1), 7).words == ()


def test_the_worst_damage_of_all_is_bounded() -> None:
    page = random_page()
    worst = Degradation(noise=5, speckle=5000, skew=3, missing_lines=500, streaks=20, cut=0.1)

    degraded = degrade(page, worst, 7)

    assert len(degraded.dots) == degraded.height * degraded.width // 8
