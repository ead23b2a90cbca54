"""A dataset: synthetic records or files, immutable once loaded, known by the hash of its content."""

import hashlib
from functools import cached_property
from typing import Annotated, Any, Literal, Self

import orjson
from pydantic import Field, JsonValue, model_validator

from clerkship.model.frozen import Frozen

Record = dict[str, JsonValue]


class DatasetFile(Frozen):
    """A dataset as it is written: inline, or pointing at a folder beside it."""

    name: Annotated[str, Field(min_length=1, max_length=200)]
    type: Literal["records", "files"]
    description: str = ""
    records: tuple[Record, ...] = ()
    files: Annotated[dict[str, str], Field(description="path -> text")] = {}
    folder: Annotated[str | None, Field(description="a folder beside this file, taken whole")] = None

    @model_validator(mode="after")
    def _fits_its_type(self) -> "DatasetFile":
        if self.type == "records" and (self.files or self.folder):
            raise ValueError("a dataset of type records has `records`, not `files` or `folder`")
        if self.type == "files" and self.records:
            raise ValueError("a dataset of type files has `files` or `folder`, not `records`")
        return self


class Dataset(Frozen):
    """A dataset as it is used: loaded once, shared by every playground."""

    name: str
    type: Literal["records", "files"]
    records: tuple[Record, ...] = ()
    files: dict[str, bytes] = {}

    def content(self) -> dict[str, Any]:
        """Everything in it as plain data, files by Latin-1 so that any byte survives."""
        files = {path: data.decode("latin-1") for path, data in sorted(self.files.items())}
        return {"type": self.type, "records": list(self.records), "files": files}

    @property
    def data(self) -> bytes:
        """Its one byte form: what is in it, not what it is called."""
        return orjson.dumps(self.content(), option=orjson.OPT_SORT_KEYS)

    @cached_property
    def hash(self) -> str:
        """The address of this content."""
        return hashlib.sha256(self.data).hexdigest()

    @classmethod
    def parse(cls, name: str, data: bytes) -> Self:
        """Read it back from its bytes."""
        content = orjson.loads(data)
        content["files"] = {path: text.encode("latin-1") for path, text in content["files"].items()}
        return cls(name=name, **content)
