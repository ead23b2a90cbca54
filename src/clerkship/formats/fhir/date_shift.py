"""Shift every date, dateTime and instant of a resource by the same number of days, keeping its precision.

The definitions of R4 decide what is a date, not its format: a year in an identifier or in a narrative stays.
"""

import re
from collections.abc import Mapping
from datetime import date, timedelta
from functools import cache
from typing import Any

from clerkship.formats.fhir.definitions import RESOURCE_TYPES, get_structure, is_structure
from clerkship.formats.fhir.issue import fhir_error
from clerkship.formats.fhir.resource import Resource

_DATES = ("date", "dateTime", "instant")
_DATE = re.compile(r"(\d{4})(?:-(\d\d)(?:-(\d\d)(T.*)?)?)?", re.DOTALL)
_YEAR = 365.2425
_MONTH = _YEAR / 12


def shift_dates(resource: Resource, days: int) -> Resource:
    """Return the resource with all dates shifted. Values that are not dates stay unchanged."""
    shifted: Resource = _shift(resource, str(resource.get("resourceType")), days) if days else resource
    return shifted


@cache
def _list_date_elements(type: str) -> Mapping[str, str]:
    """Return the elements of a type that are dates or may contain some, with their types."""
    types = {name: kind for element in get_structure(type).elements for name, kind in element.spellings.items()}
    return {name: kind for name, kind in types.items() if kind in _DATES or kind == "Resource" or is_structure(kind)}


def _shift(data: Any, type: str, days: int) -> Any:
    if isinstance(data, list):
        return [_shift(item, type, days) for item in data]
    if type in _DATES:
        return shift_date(data, days) if isinstance(data, str) else data
    if not isinstance(data, dict):
        return data
    if type == "Resource" or type in RESOURCE_TYPES:
        type = str(data.get("resourceType"))
    if type != "Element" and not is_structure(type):
        return data
    parts = _list_date_elements(type)
    return {
        name: _shift(value, kind, days) if (kind := _get_element_type(parts, name)) else value
        for name, value in data.items()
    }


def _get_element_type(parts: Mapping[str, str], name: str) -> str | None:
    """Return the type of an element; `_name` has the extensions of a primitive (R4 §2.6.2)."""
    return "Element" if name.startswith("_") else parts.get(name)


def shift_date(text: str, days: int) -> str:
    """Shift one date: a full date by days, a month or a year by the nearest number of months or years."""
    match = _DATE.fullmatch(text)
    if match is None:
        return text
    year, month, day, rest = match.groups()
    try:
        if day is not None:
            shifted = date(int(year), int(month), int(day)) + timedelta(days=days)
            return shifted.isoformat() + (rest or "")
        if month is not None:
            months = int(year) * 12 + int(month) - 1 + round(days / _MONTH)
            return f"{_check_year(months // 12):04d}-{months % 12 + 1:02d}"
        return f"{_check_year(int(year) + round(days / _YEAR)):04d}"
    except (ValueError, OverflowError):
        raise fhir_error("value", f"{text!r} cannot be moved by {days:,} days") from None


def _check_year(year: int) -> int:
    if not 1 <= year <= 9999:
        raise ValueError(year)
    return year
