"""`files.delete`: a file goes away."""

from typing import Annotated, ClassVar

from pydantic import AfterValidator, Field

from clerkship.simulators.files.paths import check_path
from clerkship.simulators.files.state import FilesState
from clerkship.steps.contract import Step, StepHost


class Delete(Step):
    """Takes a file out of a drop."""

    name: ClassVar[str] = "files.delete"
    simulator: ClassVar[str | None] = "files"
    path: Annotated[str, AfterValidator(check_path), Field(description="which file")]
    sandbox: Annotated[str | None, Field(description="which drop; the only one if not given")] = None

    def run(self, stage: StepHost) -> None:
        """Do it."""
        state, act = stage.state(FilesState, self.sandbox)
        state.delete(act, self.path)
