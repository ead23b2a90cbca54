"""Regular expressions for whole segments: the fast way to see that a segment is valid.

A text that matches is valid. A text that does not match may still be (a date late in its month, a letter with an
accent): `element_checks` decides, and says what is wrong. So the patterns are kept simple and strict.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from clerkship.formats.x12.segment import X12Delimiters

SegmentMatch = Callable[[str], object]
"""Returns None if a text does not match."""


class ElementSpec(NamedTuple):
    """An element, or a component of a composite, at one place of a grammar."""

    position: int
    number: str
    """The number of the element in the X12 dictionary."""
    label: str
    usage: str
    """R required, S situational, N not used."""
    type: str
    """AN, ID, N0, R, DT or TM; empty for a composite."""
    min: int
    max: int
    repeats: int
    codes: frozenset[str] | None
    """The codes allowed here; None if any value of the right form is."""
    meanings: Mapping[str, str]
    """The codes of the element that the tables name, in this grammar or another."""
    components: "tuple[ElementSpec, ...]" = ()
    rules: "tuple[SegmentRule, ...]" = ()
    """The rules between the components."""
    format_position: int = 0
    """The element that tells the format of this date (element 1251); 0 for other elements."""


class SegmentRule(NamedTuple):
    """A rule between elements, such as `P0809`.

    P: all or none. R: at least one. E: at most one. C: if the first, then all others. L: if the first, then one
    of the others.
    """

    kind: str
    positions: tuple[int, ...]


class Situation(NamedTuple):
    """A rule of the guide: if an element has one of these values, others are needed."""

    element: int
    values: frozenset[str]
    needs: tuple[int, ...]


def parse_rule(text: str) -> SegmentRule:
    """Parse a rule such as `P0809` or `C1110`. Raises ValueError if it is not one."""
    if text[:1] not in {"P", "R", "E", "C", "L"} or len(text) < 5 or len(text) % 2 == 0 or not text[1:].isdigit():
        raise ValueError(f"`{text}` is not a rule between elements; write the kind and two digits for each: P0809")
    return SegmentRule(text[0], tuple(int(text[index : index + 2]) for index in range(1, len(text), 2)))


MAX_CACHED_DELIMITERS = 16
"""Interchanges choose their delimiters, so the patterns for them are not kept without limit."""

_DATE = r"(?:19|20)[0-9]{2}(?:0[1-9]|1[0-2])(?:0[1-9]|1[0-9]|2[0-8])"
_TIME = r"(?:[01][0-9]|2[0-3])[0-5][0-9](?:[0-5][0-9](?:[0-9]{1,2})?)?"


def match_nothing(text: str) -> None:
    """Match no text."""


def build_segment_pattern(segment_id: str, elements: Sequence[ElementSpec], delimiters: X12Delimiters) -> SegmentMatch:
    """Compile the pattern of a segment and return its matching function.

    Letters, digits and the characters of numbers and dates are separators only by mistake: with them, nothing matches.
    """
    if any(separator.isalnum() or separator in ".- " for separator in delimiters):
        return match_nothing
    return re.compile(_Writer(delimiters).write(segment_id, elements)).fullmatch


_WriteOne = Callable[[ElementSpec], str]


class _Writer:
    def __init__(self, delimiters: X12Delimiters) -> None:
        self.element = re.escape(delimiters.element)
        self.repetition = re.escape(delimiters.repetition)
        self.component = re.escape(delimiters.component)
        separators = set(delimiters)
        visible = [re.escape(chr(code)) for code in range(0x21, 0x7F) if chr(code) not in separators]
        self.visible = f"[{''.join(visible)}]"
        self.printable = f"[{'' if ' ' in separators else ' '}{''.join(visible)}]"

    def write(self, segment_id: str, elements: Sequence[ElementSpec]) -> str:
        """Return the pattern: optional elements may be empty, and the last one of a segment may not."""
        text = self._sequence(elements, self.element, self._repeated)
        return f"{re.escape(segment_id)}{self.element}{text}(?<!{self.element})"

    def _sequence(self, specs: Sequence[ElementSpec], separator: str, write_one: _WriteOne) -> str:
        text = ""
        for index in range(len(specs) - 1, -1, -1):
            spec = specs[index]
            one = "" if spec.usage == "N" else write_one(spec)
            if spec.usage != "R":
                one = f"(?:{one})?" if one else ""
            rest = text
            if rest and any(later.usage == "R" for later in specs[index + 1 :]):
                rest = f"{separator}{rest}"
            elif rest:
                rest = f"(?:{separator}{rest})?"
            text = one + rest
        return text

    def _repeated(self, spec: ElementSpec) -> str:
        one = self._one(spec)
        if spec.repeats == 1:
            return one
        return f"{one}(?:{self.repetition}{one}){{0,{spec.repeats - 1}}}"

    def _one(self, spec: ElementSpec) -> str:
        if spec.components:
            text = self._sequence(spec.components, self.component, self._one)
            return f"{text}(?<!{self.component})"
        if spec.number == "1250":
            return self._date_format(spec)
        if spec.codes is not None:
            return f"(?:{'|'.join(map(re.escape, sorted(spec.codes)))})"
        return self._simple(spec)

    def _date_format(self, spec: ElementSpec) -> str:
        # The element after it must have this format: the lookahead sees whether it is one date or two.
        forms = {"D8": "[0-9]{8}(?![0-9-])", "RD8": "[0-9]{8}-"}
        separator = f"(?:{self.element}|{self.component})"
        codes = sorted(forms.keys() & (spec.codes or forms.keys()))
        return f"(?:{'|'.join(f'{code}(?={separator}{forms[code]})' for code in codes) or '(?!)'})"

    def _simple(self, spec: ElementSpec) -> str:
        if spec.format_position:
            return f"(?:{_DATE}(?:-{_DATE})?)"
        match spec.type:
            case "DT":
                return _DATE
            case "TM":
                return _TIME
            case "N0":
                return f"[0-9]{{{spec.min},{spec.max}}}"
            case "R":
                return f"(?:[0-9]{{1,{spec.max}}}|[0-9]{{0,{spec.max - 2}}}\\.[0-9]{{1,2}})"
            case _:
                return f"{self.visible}{self.printable}{{{max(spec.min - 1, 0)},{spec.max - 1}}}"
