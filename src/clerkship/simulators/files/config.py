"""What a file drop can be told."""

from datetime import UTC
from typing import Annotated

from pydantic import AfterValidator, AwareDatetime, Field

from clerkship.model.environment import Environment
from clerkship.model.frozen import Flag, Frozen, Whole
from clerkship.simulators.files.paths import check_path

MAX_FOLDERS = 1000


class FilesConfig(Frozen):
    """Limits of the drop, refused in the protocol's own words when passed, and what it is like before anybody comes."""

    max_file: Annotated[
        Whole, Field(ge=1, le=1_000_000_000, description="bytes in one file; HTTP brings 20 MB at most, SFTP more")
    ] = 100_000_000
    quota: Annotated[
        Whole,
        Field(
            ge=1,
            le=10_000_000_000,
            description="bytes in all files written, the dataset's apart; a run's log keeps whatever was written, "
            "and takes nothing more beyond 500 MB",
        ),
    ] = 400_000_000
    read_only: Annotated[Flag, Field(description="the agent may not write, rename or delete")] = False
    folders: Annotated[
        tuple[Annotated[str, AfterValidator(check_path)], ...],
        Field(max_length=MAX_FOLDERS, description="folders that are there from the start, beside the dataset's"),
    ] = ("inbox", "outbound", "archive")
    modified: Annotated[
        AwareDatetime | None,
        Field(description="when the dataset's files were last modified; at the environment's now, if not given"),
    ] = None


def dated(config: FilesConfig, environment: Environment) -> FilesConfig:
    """A drop whose files were there when its environment begins, unless it says otherwise."""
    modified = (config.modified or environment.now).astimezone(UTC)
    return config.model_copy(update={"modified": modified})
