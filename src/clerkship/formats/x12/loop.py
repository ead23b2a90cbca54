"""The tree of loops into which a transaction set is divided."""

from collections.abc import Iterator

from clerkship.formats.x12.segment import X12Segment


class Loop:
    """One occurrence of a loop: its own segments in order, and the loops inside it.

    The root of a set has the id `""` and holds the segments outside loops: ST, BHT and SE.
    """

    __slots__ = ("id", "loops", "segments")

    def __init__(self, id: str, segments: list[X12Segment] | None = None, loops: "list[Loop] | None" = None) -> None:
        self.id = id
        self.segments: list[X12Segment] = [] if segments is None else segments
        self.loops: list[Loop] = [] if loops is None else loops

    def walk(self) -> "Iterator[Loop]":
        """Yield this loop and every loop inside it, in the order of the set."""
        pending = [self]
        while pending:
            loop = pending.pop()
            yield loop
            pending.extend(reversed(loop.loops))

    def find_all(self, loop_id: str) -> "list[Loop]":
        """Return every loop with this id, at any depth, this one included."""
        return [loop for loop in self.walk() if loop.id == loop_id]

    def first(self, loop_id: str) -> "Loop | None":
        """Return the first loop with this id, at any depth, this one included."""
        return next((loop for loop in self.walk() if loop.id == loop_id), None)

    def segment(self, segment_id: str) -> X12Segment | None:
        """Return the first of the loop's own segments with this id; None if there is none."""
        return next((segment for segment in self.segments if segment.id == segment_id), None)

    def segments_with_id(self, segment_id: str) -> list[X12Segment]:
        """Return all of the loop's own segments with this id."""
        return [segment for segment in self.segments if segment.id == segment_id]

    def all_segments(self) -> Iterator[X12Segment]:
        """Yield the segments of this loop and of the loops inside it: those of a loop before those of its children."""
        for loop in self.walk():
            yield from loop.segments

    def __repr__(self) -> str:
        return f"Loop({self.id!r}, {len(self.segments)} segments, {len(self.loops)} loops)"
