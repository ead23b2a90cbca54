"""`files`: a partner's file drop, over HTTP and SFTP."""

from pathlib import Path

from clerkship.sandbox.authentication.bearer import BearerToken
from clerkship.sandbox.authentication.listener_schemes import SshUser
from clerkship.simulators.files.assertions.file_present import FilePresent
from clerkship.simulators.files.assertions.file_was_read import FileWasRead
from clerkship.simulators.files.attack import FilesAttack
from clerkship.simulators.files.config import FILE, FilesConfig, apply_environment_time
from clerkship.simulators.files.datasets import FILES_DATASET
from clerkship.simulators.files.events import EVENTS
from clerkship.simulators.files.exercise import DATASET, EXERCISE
from clerkship.simulators.files.handle import Files
from clerkship.simulators.files.http import ROUTES
from clerkship.simulators.files.operations import OPERATIONS
from clerkship.simulators.files.sftp.listener import Sftp
from clerkship.simulators.files.state import FilesState
from clerkship.simulators.files.steps import DeleteFile, DropFile, DropInboxFile, RenameFile
from clerkship.simulators.files.tree import merge_dataset_files
from clerkship.simulators.spec import Spec

SPEC = Spec(
    kind="files",
    summary="A file drop: list, read, write, rename and delete files and folders by path.",
    state=FilesState,
    events=EVENTS,
    operations=OPERATIONS,
    routes=ROUTES,
    handle=Files,
    exercise=EXERCISE,
    exercise_datasets=(DATASET,),
    config=FilesConfig,
    configure=apply_environment_time,
    dataset="files",
    more_datasets=("policies",),
    prepare=merge_dataset_files,
    names={FILE.sort: lambda config, base: base},
    assertions=(FilePresent, FileWasRead),
    steps=(DropFile, DropInboxFile, RenameFile, DeleteFile),
    listeners=(Sftp,),
    authentication=(BearerToken(), SshUser()),
    activity="clerkship.simulators.files.activity:list_activity",
    view="clerkship.simulators.files.state_view:list_rows",
    attack=FilesAttack(),
    dataset_types=(FILES_DATASET,),
    scaffold=Path(__file__).with_name("scaffold.yml"),
)
