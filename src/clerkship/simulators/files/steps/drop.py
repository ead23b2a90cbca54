"""`files.drop`: a file arrives, anywhere or in the inbox."""

import base64
import binascii
from collections.abc import Mapping
from typing import Annotated, Any, ClassVar

from pydantic import AfterValidator, Field, model_validator

from clerkship.model.errors import InputError
from clerkship.model.frozen import Flag
from clerkship.simulators.files.age import When, reckon
from clerkship.simulators.files.paths import check_path
from clerkship.simulators.files.state import FilesState
from clerkship.steps.contract import Step, StepHost

INBOX = "inbox"
_SOURCES = ("text", "base64", "bytes", "template", "dataset")


def _check_base64(text: str | None) -> str | None:
    try:
        base64.b64decode(text or "", validate=True)
    except (binascii.Error, ValueError):
        raise ValueError("expected base64") from None
    return text


_Encoded = Annotated[str | None, AfterValidator(_check_base64)]


class Drop(Step):
    """Puts a file in a drop: text, bytes, a template beside the task's file, or a file of a dataset."""

    name: ClassVar[str] = "files.drop"
    simulator: ClassVar[str | None] = "files"
    beside: ClassVar[Mapping[str, str]] = {"template": "text"}
    stored: ClassVar[Mapping[str, tuple[str, str]]] = {"file": ("dataset", "base64")}
    path: Annotated[str, AfterValidator(check_path), Field(description="where in the drop; folders are made with it")]
    text: Annotated[str | None, Field(description="what it says, in UTF-8")] = None
    base64: Annotated[_Encoded, Field(description="its bytes, in base64")] = None
    encoded: Annotated[_Encoded, Field(alias="bytes", description="the same as `base64`")] = None
    template: Annotated[str | None, Field(description="a text file beside the task's, its templates filled in")] = None
    dataset: Annotated[str | None, Field(description="a dataset of type files that `file` is in")] = None
    file: Annotated[str | None, Field(description="a file of the dataset, by its path there")] = None
    modified: Annotated[
        When | None,
        Field(description="when it was last modified: a time, or how long ago; when it arrives, if not given"),
    ] = None
    complete: Annotated[Flag, Field(description="false for an upload that broke off")] = True
    sandbox: Annotated[str | None, Field(description="which drop; the only one if not given")] = None

    @model_validator(mode="after")
    def _one_content(self) -> "Drop":
        given = [name for name, value in self._sources().items() if value is not None]
        if len(given) != 1:
            found = f", not {' and '.join(given)}" if given else ""
            raise ValueError(f"expected one of `text`, `base64`, `template`, and `dataset` with `file`{found}")
        if (self.dataset is None) != (self.file is None):
            raise ValueError("`dataset` and `file` go together: the name of one, and a path in it")
        return self

    def _sources(self) -> dict[str, Any]:
        values = (self.text, self.base64, self.encoded, self.template, self.dataset or self.file)
        return dict(zip(_SOURCES, values, strict=True))

    def run(self, stage: StepHost) -> None:
        """Do it."""
        state, act = stage.state(FilesState, self.sandbox)
        modified = reckon(self.modified, stage.now) if self.modified is not None else None
        state.write(act, self.path, self._content(), complete=self.complete, modified=modified)

    def _content(self) -> bytes:
        if self.template is not None or self.dataset is not None:
            named = self.template or f"{self.dataset}: {self.file}"
            raise InputError.of(f"{named} is read together with the file of its task, and this task came without one")
        if self.text is not None:
            return self.text.encode()
        return base64.b64decode(self.base64 or self.encoded or "")


class DropInbox(Drop):
    """Puts a file in the inbox of a drop; a path that names a folder is taken as it is."""

    name: ClassVar[str] = "files.drop_inbox"
    aliases: ClassVar[tuple[str, ...]] = ("drop_file_inbox",)
    path: Annotated[
        str,
        AfterValidator(check_path),
        AfterValidator(lambda path: path if "/" in path else f"{INBOX}/{path}"),
        Field(description="the file's name, or a path with the folder it is to be in instead"),
    ]
