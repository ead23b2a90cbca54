"""A dataset: synthetic records or files, immutable once loaded, known by the hash of its content."""

import hashlib
from functools import cached_property
from typing import Annotated, Any, Literal, Self

import orjson
from pydantic import AfterValidator, AwareDatetime, Field, JsonValue, model_validator

from clerkship.model.freeze import freeze
from clerkship.model.frozen import Frozen, Whole

Record = dict[str, JsonValue]
Type = Literal["records", "files", "fhir"]
_FHIR = b"fhir\n"
"""What the byte form of a FHIR dataset begins with: one resource a line comes after it."""


class Generate(Frozen):
    """Synthetic patients to be made up: the same seed, the same patients."""

    patients: Annotated[Whole, Field(ge=1, le=100_000)] = 100
    seed: Whole = 7


class DatasetFile(Frozen):
    """A dataset as it is written: inline, or pointing at a folder beside it."""

    name: Annotated[str, Field(min_length=1, max_length=200)]
    type: Type
    description: str = ""
    records: Annotated[tuple[Record, ...], Field(description="records, or FHIR resources and Bundles")] = ()
    files: Annotated[dict[str, str], Field(description="path -> text")] = {}
    file: Annotated[str | None, Field(description="a Bundle (.json) or NDJSON file beside this one")] = None
    folder: Annotated[str | None, Field(description="a folder beside this file, taken whole")] = None
    generate: Annotated[Generate | None, Field(description="synthetic patients, made up around the now")] = None
    as_of: Annotated[
        AwareDatetime | None,
        Field(description="when these records were current: their dates are moved from there to the environment's now"),
    ] = None
    validation: Annotated[
        Literal["strict", "lenient"], Field(description="whether what R4 does not allow is refused, or a warning")
    ] = "strict"

    @model_validator(mode="after")
    def _fits_its_type(self) -> "DatasetFile":
        if self.type == "records" and (self.files or self.folder):
            raise ValueError("a dataset of type records has `records`, not `files` or `folder`")
        if self.type == "files" and self.records:
            raise ValueError("a dataset of type files has `files` or `folder`, not `records`")
        if self.type != "fhir" and (self.file or self.generate or self.as_of):
            raise ValueError("`file`, `generate` and `as_of` are for datasets of type fhir")
        if self.type == "fhir" and self.files:
            raise ValueError("a dataset of type fhir has `records`, `file`, `folder` or `generate`, not `files`")
        if self.type != "fhir" and self.validation != "strict":
            raise ValueError("`validation` is for datasets of type fhir")
        if self.type == "fhir" and not (self.records or self.file or self.folder or self.generate):
            raise ValueError("a dataset of type fhir needs `records`, `file`, `folder` or `generate`")
        return self


class Dataset(Frozen):
    """A dataset as it is used: loaded once, shared by every playground."""

    name: str
    type: Type
    records: Annotated[tuple[Record, ...], AfterValidator(freeze)] = ()
    files: dict[str, bytes] = {}
    lines: tuple[bytes, ...] = ()
    """FHIR resources in their byte form, in order of type and id."""

    def content(self) -> dict[str, Any]:
        """Everything in it as plain data, files by Latin-1 so that any byte survives."""
        files = {path: data.decode("latin-1") for path, data in sorted(self.files.items())}
        return {"type": self.type, "records": list(self.records), "files": files}

    @property
    def data(self) -> bytes:
        """Its one byte form: what is in it, not what it is called."""
        if self.type == "fhir":
            return _FHIR + b"\n".join(self.lines)
        return orjson.dumps(self.content(), option=orjson.OPT_SORT_KEYS)

    @cached_property
    def hash(self) -> str:
        """The address of this content."""
        return hashlib.sha256(self.data).hexdigest()

    @classmethod
    def parse(cls, name: str, data: bytes) -> Self:
        """Read it back from its bytes."""
        if data.startswith(_FHIR):
            _, *lines = data.split(b"\n")  # not cut first: there may be hundreds of megabytes
            return cls(name=name, type="fhir", lines=tuple(lines if lines != [b""] else ()))
        content = orjson.loads(data)
        content["files"] = {path: text.encode("latin-1") for path, text in content["files"].items()}
        return cls(name=name, **content)
