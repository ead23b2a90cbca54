"""Requests and answers about published versions."""

from datetime import datetime
from typing import Annotated, Any, Self

from pydantic import BaseModel, ConfigDict, Field

from clerkship.api.dependencies import RequestBody
from clerkship.service.serving.published import ServedVersion
from clerkship.suite_files.published.results import MAX_REASON_LENGTH, PublishedScore, Withdrawal


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

    @classmethod
    def read(cls, served: ServedVersion) -> Self:
        """Return what is said of a version in lists."""
        return cls(**_read_summary(served))


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

    @classmethod
    def build(cls, served: ServedVersion, card: dict[str, Any]) -> Self:
        """Return the card of a version."""
        own = cls.model_fields.keys() - PublishedSummary.model_fields.keys()
        return cls(**_read_summary(served), **{key: value for key, value in card.items() if key in own})


class WithdrawalRequest(RequestBody):
    """Why a version is withdrawn."""

    reason: Annotated[str, Field(pattern=r"\S", max_length=MAX_REASON_LENGTH)]


def _read_summary(served: ServedVersion) -> dict[str, Any]:
    manifest, benchmark = served.archive.manifest, served.archive.manifest.benchmark
    return {
        "id": served.name,
        "slug": manifest.slug,
        "version": manifest.version,
        "name": benchmark.name,
        "description": benchmark.description,
        "digest": f"sha256:{served.archive.digest}",
        "tasks": len(manifest.tasks),
        "grading": manifest.grading,
        "bytes": served.archive.path.stat().st_size,
        "withdrawn": served.withdrawn,
        "created_at": served.added_at,
        "updated_at": datetime.fromisoformat(served.withdrawn.at) if served.withdrawn else served.added_at,
    }
