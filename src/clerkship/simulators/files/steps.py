"""The steps of a file drop: put, rename and delete files."""

import base64
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any, ClassVar

from pydantic import AfterValidator, BeforeValidator, Field, PlainSerializer, WithJsonSchema, model_validator

from clerkship.model.duration import parse_duration, render_duration
from clerkship.model.errors import InputError
from clerkship.model.frozen import Base64Text, Flag
from clerkship.sandbox.steps.contract import Step, StepHost
from clerkship.simulators.files.paths import check_path
from clerkship.simulators.files.state import FilesState

_EXPECTED = "expected a time with its zone such as 2026-03-02T09:00:00Z, or an age such as 3d"


def parse_time_or_age(value: Any) -> datetime | timedelta:
    """Parse a time such as 2026-03-02T09:00:00Z, or an age such as 3d."""
    if isinstance(value, datetime | timedelta):
        return value
    try:
        return parse_duration(value)
    except ValueError:
        pass
    try:
        time = datetime.fromisoformat(value)
    except (TypeError, ValueError):
        raise ValueError(f"{_EXPECTED}, not {str(value)[:40]!r}") from None
    if time.tzinfo is None:
        raise ValueError(f"{_EXPECTED}; {str(value)[:40]!r} has no zone")
    return time


def resolve_time(when: datetime | timedelta, now: datetime) -> datetime:
    """Return the time in UTC; an age counts back from now."""
    return (when if isinstance(when, datetime) else now - when).astimezone(UTC)


def _render_time_or_age(when: datetime | timedelta) -> str:
    return when.isoformat() if isinstance(when, datetime) else render_duration(when)


TimeOrAge = Annotated[
    datetime | timedelta,
    BeforeValidator(parse_time_or_age),
    PlainSerializer(_render_time_or_age, return_type=str),
    WithJsonSchema({"type": ["string", "number"], "description": "2026-03-02T09:00:00Z, or an age: 3d, 1h30m"}),
]


INBOX = "inbox"
_SOURCES = ("text", "base64", "bytes", "template", "dataset")


class DropFile(Step):
    """Put a file into a drop: text, bytes, a template beside the task's file, or a file of a dataset."""

    name: ClassVar[str] = "files.drop"
    simulator: ClassVar[str | None] = "files"
    text_files: ClassVar[Mapping[str, str]] = {"template": "text"}
    dataset_files: ClassVar[Mapping[str, tuple[str, str]]] = {"file": ("dataset", "base64")}
    path: Annotated[str, AfterValidator(check_path), Field(description="path in the drop; missing folders are created")]
    text: Annotated[str | None, Field(description="its text, written in UTF-8")] = None
    base64: Annotated[Base64Text | None, Field(description="its bytes, in base64")] = None
    encoded: Annotated[Base64Text | None, Field(alias="bytes", description="the same as `base64`")] = None
    template: Annotated[str | None, Field(description="a text file beside the task's, its templates filled in")] = None
    dataset: Annotated[str | None, Field(description="a dataset of type files that `file` is in")] = None
    file: Annotated[str | None, Field(description="a file of the dataset, by its path there")] = None
    modified: Annotated[
        TimeOrAge | None,
        Field(description="when it was last modified: a time, or an age; by default when the step runs"),
    ] = None
    complete: Annotated[Flag, Field(description="false for an interrupted upload")] = True
    sandbox: Annotated[str | None, Field(description="which drop; the only one if not given")] = None

    @model_validator(mode="after")
    def _check_sources(self) -> "DropFile":
        sources = [name for name, value in self._sources().items() if value is not None]
        if len(sources) != 1:
            listing = f", not {' and '.join(sources)}" if sources else ""
            raise ValueError(f"expected one of `text`, `base64`, `template`, and `dataset` with `file`{listing}")
        if (self.dataset is None) != (self.file is None):
            raise ValueError("`dataset` and `file` go together: the name of a dataset, and a path in it")
        return self

    def _sources(self) -> dict[str, Any]:
        values = (self.text, self.base64, self.encoded, self.template, self.dataset or self.file)
        return dict(zip(_SOURCES, values, strict=True))

    def run(self, host: StepHost) -> None:
        state, action = host.state(FilesState, self.sandbox)
        modified = resolve_time(self.modified, host.now) if self.modified is not None else None
        state.write(action, self.path, self._content(), complete=self.complete, modified=modified)

    def _content(self) -> bytes:
        if self.template is not None or self.dataset is not None:
            named = self.template or f"{self.dataset}: {self.file}"
            raise InputError.of(f"{named} cannot be read: this task was not loaded from a file")
        if self.text is not None:
            return self.text.encode()
        return base64.b64decode(self.base64 or self.encoded or "")


class DropInboxFile(DropFile):
    """Put a file into the inbox of a drop. A path with a folder is used as it is."""

    name: ClassVar[str] = "files.drop_inbox"
    aliases: ClassVar[tuple[str, ...]] = ("drop_file_inbox",)
    path: Annotated[
        str,
        AfterValidator(check_path),
        AfterValidator(lambda path: path if "/" in path else f"{INBOX}/{path}"),
        Field(description="the file's name, or a path with another folder"),
    ]


class DeleteFile(Step):
    """Delete a file from a drop."""

    name: ClassVar[str] = "files.delete"
    simulator: ClassVar[str | None] = "files"
    path: Annotated[str, AfterValidator(check_path), Field(description="which file")]
    sandbox: Annotated[str | None, Field(description="which drop; the only one if not given")] = None

    def run(self, host: StepHost) -> None:
        state, action = host.state(FilesState, self.sandbox)
        state.delete(action, self.path)


class RenameFile(Step):
    """Move a file, or a folder with its content, to another path."""

    name: ClassVar[str] = "files.rename"
    simulator: ClassVar[str | None] = "files"
    path: Annotated[str, AfterValidator(check_path), Field(alias="from", description="current path")]
    to: Annotated[str, AfterValidator(check_path), Field(description="new path, in an existing folder")]
    replace: Annotated[Flag, Field(description="whether an existing file is replaced")] = False
    sandbox: Annotated[str | None, Field(description="which drop; the only one if not given")] = None

    def run(self, host: StepHost) -> None:
        state, action = host.state(FilesState, self.sandbox)
        state.rename(action, self.path, self.to, replace=self.replace)
