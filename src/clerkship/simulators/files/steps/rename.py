"""`files.rename`: move a file or folder, for example to publish an upload only when it is complete."""

from typing import Annotated, ClassVar

from pydantic import AfterValidator, Field

from clerkship.model.frozen import Flag
from clerkship.sandbox.steps.contract import Step, StepHost
from clerkship.simulators.files.paths import check_path
from clerkship.simulators.files.state import FilesState


class RenameFile(Step):
    """Move a file, or a folder with its content, to another path."""

    name: ClassVar[str] = "files.rename"
    simulator: ClassVar[str | None] = "files"
    path: Annotated[str, AfterValidator(check_path), Field(alias="from", description="current path")]
    to: Annotated[str, AfterValidator(check_path), Field(description="new path, in an existing folder")]
    replace: Annotated[Flag, Field(description="whether an existing file is replaced")] = False
    sandbox: Annotated[str | None, Field(description="which drop; the only one if not given")] = None

    def run(self, host: StepHost) -> None:
        """Move it."""
        state, action = host.state(FilesState, self.sandbox)
        state.rename(action, self.path, self.to, replace=self.replace)
