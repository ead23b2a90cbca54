"""One error in a message, with an error code of HL7 table 0357."""

from typing import NamedTuple

from clerkship.formats.hl7.tables import load_code_table

ERROR_CONDITIONS = load_code_table("0357")
"""HL7 table 0357: error code -> name."""


class Flaw(NamedTuple):
    """What is wrong, and where. Numbers count from one, as in HL7; None means the whole."""

    code: str
    text: str
    """A description for the sender."""
    segment: str = ""
    sequence: int = 1
    """Which of the segments with this name, counted from one."""
    field: int | None = None
    repetition: int | None = None
    component: int | None = None
