"""Read what users type into form fields: text, days, numbers, lists of codes."""

import re
from collections.abc import Collection, Mapping
from datetime import date
from typing import Any

from clerkship.simulators.portal.config import DateFormat
from clerkship.simulators.portal.desk import InvalidForm
from clerkship.simulators.portal.typed_date import DATE_WORDS, read_typed_date
from clerkship.simulators.portal.views import FieldMistake

MAX_TEXT = 2000
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")


class FormValues:
    """The fields of a form, and the problems that were found while they were read."""

    def __init__(self, fields: Mapping[str, str], date_format: DateFormat = "any") -> None:
        self.fields = fields
        self.problems: list[FieldMistake] = []
        self._date_format = date_format

    def has(self, *names: str) -> bool:
        """Return whether the form has one of the fields, even empty."""
        return any(name in self.fields for name in names)

    def refuse(self, field: str, text: str) -> None:
        """Add a problem."""
        self.problems.append(FieldMistake(field, text))

    def text(self, name: str, label: str, limit: int = MAX_TEXT) -> str:
        """Return a text without spaces around it."""
        text = self.fields.get(name, "").strip()
        if _CONTROL.search(text):
            self.refuse(name, f"{label} has characters that cannot be used. Type it again.")
            return ""
        if len(text) > limit:
            self.refuse(name, f"{label} is too long: {len(text):,} characters of at most {limit:,}.")
            return ""
        return text

    def check(self) -> None:
        """Raise InvalidForm if there are problems."""
        if self.problems:
            raise InvalidForm(self.problems)

    def choice(self, name: str, label: str, values: Collection[Any]) -> Any:
        """Return one of some values; empty if the field is empty or wrong."""
        text = self.text(name, label)
        if text and text not in values:
            self.refuse(name, f"{label} is not one of those listed. Choose one of them.")
            return ""
        return text

    def day(self, name: str, label: str) -> date | None:
        """Return a day; None if the field is empty or wrong."""
        text = self.fields.get(name, "").strip()
        if not text:
            return None
        day = read_typed_date(text, self._date_format)
        if day is None:
            self.refuse(name, f"{label} must be a date, {DATE_WORDS[self._date_format]}.")
        return day

    def number(self, name: str, label: str, most: int = 9999) -> float | int | None:
        """Return a number above zero; None if the field is empty or wrong."""
        text = self.fields.get(name, "").strip()
        if not text:
            return None
        try:
            number = float(text)
        except ValueError:
            number = 0.0
        if not 0 < number <= most:
            self.refuse(name, f"{label} must be a number from 1 to {most:,}.")
            return None
        return int(number) if number.is_integer() else number


def write_day(day: date | None) -> str:
    """Return a day as the portal writes it."""
    return "" if day is None else f"{day:%m/%d/%Y}"
