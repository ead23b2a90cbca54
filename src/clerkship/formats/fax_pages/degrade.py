"""Spoil pages as scanners and bad lines do. Integers alone, so that each machine gets the same dots.

The order is that of a real fax: the paper lies crooked in the scanner, its glass is dirty, and then the line loses
dots, lines and the end of the page.
"""

from functools import lru_cache
from random import Random  # noqa: TID251  (the type alone; the generators are those of kit.rng)

from clerkship.formats.fax_pages.degradation import Degradation
from clerkship.formats.fax_pages.page import MAX_CACHED_PAGES, FaxPage, PageWord, PageWords
from clerkship.formats.fax_pages.skew import Skew
from clerkship.kit.rng import Rng, derive_seed

NOISE_DIGITS = 16
"""Binary digits of the share of dots that noise flips."""
MAX_BURST = 12
"""Lines that are lost at once in `fine`."""
SPOT_RADII = (1, 1, 1, 2, 2, 3, 4)


@lru_cache(maxsize=MAX_CACHED_PAGES)
def degrade(page: FaxPage, degradation: Degradation, seed: int | str) -> FaxPage:
    """Return the page as it arrives. More of one kind of damage with the same seed keeps the lesser damage.

    Cached, because each trial of a task has the same pages.
    """
    rng = Rng(derive_seed(seed, "fax", page.hash))
    dots = _skew_of(page, degradation).turn(page.dots)
    if degradation.streaks:
        dots = _add_streaks(dots, page.width, degradation.streaks, rng.stream("streaks"))
    if degradation.speckle:
        dots = _add_spots(dots, page, degradation.speckle, rng.stream("speckle"))
    if degradation.noise:
        dots = _flip_dots(dots, degradation.noise, rng.stream("noise"))
    if degradation.missing_lines:
        dots = _lose_lines(dots, page, degradation.missing_lines, rng.stream("lines"))
    height = height_after_cut(page, degradation)
    return page.model_copy(update={"height": height, "dots": dots[: height * page.width // 8]})


def degrade_words(words: PageWords, page: FaxPage, degradation: Degradation, seed: int | str) -> PageWords:
    """Return the words that remain on the page, with their boxes moved by the skew.

    A word is gone when the cut goes through it or above it. Noise, spots and lost lines take no words away: the seed
    changes nothing here.
    """
    skew = _skew_of(page, degradation)
    height = height_after_cut(page, degradation)
    moved = (_move_word(word, skew, height) for word in words.words)
    return PageWords(words=tuple(word for word in moved if word is not None))


def height_after_cut(page: FaxPage, degradation: Degradation) -> int:
    """Return how many lines of the page arrive, at least one."""
    lost = round(degradation.cut * 10_000) * page.height // 10_000
    return max(1, page.height - lost)


def _skew_of(page: FaxPage, degradation: Degradation) -> Skew:
    return Skew(page.width, page.height, round(degradation.skew * 1000), page.resolution)


def _move_word(word: PageWord, skew: Skew, height: int) -> PageWord | None:
    """Return a word with its box after the skew, or None if the cut or the edge of the paper takes it."""
    box = (word.left, word.top, word.left + word.width, word.top + word.height)
    left, top, right, bottom = skew.turn_box(*box) if skew.thousandths else box
    left, right, top = max(0, left), min(right, skew.width), max(0, top)
    if left >= right or top >= bottom or bottom > height:
        return None
    return word._replace(left=left, top=top, width=right - left, height=bottom - top)


def _add_streaks(dots: bytes, width: int, count: int, random: Random) -> bytes:
    """Draw vertical black lines from the top to the bottom."""
    row = 0
    for _ in range(count):
        breadth = random.randrange(1, 4)
        row |= ((1 << breadth) - 1) << random.randrange(width - breadth)
    mask = row.to_bytes(width // 8, "big") * (len(dots) * 8 // width)
    return (int.from_bytes(dots, "big") | int.from_bytes(mask, "big")).to_bytes(len(dots), "big")


def _add_spots(dots: bytes, page: FaxPage, count: int, random: Random) -> bytes:
    """Add black spots on the paper and white spots in what is printed on it, three to one."""
    black, white = [0] * page.height, [0] * page.height
    for number in range(count):
        rows = white if number % 4 == 3 else black
        _draw_spot(rows, page, random)
    printed = int.from_bytes(dots, "big")
    bytes_per_row = page.width // 8
    added, erased = (
        int.from_bytes(b"".join(row.to_bytes(bytes_per_row, "big") for row in rows), "big") for rows in (black, white)
    )
    return ((printed & ~erased) | (added & ~printed)).to_bytes(len(dots), "big")


def _draw_spot(rows: list[int], page: FaxPage, random: Random) -> None:
    """Draw one spot with a ragged edge."""
    radius = SPOT_RADII[random.randrange(len(SPOT_RADII))]
    x, y = random.randrange(page.width), random.randrange(page.height)
    tall = radius if page.resolution == "fine" else (radius + 1) // 2
    for line in range(max(0, y - tall), min(page.height, y + tall)):
        reach = radius - abs(line - y) // 2 + random.randrange(2)
        left, right = max(0, x - reach), min(page.width, x + reach)
        rows[line] |= ((1 << (right - left)) - 1) << (page.width - right)


def _flip_dots(dots: bytes, percent: float, random: Random) -> bytes:
    """Flip dots at random.

    Each dot has a random number of sixteen binary digits and is flipped if the number is below the share. All dots are
    compared at once, digit by digit from the last one.
    """
    share = min(round(percent * (1 << NOISE_DIGITS) / 100), (1 << NOISE_DIGITS) - 1)
    flipped = 0
    for digit in range(NOISE_DIGITS):
        drawn = random.getrandbits(len(dots) * 8)
        flipped = drawn | flipped if share >> digit & 1 else drawn & flipped
    return (int.from_bytes(dots, "big") ^ flipped).to_bytes(len(dots), "big")


def _lose_lines(dots: bytes, page: FaxPage, count: int, random: Random) -> bytes:
    """Replace lines by the last line above that arrived, in bursts. The first line always arrives."""
    longest = MAX_BURST if page.resolution == "fine" else MAX_BURST // 2
    count = min(count, page.height - 1)
    lost: dict[int, None] = {}
    while len(lost) < count:
        start, length = random.randrange(1, page.height), random.randrange(1, longest + 1)
        for line in range(start, min(start + length, page.height)):
            if len(lost) < count:
                lost[line] = None
    bytes_per_row = page.width // 8
    rows = [dots[start : start + bytes_per_row] for start in range(0, len(dots), bytes_per_row)]
    for line in sorted(lost):
        rows[line] = rows[line - 1]
    return b"".join(rows)
