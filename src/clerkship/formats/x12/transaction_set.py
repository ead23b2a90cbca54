"""One transaction set: the segments from ST to SE."""

from clerkship.formats.x12.problems import EnvelopeProblem
from clerkship.formats.x12.segment import DEFAULT_X12_DELIMITERS, HeaderElement, X12Delimiters, X12Segment


class TransactionSet:
    """One transaction set. Its segments are split into elements when they are first asked for."""

    __slots__ = ("_segments", "delimiters", "group_version", "problems", "segment_texts")
    code = HeaderElement(1)
    """ST01, such as `270`."""
    control_number = HeaderElement(2)
    """ST02."""

    def __init__(
        self,
        segment_texts: list[str],
        delimiters: X12Delimiters = DEFAULT_X12_DELIMITERS,
        group_version: str = "",
    ) -> None:
        self.segment_texts = segment_texts
        """Each segment as encoded, without its terminator; the first is ST."""
        self.delimiters = delimiters
        self.group_version = group_version
        """GS08 of the group."""
        self.problems: list[EnvelopeProblem] = []
        """Problems with codes of IK502. A receiver adds its own, such as `1` for a set it does not support."""
        self._segments: list[X12Segment] | None = None

    @property
    def segments(self) -> list[X12Segment]:
        """The segments, ST and SE included."""
        if self._segments is None:
            delimiters = self.delimiters
            element = delimiters.element
            self._segments = [X12Segment(text.split(element), delimiters) for text in self.segment_texts]
        return self._segments

    @property
    def header(self) -> X12Segment:
        """The ST segment."""
        if self._segments is not None:
            return self._segments[0]
        return X12Segment(self.segment_texts[0].split(self.delimiters.element), self.delimiters)

    @property
    def version(self) -> str:
        """ST03, such as `005010X279A1`; GS08 of the group if the set states none."""
        return self.header.raw(3) or self.group_version

    def render(self, line_break: str = "") -> str:
        """Return the set as encoded, each segment with its terminator."""
        end = self.delimiters.segment + line_break
        return end.join(self.segment_texts) + end

    def __repr__(self) -> str:
        return f"TransactionSet({self.code!r}, {self.control_number!r}, {len(self.segment_texts)} segments)"


def parse_transaction_set(
    text: str, delimiters: X12Delimiters = DEFAULT_X12_DELIMITERS, group_version: str = ""
) -> TransactionSet:
    """Parse the text of one set, from ST to SE. Line breaks after segments are ignored; nothing is checked.

    Raises `ValueError` if there is no segment.
    """
    parts = [part.strip("\r\n") for part in text.split(delimiters.segment)]
    segment_texts = [part for part in parts if part]
    if not segment_texts:
        raise ValueError("the text has no segments (expected: a set from ST to SE)")
    return TransactionSet(segment_texts, delimiters, group_version)
