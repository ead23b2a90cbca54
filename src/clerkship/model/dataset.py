"""A dataset: synthetic records or files. It is immutable once loaded and identified by the hash of its content."""

import hashlib
from collections.abc import Collection
from functools import cached_property
from typing import Annotated, Any, Self

import orjson
from pydantic import AfterValidator, Field, JsonValue

from clerkship.model.freeze import freeze
from clerkship.model.frozen import Frozen

Record = dict[str, JsonValue]


class DatasetFile(Frozen):
    """The keys that every dataset has. Each type of dataset adds its own."""

    name: Annotated[str, Field(min_length=1, max_length=200)]
    type: Annotated[str, Field(description="type of the dataset")]
    description: str = ""


class Dataset(Frozen):
    """A loaded dataset. It is loaded once and shared by all playgrounds."""

    name: str
    type: str
    records: Annotated[tuple[Record, ...], AfterValidator(freeze)] = ()
    files: dict[str, bytes] = {}
    lines: tuple[bytes, ...] | None = None
    """Records in the byte form of the type, one per line; None if the type has no such form."""

    def content(self) -> dict[str, Any]:
        """Return the content as plain data. Files are decoded as Latin-1, which keeps every byte."""
        files = {path: data.decode("latin-1") for path, data in sorted(self.files.items())}
        return {"type": self.type, "records": list(self.records), "files": files}

    @property
    def data(self) -> bytes:
        """The content as bytes, without the name. A dataset of lines starts with a line that holds its type."""
        if self.lines is not None:
            return b"\n".join((self.type.encode(), *(self.lines or (b"",))))
        return orjson.dumps(self.content(), option=orjson.OPT_SORT_KEYS)

    @cached_property
    def hash(self) -> str:
        """The SHA-256 of the content, which identifies the dataset in the store."""
        return hashlib.sha256(self.data).hexdigest()

    @classmethod
    def parse(cls, name: str, data: bytes) -> Self:
        """Return the dataset whose bytes are `data`."""
        if not data.startswith(b"{"):
            type, *lines = data.split(b"\n")  # in one pass: there may be hundreds of megabytes
            return cls(name=name, type=type.decode(), lines=tuple(lines if lines != [b""] else ()))
        content = orjson.loads(data)
        content["files"] = {path: text.encode("latin-1") for path, text in content["files"].items()}
        return cls(name=name, **content)


def to_text(value: Any) -> str:
    """Return a value as text: null as an empty string, maps, lists and booleans as JSON."""
    if isinstance(value, bool | dict | list):
        return orjson.dumps(value).decode()
    return "" if value is None else str(value)


class RecordView(Record):
    """A record that decides how templates read it.

    A type of dataset returns a subclass where its records have derived fields (override `get` and `names`), are
    written in words (override `text`), or hold values that JSON does not have (override `plain`).
    """

    def names(self) -> Collection[str]:
        """Return the names that `get` accepts."""
        return list(self)

    def text(self, value: Any, name: str) -> str:
        """Return a value of this record as text; `name` is the field it comes from."""
        return to_text(value)

    def plain(self, value: Any) -> Any:
        """Return the record, or a value of it, as plain JSON data."""
        return dict(value) if isinstance(value, RecordView) else value
