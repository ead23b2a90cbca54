"""`files.rename`: a file, or a folder, gets another path: how an upload ends that is not to be taken half."""

from typing import Annotated, ClassVar

from pydantic import AfterValidator, Field

from clerkship.model.frozen import Flag
from clerkship.simulators.files.paths import check_path
from clerkship.simulators.files.state import FilesState
from clerkship.steps.contract import Step, StepHost


class Rename(Step):
    """Gives a file, or a folder with all that is in it, another path."""

    name: ClassVar[str] = "files.rename"
    simulator: ClassVar[str | None] = "files"
    path: Annotated[str, AfterValidator(check_path), Field(alias="from", description="its path before")]
    to: Annotated[str, AfterValidator(check_path), Field(description="its path after, in a folder that is there")]
    replace: Annotated[Flag, Field(description="whether it takes the place of a file that is there already")] = False
    sandbox: Annotated[str | None, Field(description="which drop; the only one if not given")] = None

    def run(self, stage: StepHost) -> None:
        """Do it."""
        state, act = stage.state(FilesState, self.sandbox)
        state.rename(act, self.path, self.to, replace=self.replace)
