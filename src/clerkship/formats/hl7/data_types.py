"""HL7 data types: checks whether a value is valid for the type of its field or component."""

import re
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from typing import NamedTuple

from clerkship.formats.hl7.escape import Delimiters
from clerkship.formats.hl7.tables import VERSIONS, load_tables

NULL = '""'
"""Two quotes: the receiver shall delete the value (§2.5.3). Valid for every data type."""
MISSING = "101"
"""Table 0357: required field missing."""
_DAYS = (31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)
_DATE = r"(?P<year>\d{4})(?:(?P<month>0[1-9]|1[0-2])(?P<day>0[1-9]|[12]\d|3[01])?)?"
_ZONE = r"(?:[+-](?:0\d|1[0-5])[0-5]\d)?"
_CLOCK = r"[0-5]\d(?:[0-5]\d(?:\.\d{1,4})?)?"
_HOUR = r"(?:[01]\d|2[0-3])"
_FULL_DATE = r"(?P<year>\d{4})(?:(?P<month>0[1-9]|1[0-2])(?:(?P<day>0[1-9]|[12]\d|3[01])"
_DT = re.compile(_DATE, re.ASCII)
_TM = re.compile(rf"{_HOUR}(?:{_CLOCK})?{_ZONE}", re.ASCII)
_DTM = re.compile(rf"{_FULL_DATE}(?:{_HOUR}(?:{_CLOCK})?)?)?)?{_ZONE}", re.ASCII)
_DTM_OLD = re.compile(rf"{_FULL_DATE}(?:{_HOUR}{_CLOCK})?)?)?{_ZONE}", re.ASCII)
_NM = re.compile(r" *[+-]?(?:\d+(?:\.\d*)?|\.\d+) *", re.ASCII)
_SI = re.compile(r" *\d+ *", re.ASCII)
"""Feeds generated from fixed columns pad numbers and dates with spaces, which are ignored."""


def _is_date(text: str, pattern: re.Pattern[str]) -> bool:
    match = pattern.fullmatch(text)
    if match is None:
        return False
    month, day = match["month"], match["day"]
    if not day or int(day) < 29:
        return True
    year = int(match["year"])
    if month == "02" and day == "29":
        return year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)
    return int(day) <= _DAYS[int(month) - 1]


class ValueFormat(NamedTuple):
    """The format of a value without components."""

    matches: Callable[[str], object]
    description: str


_TIME = ValueFormat(lambda text: _is_date(text, _DTM), "a time as YYYY[MM[DD[HH[MM[SS[.S]]]]]][+/-ZZZZ]")
_OLD_TIME = ValueFormat(lambda text: _is_date(text, _DTM_OLD), "a time as YYYY[MM[DD[HHMM[SS[.S]]]]][+/-ZZZZ]")
VALUE_FORMATS = {
    "DT": ValueFormat(lambda text: _is_date(text.strip(" "), _DT), "a date as YYYY[MM[DD]]"),
    "TM": ValueFormat(_TM.fullmatch, "a time of day as HH[MM[SS[.S]]][+/-ZZZZ]"),
    "DTM": _TIME,
    "TS": _TIME,  # withdrawn in 2.6, but still used in OBX-2
    "NM": ValueFormat(_NM.fullmatch, "a number"),
    "SI": ValueFormat(_SI.fullmatch, "a whole number, not negative"),
}
"""The formats of data types without components. For a type that is not listed, any text is valid."""
_VERSIONS_BEFORE_2_5 = VERSIONS[: VERSIONS.index("2.5")]


class DataType(NamedTuple):
    """The checks for a data type: its format, or those of some components."""

    format: ValueFormat | None = None
    components: "tuple[tuple[int, bool, DataType | None], ...]" = ()
    """(index of the component, whether it is required, its checks)."""


class TypeMismatch(NamedTuple):
    """Why a value is not valid for its data type."""

    component: int | None
    text: str
    code: str = "102"
    """An error code of table 0357."""


@lru_cache(maxsize=1000)
def find_data_type(version: str, name: str) -> DataType | None:
    """Return the checks for a data type in a version; None if any text is valid."""
    return _build_data_type(load_tables(version)["types"], name, version in _VERSIONS_BEFORE_2_5, 2)


def _build_data_type(types: Mapping[str, list[str]], name: str, older: bool, depth: int) -> DataType | None:
    if name not in types:
        form = _OLD_TIME if older and name == "DTM" else VALUE_FORMATS.get(name)
        return DataType(form) if form is not None else None
    if depth == 0:  # no delimiter is left for components: the value is the first component
        return _build_data_type(types, types[name][0].rstrip("!*"), older, 0)
    components = [
        (number, "!" in part, _build_data_type(types, part.rstrip("!*"), older, depth - 1))
        for number, part in enumerate(types[name])
    ]
    needed = tuple(part for part in components if part[1] or part[2] is not None)
    return DataType(None, needed) if needed else None


def find_mismatches(value: str, kind: DataType, *separators: str) -> Iterator[TypeMismatch]:
    """Explain why a value that is not empty is not valid for its data type.

    `separators` are those of components and subcomponents, or those of subcomponents alone for a component.
    """
    if value == NULL:
        return
    if kind.format is not None:
        if not kind.format.matches(value):
            yield TypeMismatch(None, f"{quote_value(value)} is not {kind.format.description}")
        return
    if not separators:
        return
    separator, *deeper = separators
    values = value.split(separator) if separator else [value]
    for number, required, inner in kind.components:
        part = values[number] if number < len(values) else ""
        component = number + 1 if deeper else None
        if not part:
            if required:
                what = "it" if deeper else f"its subcomponent {number + 1}"
                yield TypeMismatch(component, f"{what} is required", MISSING)
        elif inner is not None:
            for mismatch in find_mismatches(part, inner, *deeper):
                yield mismatch._replace(component=component)


def matches_type(value: str, kind: DataType, delimiters: Delimiters) -> bool:
    """Return whether `find_mismatches` would find nothing. This is faster for valid values."""
    if value == NULL:
        return True
    if kind.format is not None:
        return bool(kind.format.matches(value))
    values = value.split(delimiters.component) if delimiters.component else [value]
    count = len(values)
    for number, required, inner in kind.components:
        part = values[number] if number < count else ""
        if not part:
            if required:
                return False
        elif inner is None:
            continue
        elif inner.format is None:
            if next(find_mismatches(part, inner, delimiters.subcomponent), None) is not None:
                return False
        elif part != NULL and not inner.format.matches(part):
            return False
    return True


def quote_value(value: str) -> str:
    """Return a value in quotes for an error text, shortened if it is long."""
    return repr(value if len(value) <= 40 else f"{value[:40]}…")


_ISO = re.compile(
    r"(\d{4})(?:-(\d\d)(?:-(\d\d)(?:[T ](\d\d):(\d\d)(?::(\d\d)(\.\d+)?)?(Z|[+-]\d\d:\d\d)?)?)?)?", re.ASCII
)


def to_hl7_time(text: str) -> str:
    """Convert an ISO 8601 date or time, with the same precision. Raises ValueError if it is not one."""
    match = _ISO.fullmatch(text)
    if match is None:
        raise ValueError("expected a date or time such as 2026-03-02 or 2026-03-02T09:00:00-05:00")
    *digits, fraction, zone = match.groups("")
    part = fraction[:5].rstrip("0").rstrip(".")
    return "".join(digits) + part + ("+0000" if zone == "Z" else zone.replace(":", ""))
