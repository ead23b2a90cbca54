"""What a file drop can be told."""

from typing import Annotated

from pydantic import Field

from clerkship.model.frozen import Flag, Frozen, Whole


class FilesConfig(Frozen):
    """Limits of the drop, refused in HTTP's own words when passed."""

    max_file: Annotated[Whole, Field(ge=1, le=20_000_000, description="bytes in one file")] = 10_000_000
    quota: Annotated[Whole, Field(ge=1, le=1_000_000_000, description="bytes in all files written")] = 100_000_000
    read_only: Annotated[Flag, Field(description="the agent may not write or delete")] = False
