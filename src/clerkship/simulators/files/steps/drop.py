"""`files.drop` and `files.drop_inbox`: put a file into a drop."""

import base64
import binascii
from collections.abc import Mapping
from typing import Annotated, Any, ClassVar

from pydantic import AfterValidator, Field, model_validator

from clerkship.model.errors import InputError
from clerkship.model.frozen import Flag
from clerkship.sandbox.steps.contract import Step, StepHost
from clerkship.simulators.files.paths import check_path
from clerkship.simulators.files.state import FilesState
from clerkship.simulators.files.time_or_age import TimeOrAge, resolve_time

INBOX = "inbox"
_SOURCES = ("text", "base64", "bytes", "template", "dataset")


def _check_base64(text: str | None) -> str | None:
    try:
        base64.b64decode(text or "", validate=True)
    except (binascii.Error, ValueError):
        raise ValueError("expected base64") from None
    return text


_Encoded = Annotated[str | None, AfterValidator(_check_base64)]


class DropFile(Step):
    """Put a file into a drop: text, bytes, a template beside the task's file, or a file of a dataset."""

    name: ClassVar[str] = "files.drop"
    simulator: ClassVar[str | None] = "files"
    text_files: ClassVar[Mapping[str, str]] = {"template": "text"}
    dataset_files: ClassVar[Mapping[str, tuple[str, str]]] = {"file": ("dataset", "base64")}
    path: Annotated[str, AfterValidator(check_path), Field(description="path in the drop; missing folders are created")]
    text: Annotated[str | None, Field(description="its text, written in UTF-8")] = None
    base64: Annotated[_Encoded, Field(description="its bytes, in base64")] = None
    encoded: Annotated[_Encoded, Field(alias="bytes", description="the same as `base64`")] = None
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
        """Write the file."""
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
