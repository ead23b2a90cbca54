"""Turn a page by a few degrees with integers alone, so that each machine gets the same dots."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from clerkship.formats.fax_pages.page import DOTS_PER_INCH, Resolution

RADIANS = (17_453_293, 10**12)
"""A thousandth of a degree in radians. Up to 3 degrees, the angle and its tangent differ by less than a thousandth."""


@dataclass(frozen=True)
class Skew:
    """A turn around the center of an area, clockwise if the angle is positive.

    Columns are moved up or down, then rows left or right: two shears, which for small angles are a rotation.
    """

    width: int
    height: int
    thousandths: int
    """The angle in thousandths of a degree."""
    resolution: Resolution = "fine"

    def lines_down(self, x: int) -> int:
        """Return by how many lines a column moves down."""
        across, down = DOTS_PER_INCH[self.resolution]
        return self.thousandths * RADIANS[0] * (2 * x - self.width) * down // (2 * RADIANS[1] * across)

    def dots_right(self, y: int) -> int:
        """Return by how many dots a row moves to the right."""
        across, down = DOTS_PER_INCH[self.resolution]
        return -self.thousandths * RADIANS[0] * (2 * y - self.height) * across // (2 * RADIANS[1] * down)

    def turn(self, dots: bytes) -> bytes:
        """Return the dots of the area, turned. What leaves the area is lost; what comes in is white."""
        return self._move_rows(self._move_columns(dots)) if self.thousandths else dots

    def turn_box(self, left: int, top: int, right: int, bottom: int) -> tuple[int, int, int, int]:
        """Return the box (left, top, right, bottom) around a box after the turn; it may leave the area."""
        downs = (self.lines_down(left), self.lines_down(max(left, right - 1)))
        top, bottom = top + min(downs), bottom + max(downs)
        rights = (self.dots_right(top), self.dots_right(max(top, bottom - 1)))
        return left + min(rights), top, right + max(rights), bottom

    def _move_columns(self, dots: bytes) -> bytes:
        """Move strips of columns up or down, all rows at once: a page is one large integer."""
        page = int.from_bytes(dots, "big")
        size = self.width * self.height
        turned = 0
        for start, end, lines in _strips(self.width, self.lines_down):
            mask = ((1 << (end - start)) - 1) << (self.width - end)
            strip = page & int.from_bytes(mask.to_bytes(self.width // 8, "big") * self.height, "big")
            turned |= strip >> (lines * self.width) if lines >= 0 else strip << (-lines * self.width)
        return (turned & ((1 << size) - 1)).to_bytes(size // 8, "big")

    def _move_rows(self, dots: bytes) -> bytes:
        """Move strips of rows to the left or the right."""
        bytes_per_row = self.width // 8
        strips = []
        for start, end, shift in _strips(self.height, self.dots_right):
            if abs(shift) >= self.width:
                strips.append(bytes((end - start) * bytes_per_row))
                continue
            strip = int.from_bytes(dots[start * bytes_per_row : end * bytes_per_row], "big")
            shown = (1 << (self.width - abs(shift))) - 1
            if shift < 0:
                strip <<= -shift
                shown <<= -shift
            else:
                strip >>= shift
            strip &= int.from_bytes(shown.to_bytes(bytes_per_row, "big") * (end - start), "big")
            strips.append(strip.to_bytes((end - start) * bytes_per_row, "big"))
        return b"".join(strips)


def _strips(length: int, shift_of: Callable[[int], int]) -> Iterator[tuple[int, int, int]]:
    """Yield start, end and shift of the runs of columns or rows that move equally far."""
    start, shift = 0, shift_of(0)
    for position in range(1, length):
        moved = shift_of(position)
        if moved != shift:
            yield start, position, shift
            start, shift = position, moved
    yield start, length, shift
