"""`files`: a partner's file drop, over HTTP."""

from clerkship.simulators.files import reactions
from clerkship.simulators.files.assertions.file_present import FilePresent
from clerkship.simulators.files.assertions.file_was_read import FileWasRead
from clerkship.simulators.files.config import FilesConfig
from clerkship.simulators.files.events import FileDeleted, FileRead, FileWritten, FolderListed
from clerkship.simulators.files.exercise import EXERCISE
from clerkship.simulators.files.handle import Files
from clerkship.simulators.files.routes import ROUTES
from clerkship.simulators.files.state import FilesState
from clerkship.simulators.files.steps.drop import Drop
from clerkship.simulators.spec import Spec

SPEC = Spec(
    kind="files",
    summary="A file drop: list, read, write and delete files by path.",
    state=FilesState,
    events=(FolderListed, FileRead, FileWritten, FileDeleted),
    routes=ROUTES,
    handle=Files,
    exercise=EXERCISE,
    config=FilesConfig,
    dataset="files",
    assertions=(FilePresent, FileWasRead),
    steps=(Drop,),
    reactions={FileWritten.kind: reactions.copy_written, FileDeleted.kind: reactions.copy_deleted},
)
