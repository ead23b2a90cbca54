"""Fields as a chart reads them: in parts, as they are meant; HL7's null is nothing, and can be asked for."""

from typing import NamedTuple

from clerkship.hl7.escape import USUAL, Delimiters, unescape
from clerkship.hl7.kinds import NULL
from clerkship.hl7.message import Segment, nth


class Part(NamedTuple):
    """One repetition of a field."""

    raw: str
    where: str
    """`PID-3`: for whoever is told what is wrong with it."""
    delimiters: Delimiters = USUAL

    def text(self, component: int = 1, subcomponent: int | None = None) -> str:
        """One of its components, or a part of that; empty where there is none, or HL7's null."""
        found = nth(self.raw, self.delimiters.component, component)
        if subcomponent is not None:
            found = nth(found, self.delimiters.subcomponent, subcomponent)
        return _meant(found, self.delimiters)

    @property
    def whole(self) -> str:
        """All of it as one text."""
        return _meant(self.raw, self.delimiters)


def _meant(text: str, delimiters: Delimiters) -> str:
    return "" if text == NULL else unescape(text, delimiters).strip()


def parts(segment: Segment | None, field: int) -> list[Part]:
    """The repetitions of a field that say something."""
    if segment is None:
        return []
    where = f"{segment.name}-{field}"
    found = [Part(raw, where, segment.delimiters) for raw in segment.repetitions(field)]
    return [
        part for part in found if part.raw.strip(segment.delimiters.encoding.replace("\\", "") + " ") not in ("", NULL)
    ]


def part(segment: Segment | None, field: int) -> Part | None:
    """The first of them."""
    return next(iter(parts(segment, field)), None)


def text(segment: Segment | None, field: int) -> str:
    """The first component of a field."""
    found = part(segment, field)
    return found.text() if found is not None else ""


def is_null(segment: Segment | None, field: int) -> bool:
    """Whether a field says that there is nothing."""
    return segment is not None and segment.raw(field) == NULL
