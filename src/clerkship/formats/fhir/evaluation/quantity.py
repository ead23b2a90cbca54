"""FHIRPath quantities: a number and a unit of UCUM, or a calendar duration such as `4 days`."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from functools import cache, lru_cache
from pathlib import Path
from typing import NamedTuple

import orjson

UnitMeasure = tuple[Decimal, tuple[tuple[str, int], ...]]
"""How many base units a unit is, and the base units with their exponents."""
_UCUM_OF_CALENDAR = {
    "year": "a",
    "month": "mo",
    "week": "wk",
    "day": "d",
    "hour": "h",
    "minute": "min",
    "second": "s",
    "millisecond": "ms",
}
CALENDAR_UNITS = frozenset(_UCUM_OF_CALENDAR) | {f"{name}s" for name in _UCUM_OF_CALENDAR}
_CALENDAR_MONTHS = {"year": Decimal(12), "month": Decimal(1)}
_MONTHS = (("calendar month", 1),)
UNITS = Path(__file__).parents[1] / "tables" / "units.json"
_PREFIXES = {"T": 12, "G": 9, "M": 6, "k": 3, "h": 2, "da": 1, "d": -1, "c": -2, "m": -3, "u": -6, "n": -9, "p": -12}
_PREFIXES["f"] = -15
_COMPONENT = re.compile(r"(10[*^]|.*?)([+-]?\d+)?")
_TEXT = re.compile(r"([+-]?\d+(?:\.\d+)?)\s*(?:'([^']+)'|([a-z]+))?")


@dataclass(frozen=True)
class Quantity:
    """A number with a unit; `is_calendar` where the unit is a word (`days`) and not a code of UCUM."""

    value: Decimal
    unit: str
    is_calendar: bool = False

    @classmethod
    def parse(cls, text: str) -> "Quantity | None":
        """Parse `1.5 'mg'`, `4 days` or `7`; None if the text is none of these."""
        matched = _TEXT.fullmatch(text)
        if matched is None or (matched[3] and matched[3] not in CALENDAR_UNITS):
            return None
        return cls(Decimal(matched[1]), matched[2] or matched[3] or "1", is_calendar=bool(matched[3]))

    def __str__(self) -> str:
        """Render as a literal."""
        return f"{self.value:f} {self.unit}" if self.is_calendar else f"{self.value:f} '{self.unit}'"

    @property
    def duration(self) -> str | None:
        """Return the calendar unit to add to a date; None for months and years of UCUM, and for other units."""
        word = self.unit.removesuffix("s") if self.unit in CALENDAR_UNITS else ""
        exact = {code: name for name, code in _UCUM_OF_CALENDAR.items() if name not in _CALENDAR_MONTHS}
        return word or exact.get(self.unit)

    def measure(self, *, definite: bool = False) -> UnitMeasure | None:
        """Measure the unit; None if it is unknown. With `definite`, a calendar year is a year of UCUM."""
        word = self.unit.removesuffix("s") if self.is_calendar else ""
        if word in _CALENDAR_MONTHS and not definite:
            return _CALENDAR_MONTHS[word], _MONTHS
        return measure_unit(_UCUM_OF_CALENDAR.get(word, self.unit))

    def compare(self, other: "Quantity") -> int | None:
        """Return -1, 0 or 1; None if the units cannot be compared."""
        pair = self.to_common_unit(other)
        return None if pair is None else (pair[0] > pair[1]) - (pair[0] < pair[1])

    def to_common_unit(self, other: "Quantity", *, definite: bool = False) -> tuple[Decimal, Decimal] | None:
        """Return both numbers in the larger of the two units; None if the units cannot be compared."""
        if self.unit == other.unit and self.is_calendar == other.is_calendar:
            return self.value, other.value
        ours, theirs = self.measure(definite=definite), other.measure(definite=definite)
        if ours is None or theirs is None or ours[1] != theirs[1]:
            return None
        larger = max(ours[0], theirs[0])
        return self.value * ours[0] / larger, other.value * theirs[0] / larger

    def is_known_to_differ_in_kind(self, other: "Quantity") -> bool:
        """Whether both units are known and measure different things: grams and metres."""
        measures = self.measure(definite=True), other.measure(definite=True)
        return None not in measures and measures[0][1] != measures[1][1]  # type: ignore[index]

    def convert(self, other: "Quantity") -> Decimal | None:
        """Return the other's number in this unit; None if the units cannot be compared."""
        if self.unit == other.unit:
            return other.value
        ours, theirs = self.measure(), other.measure()
        return None if not ours or not theirs or ours[1] != theirs[1] else other.value * theirs[0] / ours[0]

    def multiply(self, other: "Quantity") -> "Quantity":
        """Multiply numbers and units."""
        return Quantity(self.value * other.value, _join_units(self.unit, ".", other.unit))

    def divide(self, other: "Quantity") -> "Quantity":
        """Divide numbers and units."""
        return Quantity(self.value / other.value, _join_units(self.unit, "/", other.unit))


def _join_units(left: str, sign: str, right: str) -> str:
    if right == "1":
        return left
    grouped = f"({right})" if re.search(r"[./]", right) else right
    return right if left == "1" and sign == "." else f"{left}{sign}{grouped}"


@lru_cache(maxsize=1024)
def measure_unit(code: str) -> UnitMeasure | None:
    """Measure a unit of UCUM, such as `mg/dL` or `10*3/uL`; None if it is unknown."""
    code = re.sub(r"\{[^}]*\}", "", code) or "1"
    parts = _split_unit(code)
    if parts is None:
        return None
    factor, dimensions = Decimal(1), dict[str, int]()
    for sign, part in parts:
        measured = measure_unit(part[1:-1]) if part.startswith("(") else _measure_component(part)
        if measured is None:
            return None
        factor = factor * measured[0] if sign > 0 else factor / measured[0]
        for name, exponent in measured[1]:
            dimensions[name] = dimensions.get(name, 0) + sign * exponent
    return factor, tuple(sorted((name, exponent) for name, exponent in dimensions.items() if exponent))


def _split_unit(code: str) -> list[tuple[int, str]] | None:
    """Split a unit at its dots and slashes, outside of brackets."""
    parts: list[tuple[int, str]] = []
    depth, sign, start = 0, 1, 0
    for place, character in enumerate(f"{code}."):
        depth += (character in "([") - (character in ")]")
        if character in "./" and depth == 0:
            if place > start:
                parts.append((sign, code[start:place]))
            elif place > 0:
                return None
            sign, start = (-1 if character == "/" else 1), place + 1
    return parts if depth == 0 and parts else None


def _measure_component(text: str) -> UnitMeasure | None:
    if text.isdigit():
        return (Decimal(text), ()) if int(text) else None
    matched = _COMPONENT.fullmatch(text)
    atom = _measure_atom(matched[1]) if matched else None
    if matched is None or atom is None:
        return None
    exponent = int(matched[2] or 1)
    if abs(exponent) > 30:
        return None
    return atom[0] ** exponent, tuple((name, power * exponent) for name, power in atom[1])


def _measure_atom(name: str) -> UnitMeasure | None:
    atoms = _load_atoms()
    if name in atoms:
        return atoms[name].measure
    for prefix, power in _PREFIXES.items():
        rest = name.removeprefix(prefix)
        if rest != name and rest in atoms and atoms[rest].prefixed:
            factor, dimensions = atoms[rest].measure
            return factor.scaleb(power), dimensions
    return None


class UnitAtom(NamedTuple):
    """A unit of UCUM that is not made of others: a row of `tables/units.json`."""

    unit: str
    factor: str
    """How many base units it is."""
    base: Mapping[str, int]
    """The base units, and their exponents."""
    prefixed: bool
    """Whether it takes a prefix."""

    @property
    def measure(self) -> UnitMeasure:
        """In base units."""
        return Decimal(self.factor), tuple(self.base.items())


@cache
def _load_atoms() -> Mapping[str, UnitAtom]:
    rows = (UnitAtom(**row) for row in orjson.loads(UNITS.read_bytes()))
    return {row.unit: row for row in rows}
