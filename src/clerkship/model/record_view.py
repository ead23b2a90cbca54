"""A record as templates read it."""

from collections.abc import Collection
from typing import Any

import orjson

from clerkship.model.dataset import Record


def as_text(value: Any) -> str:
    """Write a value into a text: JSON for what is not text, nothing for null."""
    if isinstance(value, bool | dict | list):
        return orjson.dumps(value).decode()
    return "" if value is None else str(value)


class RecordView(Record):
    """A record with its own way to be read by templates.

    A type of dataset returns a subclass where its records have derived fields (override `get` and `names`), are
    written in words (override `text`), or hold values that JSON does not have (override `plain`).
    """

    def names(self) -> Collection[str]:
        """Return the names that `get` knows."""
        return list(self)

    def text(self, value: Any, name: str) -> str:
        """Write a value of this record into a text; `name` is the field it was found in."""
        return as_text(value)

    def plain(self, value: Any) -> Any:
        """Return the record, or a value of it, as plain JSON data."""
        return dict(value) if isinstance(value, RecordView) else value
