"""What people and offices leave on paper: stamps, punch holes, notes in a free place, and logos of letterheads."""

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from random import Random  # noqa: TID251  (the type alone; the generator is handed in)

from clerkship.formats.fax_pages.canvas import PAGE_HEIGHT, Canvas
from clerkship.formats.fax_pages.fonts import FontStyle, text_width
from clerkship.formats.fax_pages.handwriting import Pen, connect, handwriting_width, wrap_handwriting, write_by_hand
from clerkship.formats.fax_pages.page import PAGE_WIDTH
from clerkship.formats.fax_pages.skew import Skew

STAMP_STYLE = FontStyle("sans", 15, bold=True)
MAX_STAMP_TURN = 6
"""Degrees."""
MAX_NOTE_WIDTH = 560
_HALF_TURN = (1000, 966, 866, 707, 500, 259, 0, -259, -500, -707, -866, -966)
COSINES = (*_HALF_TURN, *(-cosine for cosine in _HALF_TURN))
"""Of the angles from 0 to 345 degrees in steps of 15, in thousandths: integers are the same on each machine."""
EDGE = 40
"""Dots at the edge of the paper that stay free."""


def add_stamp(canvas: Canvas, lines: Sequence[str], random: Random) -> None:
    """Stamp lines of text in a frame, a little crooked and worn, on a free place of the upper half or the right."""
    small = STAMP_STYLE.sized(10)
    styles = [STAMP_STYLE, *[small] * (len(lines) - 1)]
    inner = max(text_width(line, style) for line, style in zip(lines, styles, strict=True))
    frame_width, frame_height = inner + 50, sum(style.line_height for style in styles) + 36
    # The turned frame needs space around it. Rows of dots are whole bytes.
    width, height = (frame_width + 40 + 7) // 8 * 8, frame_height + frame_width // 5
    stamp = Canvas(height=height)
    left, top = (width - frame_width) // 2, (height - frame_height) // 2
    stamp.box(left, top, left + frame_width, top + frame_height, 5)
    y = top + 12
    for line, style in zip(lines, styles, strict=True):
        stamp.text(width // 2, y, line, style, "center")
        y += style.line_height
    [(page, words)] = stamp.finish()
    dots = b"".join(page.dots[row * page.width // 8 :][: width // 8] for row in range(height))
    angle = random.choice((-1, 1)) * random.randrange(1000, MAX_STAMP_TURN * 1000)
    skew = Skew(width, height, angle)
    x, y = find_free_place(canvas, width, height, random) or (PAGE_WIDTH - width - EDGE, EDGE * 2)
    canvas.paste(_wear_off(skew.turn(dots), random), x, y, width, height)
    for word in words.words:
        turned = skew.turn_box(word.left, word.top, word.left + word.width, word.top + word.height)
        canvas.record(word.text, (x + turned[0], y + turned[1], x + turned[2], y + turned[3]), y + word.line)


def _wear_off(dots: bytes, random: Random) -> bytes:
    """Return the dots with one of eight missing: ink that did not reach the paper."""
    bits = len(dots) * 8
    inked = random.getrandbits(bits) | random.getrandbits(bits) | random.getrandbits(bits)
    return (int.from_bytes(dots, "big") & inked).to_bytes(len(dots), "big")


def add_note(canvas: Canvas, text: str, random: Random) -> None:
    """Write a note by hand on a free place of the page; in smaller letters where there is little of it."""
    hand = random.choice(("print", "print", "script"))
    for height in (36, 30, 24):
        pen = Pen("script" if hand == "script" else "print", height, 3, random.randrange(5, 25))
        lines = wrap_handwriting(text, pen, MAX_NOTE_WIDTH)
        width = max(handwriting_width(line, pen) for line in lines) + 30
        step = height * 17 // 10
        place = find_free_place(canvas, width, step * len(lines) + height // 2, random)
        if place:
            break
    else:
        # A full page: people write above the letterhead.
        place = (EDGE, 4)
    for number, line in enumerate(lines):
        write_by_hand(canvas, place[0] + 10 + random.randrange(8), place[1] + number * step, line, pen, random)


def circle_words(canvas: Canvas, text: str, random: Random) -> bool:
    """Draw a circle by hand around words on the page, and return whether they are there, one after the other."""
    words, wanted = canvas.sheet.words, text.split()
    for start in range(len(words) - len(wanted) + 1):
        group = words[start : start + len(wanted)]
        if [word.text for word in group] == wanted and len({word.line for word in group}) == 1:
            left, right = group[0].left, group[-1].left + group[-1].width
            top, bottom = min(word.top for word in group), max(word.top + word.height for word in group)
            _draw_circle(canvas, (left + right) // 2, (top + bottom) // 2, right - left, bottom - top, random)
            return True
    return False


def _draw_circle(canvas: Canvas, x: int, y: int, width: int, height: int, random: Random) -> None:
    """Draw an uneven ellipse around a box; its end passes its beginning, as that of a hand does."""
    across, down = width * 58 // 100 + 16, height * 60 // 100 + 10
    start = random.randrange(len(COSINES))
    points = []
    for step in range(len(COSINES) + 3):
        angle = (start + step) % len(COSINES)
        grown = 100 + step * 6 // 10 + random.randrange(-1, 2)
        sine = COSINES[angle - len(COSINES) // 4]
        points.append((x + COSINES[angle] * across * grown // 100_000, y + sine * down * grown // 100_000))
    canvas.dots(connect(points), 3)


def blot_letters(canvas: Canvas, text: str, first: int, count: int, random: Random) -> bool:
    """Cover letters of a word with a blot of ink, and return whether the word is on the page.

    The first letter is 1. In the true text, letters that cannot be read are question marks.
    """
    words = canvas.sheet.words
    place = next((place for place, word in enumerate(words) if word.text == text), None)
    if place is None:
        return False
    word, start = words[place], first - 1
    # One or two dots less at both sides, so that the letters beside the blot stay readable.
    left = word.left + word.width * start // len(text) + 2
    right = word.left + word.width * (start + count) // len(text) - 2
    middle, radius = word.top + word.height // 2, max(word.height * 6 // 10, 4)
    for y in range(-radius, radius + 1):
        ragged = [random.randrange(4) for _ in range(2)]
        corner = max(abs(y) - radius * 6 // 10, 0) // 2
        canvas.fill(left + corner - ragged[0], middle + y, right - corner + ragged[1], middle + y + 1)
    words[place] = word._replace(text=text[:start] + "?" * count + text[start + count :])
    return True


def find_free_place(canvas: Canvas, width: int, height: int, random: Random) -> tuple[int, int] | None:
    """Return the left and the top of an empty box on the page, preferably at the right; None if there is none."""
    free: list[tuple[int, int]] = []
    for x in reversed(range(EDGE, PAGE_WIDTH - width - EDGE, 48)):
        if free and x < free[-1][0] - 150:
            break
        used = _used_rows(canvas, x, x + width)
        tops = range(EDGE + 10, PAGE_HEIGHT - height - EDGE, 48)
        free = [(x, y) for y in tops if 1 not in used[y : y + height]] + free
    return random.choice(free) if free else None


def _used_rows(canvas: Canvas, left: int, right: int) -> bytes:
    """Return 1 for each row of the page with a dot between two columns, and 0 for the others."""
    from PIL import ImageChops  # noqa: PLC0415  (an extra)

    image = canvas.sheet.image
    _, rows = ImageChops.invert(image.crop((left, 0, right, image.height))).getprojection()
    return bytes(rows)


def add_punch_holes(canvas: Canvas, holes: int = 2) -> None:
    """Draw the holes of a binder at the left edge, as a scanner shows them: black, with a ragged edge."""
    places = {2: (-2, 2), 3: (-6, 0, 6)}[holes]
    for place in places:
        middle = PAGE_HEIGHT // 2 + place * 137
        canvas.dots([point for point in disc(26) if sum(point) % 11 or abs(point[0]) < 22], 1, (62, middle))


def disc(radius: int) -> list[tuple[int, int]]:
    """Return the points of a disc around 0, 0."""
    reach = range(-radius, radius + 1)
    return [(x, y) for y in reach for x in reach if x * x + y * y <= radius * radius]


def _is_cross(x: int, y: int) -> bool:
    ring = 88 * 88 <= x * x + y * y <= 100 * 100
    return ring or (abs(x) <= 20 and abs(y) <= 60) or (abs(y) <= 20 and abs(x) <= 60)


def _is_leaf(x: int, y: int) -> bool:
    inside = (x + 45) ** 2 + (y + 45) ** 2 <= 110 * 110 and (x - 45) ** 2 + (y - 45) ** 2 <= 110 * 110
    return inside and abs(x - y) > 5


def _is_hills(x: int, y: int) -> bool:
    sun = (x - 40) ** 2 + (y + 50) ** 2 <= 27 * 27
    far, near = y > abs(x - 30) - 10, y > abs(x + 35) * 4 // 5 - 45
    edge = abs(y - (abs(x + 35) * 4 // 5 - 45)) < 7
    return sun or (y <= 75 and (near or far) and not edge)


def _is_waves(x: int, y: int) -> bool:
    wave = abs((x + 200) % 80 - 40) * 3 // 4
    return x * x + y * y <= 100 * 100 and (y + wave + 200) % 56 < 30


def _is_shield(x: int, y: int) -> bool:
    inside = y >= -95 and abs(x) <= 80 and y <= 98 - x * x // 60
    inner = y >= -78 and abs(x) <= 64 and y <= 74 - x * x // 55
    return inside and (not inner or abs(x) <= 12 or abs(y + 15) <= 12)


def _is_drop(x: int, y: int) -> bool:
    bulb = x * x + (y - 35) ** 2 <= 60 * 60
    tip = -98 <= y <= 25 and abs(x) * 120 <= 56 * (y + 98)
    shine = (x + 22) ** 2 + (y - 40) ** 2 <= 17 * 17
    return (bulb or tip) and not shine


def _is_hexagon(x: int, y: int) -> bool:
    distance = max(abs(x) * 115 // 100, abs(x) * 58 // 100 + abs(y))
    return 78 <= distance <= 98 or (distance <= 60 and (x + y + 300) % 34 < 20)


def _is_star(x: int, y: int) -> bool:
    rays = abs(x) * abs(y) <= 420 and max(abs(x), abs(y)) <= 98
    return rays or abs(x) + abs(y) <= 52


LOGOS: Mapping[str, Callable[[int, int], bool]] = {
    "cross": _is_cross,
    "leaf": _is_leaf,
    "hills": _is_hills,
    "waves": _is_waves,
    "shield": _is_shield,
    "drop": _is_drop,
    "hexagon": _is_hexagon,
    "star": _is_star,
}
"""Whether a point from -100 to 100 is black."""


EMBLEM_SIDE = 9
EMBLEM_BITS = EMBLEM_SIDE * 5
"""An emblem has nine rows and nine columns of squares; its right half mirrors the left one."""


def add_logo(canvas: Canvas, name: str, x: int, y: int, size: int, emblem: int = 0) -> None:
    """Draw a logo with its left upper corner at a position. Each bit of the emblem inverts squares in its middle."""
    canvas.dots([*(_shape_points(name, size) ^ _emblem_points(size, emblem))], 1, (x, y))


@lru_cache(maxsize=32)
def _shape_points(name: str, size: int) -> frozenset[tuple[int, int]]:
    is_black = LOGOS[name]
    return frozenset(
        (across, down)
        for down in range(size)
        for across in range(size)
        if is_black(across * 200 // size - 100, down * 200 // size - 100)
    )


def _emblem_points(size: int, emblem: int) -> frozenset[tuple[int, int]]:
    square = size * 2 // 3 // EMBLEM_SIDE
    start = (size - square * EMBLEM_SIDE) // 2
    return frozenset(
        (start + column * square + across, start + row * square + down)
        for row in range(EMBLEM_SIDE)
        for column in range(EMBLEM_SIDE)
        if emblem >> (row * 5 + min(column, EMBLEM_SIDE - 1 - column)) & 1
        for down in range(square)
        for across in range(square)
    )
