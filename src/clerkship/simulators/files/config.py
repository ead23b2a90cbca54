"""The configuration of a `files` simulator."""

from datetime import UTC
from typing import Annotated

from pydantic import AfterValidator, AwareDatetime, Field

from clerkship.model.closed import NameOf
from clerkship.model.environment import Environment
from clerkship.model.frozen import Flag, Frozen, Whole
from clerkship.simulators.files.paths import check_path

MAX_FOLDERS = 1000
FILE = NameOf("file", or_mentioned=True)
"""A file of a dataset, or one that a step or the instruction names."""


class FilesConfig(Frozen):
    """The limits of a file drop, and its initial folders and times."""

    max_file: Annotated[
        Whole,
        Field(
            ge=1,
            le=1_000_000_000,
            description="size limit of one file, in bytes; over HTTP 20 MB at most, over SFTP more",
        ),
    ] = 100_000_000
    quota: Annotated[
        Whole,
        Field(
            ge=1,
            le=10_000_000_000,
            description="size limit of all files written, in bytes, without the dataset's files; the log of a run "
            "keeps everything written, up to 500 MB",
        ),
    ] = 400_000_000
    read_only: Annotated[Flag, Field(description="whether the agent may not write, rename or delete")] = False
    folders: Annotated[
        tuple[Annotated[str, AfterValidator(check_path)], ...],
        Field(max_length=MAX_FOLDERS, description="folders that exist from the start, besides the dataset's"),
    ] = ("inbox", "outbound", "archive")
    modified: Annotated[
        AwareDatetime | None,
        Field(description="when the dataset's files were last modified; by default the environment's now"),
    ] = None


def apply_environment_time(config: FilesConfig, environment: Environment) -> FilesConfig:
    """Return the config with the environment's time as modification time of the dataset's files, unless it sets one."""
    modified = (config.modified or environment.now).astimezone(UTC)
    return config.model_copy(update={"modified": modified})
