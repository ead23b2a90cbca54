"""TA1, the interchange acknowledgment: whether the envelope of an interchange was accepted."""

from clerkship.formats.x12.charset import clean_value
from clerkship.formats.x12.envelope_problem import EnvelopeProblem
from clerkship.formats.x12.interchange import Interchange
from clerkship.formats.x12.segment import X12Segment, build_x12_segment

NO_ERROR = "000"
"""TA105 of an interchange without problems."""


def build_ta1(interchange: Interchange, problem: EnvelopeProblem | None = None) -> X12Segment:
    """Build the TA1 segment that accepts an interchange, or rejects it because of a problem.

    A TA1 has room for one problem. `render_interchange` writes it after ISA. Do not build one for an interchange that
    holds only acknowledgments (`Interchange.is_acknowledgment`): these are never answered.
    """
    # TA101 to TA103 repeat ISA13, ISA09 and ISA10.
    copied = (clean_value(interchange.header.raw(number)) for number in (13, 9, 10))
    return build_x12_segment("TA1", *copied, "R" if problem else "A", problem.code if problem else NO_ERROR)
