"""`files.drop`: a file arrives."""

import base64
import binascii
from typing import Annotated, ClassVar

from pydantic import AfterValidator, Field, model_validator

from clerkship.sandbox.exchange import Refusal
from clerkship.simulators.files.state import FilesState
from clerkship.simulators.files.wire import parse_path
from clerkship.steps.contract import Stage, Step


def _check_path(path: str) -> str:
    try:
        return parse_path(path)
    except Refusal as refusal:
        raise ValueError(refusal.reason) from None


def _check_base64(text: str) -> str:
    try:
        base64.b64decode(text, validate=True)
    except binascii.Error:
        raise ValueError("expected base64") from None
    return text


class Drop(Step):
    """Puts a file in a drop, from text or from base64."""

    name: ClassVar[str] = "files.drop"
    simulator: ClassVar[str | None] = "files"
    path: Annotated[str, AfterValidator(_check_path)]
    text: str | None = None
    base64: Annotated[str | None, AfterValidator(lambda text: text and _check_base64(text))] = None
    sandbox: Annotated[str | None, Field(description="which drop; the only one if not given")] = None

    @model_validator(mode="after")
    def _one_content(self) -> "Drop":
        if (self.text is None) == (self.base64 is None):
            raise ValueError("expected either `text` or `base64`")
        return self

    def run(self, stage: Stage) -> None:
        """Do it."""
        state, act = stage.state(FilesState, self.sandbox)
        data = self.text.encode() if self.text is not None else base64.b64decode(self.base64 or "")
        state.write(act, self.path, data)
