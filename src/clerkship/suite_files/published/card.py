"""What a server says of a published version."""

from datetime import datetime

from pydantic import BaseModel, ConfigDict

from clerkship.suite_files.published.results import PublishedScore, Withdrawal


class PublishedSummary(BaseModel):
    """A published version."""

    model_config = ConfigDict(use_attribute_docstrings=True)

    id: str
    """Its name, such as `chart@1`."""
    slug: str
    version: int
    name: str
    description: str
    digest: str
    tasks: int
    grading: str
    bytes: int
    withdrawn: Withdrawal | None
    created_at: datetime
    updated_at: datetime


class PublishedCard(PublishedSummary):
    """What users of a published version should know."""

    interfaces: dict[str, int]
    """The kinds of sandboxes, each with the number of tasks that have one."""
    axes: dict[str, int]
    levels: dict[str, int]
    tags: dict[str, int]
    licence: str
    authors: list[str]
    limits: list[str]
    timeout: float | None
    extras: list[str]
    plugins: dict[str, str]
    missing: list[str]
    """Extras and plug-ins that it needs and that the server does not have."""
    program_grading: str
    signature: str
    scores: list[PublishedScore]
