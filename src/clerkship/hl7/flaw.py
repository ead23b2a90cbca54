"""One thing that is wrong with a message, as HL7 table 0357 counts such things."""

from typing import NamedTuple

CONDITIONS = {
    "0": "Message accepted",
    "100": "Segment sequence error",
    "101": "Required field missing",
    "102": "Data type error",
    "103": "Table value not found",
    "200": "Unsupported message type",
    "201": "Unsupported event code",
    "202": "Unsupported processing id",
    "203": "Unsupported version id",
    "204": "Unknown key identifier",
    "205": "Duplicate key identifier",
    "206": "Application record locked",
    "207": "Application internal error",
}
"""HL7 table 0357: what each code is called."""


class Flaw(NamedTuple):
    """What is wrong, and where. Counted from one, as HL7 does; None means the whole."""

    code: str
    text: str
    """A sentence for whoever sent it."""
    segment: str = ""
    sequence: int = 1
    """Which of the segments with this name."""
    field: int | None = None
    repetition: int | None = None
    component: int | None = None
