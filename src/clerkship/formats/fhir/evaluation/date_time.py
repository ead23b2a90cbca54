"""FHIRPath dates, times and instants, each with the precision it was written with."""

import re
from calendar import monthrange
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Literal, Self

DateTimeKind = Literal["Date", "DateTime", "Time"]
_DATE = r"(\d{4})(?:-(\d\d)(?:-(\d\d))?)?"
_TIME = r"(\d\d)(?::(\d\d)(?::(\d\d)(?:\.(\d+))?)?)?"
_ZONE = r"(Z|[+-]\d\d:\d\d)?"
_PATTERNS: dict[DateTimeKind, re.Pattern[str]] = {
    "Date": re.compile(_DATE),
    "DateTime": re.compile(rf"{_DATE}(?:T(?:{_TIME}{_ZONE})?)?"),
    "Time": re.compile(_TIME),
}
_FINER = (("millisecond", "second", 1000), ("second", "minute", 60), ("minute", "hour", 60), ("hour", "day", 24))
_PARTS = ("year", "month", "day", "hour", "minute", "second")
_RANK = {name: place for place, name in enumerate(_PARTS)} | {"millisecond": 5}
_MAX_OFFSET = timedelta(hours=14)


@dataclass(frozen=True)
class DateTimeValue:
    """A date, a date with a time, or a time of day. `parts` are from the year (or the hour) down to its precision."""

    kind: DateTimeKind
    parts: tuple[int, ...]
    fraction: str = ""
    zone: str = ""

    @classmethod
    def parse(cls, kind: DateTimeKind, text: str) -> Self | None:
        """Parse a text; None if it is not of that kind, or names a day or an hour that does not exist."""
        matched = _PATTERNS[kind].fullmatch(text)
        if matched is None:
            return None
        groups = [group or "" for group in matched.groups()]
        zone = groups.pop() if kind == "DateTime" else ""
        fraction = groups.pop() if kind != "Date" else ""
        moment = cls(kind, tuple(int(group) for group in groups if group), fraction, zone)
        try:
            moment.earliest()
        except ValueError:
            return None
        return moment

    @classmethod
    def at(cls, instant: datetime) -> Self:
        """Build the DateTime of an instant, in milliseconds."""
        parsed = cls.parse("DateTime", instant.isoformat(timespec="milliseconds"))
        if parsed is None:
            raise ValueError(f"{instant} is not a FHIRPath DateTime")
        return parsed

    def __str__(self) -> str:
        """Render as in FHIR JSON."""
        if self.kind == "Time":
            return self._clock(self.parts)
        date = "-".join(f"{part:0{4 if place == 0 else 2}}" for place, part in enumerate(self.parts[:3]))
        return f"{date}T{self._clock(self.parts[3:])}{self.zone}" if len(self.parts) > 3 else date

    def _clock(self, parts: tuple[int, ...]) -> str:
        return ":".join(f"{part:02}" for part in parts) + (f".{self.fraction}" if self.fraction else "")

    @property
    def precision(self) -> int:
        """The digits of its precision: 4 for a year, 17 for milliseconds of a DateTime."""
        digits = 2 * len(self.parts) + (2 if self.kind != "Time" else 0)
        return digits + (3 if self.fraction else 0)

    def earliest(self) -> datetime:
        """Return its first moment, without a zone; raises ValueError for a day or an hour that does not exist."""
        full = (2000, 1, 1, *self.parts) if self.kind == "Time" else (*self.parts, *(1, 1)[len(self.parts) - 1 :])
        microsecond = int((self.fraction + "000000")[:6]) if self.fraction else 0
        year, month, day, hour, minute, second = (*full, 0, 0, 0)[:6]
        return datetime(year, month, day, hour, minute, second, microsecond)

    def as_kind(self, kind: DateTimeKind) -> "DateTimeValue":
        """Convert between Date and DateTime."""
        if kind == "Date":
            return DateTimeValue("Date", self.parts[:3])
        return replace(self, kind=kind)

    def compare(self, other: "DateTimeValue") -> int | None:
        """Return -1, 0 or 1; None if the order depends on a missing precision or zone."""
        if len(self.parts) > 3 and len(other.parts) > 3 and bool(self.zone) != bool(other.zone):
            apart = self.earliest() - other.earliest()
            return None if abs(apart) <= _MAX_OFFSET + timedelta(hours=1) else 1 if apart > timedelta(0) else -1
        in_utc = bool(self.zone and other.zone)
        ours, theirs = self._components(in_utc=in_utc), other._components(in_utc=in_utc)
        for our, their in zip(ours, theirs, strict=False):
            if our != their:
                return 1 if our > their else -1
        return 0 if len(ours) == len(theirs) else None

    def _components(self, *, in_utc: bool) -> list[int | Decimal]:
        parts: list[int | Decimal] = list(self.parts)
        if in_utc and self.zone:
            shifted = self.earliest() - self._offset()
            parts = [getattr(shifted, name) for name in _PARTS[: len(parts)]]
        if self.fraction:
            parts[-1] += Decimal(f"0.{self.fraction}")
        return parts

    def _offset(self) -> timedelta:
        if self.zone in ("", "Z"):
            return timedelta(0)
        sign = -1 if self.zone[0] == "-" else 1
        return sign * timedelta(hours=int(self.zone[1:3]), minutes=int(self.zone[4:6]))

    def add(self, amount: int, unit: str) -> "DateTimeValue":
        """Add a calendar duration; an amount finer than the precision is converted and truncated."""
        if unit == "week":
            amount, unit = amount * 7, "day"
        names = _PARTS[3:] if self.kind == "Time" else _PARTS
        amount, unit = _coarsen(amount, unit, names[len(self.parts) - 1])
        moved = self.earliest()
        if unit in ("year", "month"):
            moved = _add_months(moved, amount * (12 if unit == "year" else 1))
        else:
            moved += timedelta(**{f"{unit}s": amount})
        return self._with(moved, names)

    def _with(self, moved: datetime, names: tuple[str, ...]) -> "DateTimeValue":
        digits = len(self.fraction) or (3 if moved.microsecond else 0)
        fraction = f"{moved.microsecond:06}".ljust(digits, "0")[:digits]
        parts = tuple(getattr(moved, name) for name in names[: len(self.parts)])
        return replace(self, parts=parts, fraction=fraction if len(self.parts) == len(names) else "")

    def get_boundary(self, digits: int, *, high: bool) -> "DateTimeValue":
        """Return the first or last moment that it may represent, with a precision of this many digits."""
        is_time = self.kind == "Time"
        part_count = min(digits // 2 - (0 if is_time else 1), 3 if is_time else 6)
        parts = list(self.parts)
        for place in range(len(parts), part_count):
            name = (_PARTS[3:] if is_time else _PARTS)[place]
            parts.append(_last(name, parts) if high else int(name in ("month", "day")))
        full = digits == (9 if is_time else 17)
        fraction = (self.fraction or ("999" if high else "000")) if full else ""
        zone = (self.zone or ("-12:00" if high else "+14:00")) if full and self.kind == "DateTime" else self.zone
        return replace(self, parts=tuple(parts[:part_count]), fraction=fraction, zone=zone if part_count > 3 else "")


def _coarsen(amount: int, unit: str, precision: str) -> tuple[int, str]:
    """Convert an amount to a unit no finer than a precision; seconds and milliseconds count as one precision."""
    for finer, coarser, factor in _FINER:
        if unit == finer and _PARTS.index(precision) < _RANK[unit]:
            amount, unit = int(amount / factor), coarser
    if unit == "day" and precision in ("month", "year"):
        return (int(amount / 30), "month") if precision == "month" else (int(amount / 365), "year")
    if unit == "month" and precision == "year":
        return int(amount / 12), "year"
    return amount, unit


def _add_months(moment: datetime, months: int) -> datetime:
    year, month = divmod(moment.year * 12 + moment.month - 1 + months, 12)
    return moment.replace(year=year, month=month + 1, day=min(moment.day, monthrange(year, month + 1)[1]))


def _last(name: str, parts: list[int]) -> int:
    if name == "day":
        return monthrange(parts[0], parts[1])[1]
    return {"month": 12, "hour": 23}.get(name, 59)
