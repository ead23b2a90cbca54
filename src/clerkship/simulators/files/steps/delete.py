"""`files.delete`: delete a file."""

from typing import Annotated, ClassVar

from pydantic import AfterValidator, Field

from clerkship.sandbox.steps.contract import Step, StepHost
from clerkship.simulators.files.paths import check_path
from clerkship.simulators.files.state import FilesState


class DeleteFile(Step):
    """Delete a file from a drop."""

    name: ClassVar[str] = "files.delete"
    simulator: ClassVar[str | None] = "files"
    path: Annotated[str, AfterValidator(check_path), Field(description="which file")]
    sandbox: Annotated[str | None, Field(description="which drop; the only one if not given")] = None

    def run(self, host: StepHost) -> None:
        """Delete the file."""
        state, action = host.state(FilesState, self.sandbox)
        state.delete(action, self.path)
