"""Handwriting-like notes and signatures: strokes of the Hershey fonts with the unevenness of a hand, seeded."""

from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from random import Random  # noqa: TID251  (the type alone; the generator is handed in)
from typing import Literal

from clerkship.formats.fax_pages.canvas import Canvas
from clerkship.formats.fax_pages.fonts import missing_extra
from clerkship.text.folding import remove_accents

Hand = Literal["print", "script"]
FONTS: dict[Hand, str] = {"print": "futural", "script": "scripts"}
CAP_HEIGHT = 21
"""Units of a capital letter in the Hershey fonts."""
BASELINE = 9
"""Units from the center of a letter down to its baseline."""
Stroke = list[tuple[int, int]]


@dataclass(frozen=True)
class Glyph:
    """A letter as strokes of a pen, in the units of its font."""

    left: int
    width: int
    strokes: tuple[tuple[tuple[int, int], ...], ...]


@dataclass(frozen=True)
class Pen:
    """How a hand writes."""

    hand: Hand = "print"
    height: int = 34
    """Dots of a capital letter."""
    thickness: int = 3
    slant: int = 15
    """Percent by which letters lean to the right."""
    unevenness: int = 10
    """Percent of the height by which letters leave the line."""


@lru_cache(maxsize=8)
def _load_glyphs(hand: Hand) -> dict[str, Glyph]:
    """Return the letters of a font, from the space to the tilde."""
    try:
        from HersheyFonts import HersheyFonts  # type: ignore[import-untyped]  # noqa: PLC0415  (an extra)
    except ImportError:
        raise missing_extra() from None
    font = HersheyFonts()
    font.load_default_font(FONTS[hand])
    letters = [chr(code) for code in range(32, 127)]
    return {
        letter: Glyph(glyph.left_offset, glyph.char_width, tuple(tuple(map(tuple, part)) for part in glyph.strokes))
        for letter, glyph in zip(letters, font.glyphs_for_text("".join(letters)), strict=True)
    }


def to_plain_letters(text: str) -> str:
    """Return text in the letters of the Hershey fonts: accents are dropped, other letters become `?`."""
    return "".join(letter if " " <= letter <= "~" else "?" for letter in remove_accents(text))


def write_by_hand(canvas: Canvas, x: int, top: int, text: str, pen: Pen, random: Random) -> int:
    """Write a line by hand and return its width. The words are recorded as they are written, without accents."""
    baseline = top + pen.height
    start = x
    climb = random.randrange(-2, 3)  # percent by which the line rises or falls
    for word in to_plain_letters(text).split():
        strokes: list[Stroke] = []
        left = x
        for letter in word:
            lift = (x - start) * climb // -100 + _jitter(random, pen.height * pen.unevenness // 100)
            drawn, width = _write_letter(letter, x, baseline + lift, pen, random)
            strokes += drawn
            x += width
        points = [point for stroke in strokes for point in connect(stroke)]
        canvas.dots(points, pen.thickness)
        canvas.record(word, _box_around(points, left, baseline, pen), baseline)
        x += pen.height * 60 // 100 + _jitter(random, pen.height // 12)
    return x - start


def handwriting_width(text: str, pen: Pen) -> int:
    """Return about how wide a line is; the unevenness of the hand changes it by a few percent."""
    glyphs = _load_glyphs(pen.hand)
    words = to_plain_letters(text).split()
    letters = sum(glyphs[letter].width for word in words for letter in word) * pen.height // CAP_HEIGHT
    return letters * 21 // 20 + pen.height * 66 // 100 * max(0, len(words) - 1)


def wrap_handwriting(text: str, pen: Pen, width: int) -> list[str]:
    """Break a note into lines that fit a width."""
    lines: list[str] = []
    longest = max(1, width * 5 // (pen.height * 8))  # the widest letter is less than 1.6 times as wide as high
    for word in _break_words(text, longest):
        if lines and handwriting_width(f"{lines[-1]} {word}", pen) <= width:
            lines[-1] = f"{lines[-1]} {word}"
        else:
            lines.append(word)
    return lines


def _break_words(text: str, longest: int) -> list[str]:
    """Return the words of a text, those of more letters in parts."""
    return [word[start : start + longest] for word in text.split() for start in range(0, len(word), longest)]


def sign(canvas: Canvas, x: int, baseline: int, name: str, random: Random) -> int:
    """Sign with a name in a fast hand with a flourish, and return the width. A signature is no word of the page."""
    pen = Pen("script", 44 + random.randrange(14), 3, 25 + random.randrange(25), 6)
    start = x
    for number, word in enumerate(to_plain_letters(name).split()):
        for place, letter in enumerate(word):
            # A fast hand flattens what comes after the first letter, and ends in a line.
            height = pen.height if place == 0 else pen.height * max(30, 62 - 5 * place) // 100
            squeezed = Pen(pen.hand, height, pen.thickness, pen.slant, pen.unevenness)
            drawn, width = _write_letter(letter, x, baseline, squeezed, random)
            for stroke in drawn:
                canvas.dots(connect(stroke), 3 if place == 0 else 2)
            x += width * (100 if place == 0 else 86) // 100
        x += 10 if number == 0 else 4
    end = x + 40 + random.randrange(70)
    rise = random.randrange(-14, 6)
    middle = (start + (end - start) // 3, baseline + 14)
    canvas.dots(connect([(x - 6, baseline), (end, baseline + rise), middle, (end - 30, baseline + 22)]), 2)
    return end - start


def _write_letter(letter: str, x: int, baseline: int, pen: Pen, random: Random) -> tuple[list[Stroke], int]:
    """Return the strokes of a letter on the page, and its width."""
    glyph = _load_glyphs(pen.hand)[letter]
    scale = pen.height * (100 + _jitter(random, pen.unevenness // 2)) // 100
    wobble = max(1, pen.height // 26)
    strokes = []
    for stroke in glyph.strokes:
        points: Stroke = []
        for across, down in stroke:
            y = (down - BASELINE) * scale // CAP_HEIGHT
            right = (across - glyph.left) * scale // CAP_HEIGHT - y * pen.slant // 100
            points.append((x + right + _jitter(random, wobble), baseline + y + _jitter(random, wobble)))
        strokes.append(points)
    return strokes, max(1, glyph.width * scale // CAP_HEIGHT)


def connect(stroke: Stroke) -> Stroke:
    """Return all points on the lines between the points of a stroke."""
    points = stroke[:1]
    for (x1, y1), (x2, y2) in pairwise(stroke):
        steps = max(abs(x2 - x1), abs(y2 - y1), 1)
        points += [(x1 + (x2 - x1) * step // steps, y1 + (y2 - y1) * step // steps) for step in range(1, steps + 1)]
    return points


def _box_around(points: Stroke, left: int, baseline: int, pen: Pen) -> tuple[int, int, int, int]:
    """Return the box around points, or a small one where a word has none."""
    if not points:
        return left, baseline - pen.height, left + 1, baseline
    xs, ys = [x for x, _ in points], [y for _, y in points]
    edge = pen.thickness // 2 + 1
    return min(xs) - edge, min(ys) - edge, max(xs) + edge, max(ys) + edge


def _jitter(random: Random, most: int) -> int:
    return random.randrange(-most, most + 1)
