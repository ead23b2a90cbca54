"""Requests and answers about published versions."""

from datetime import datetime
from typing import Annotated, Any

from pydantic import Field

from clerkship.api.dependencies import RequestBody
from clerkship.service.serving.published import ServedVersion
from clerkship.suite_files.published.card import PublishedCard, PublishedSummary
from clerkship.suite_files.published.results import MAX_REASON_LENGTH


class WithdrawalRequest(RequestBody):
    """Why a version is withdrawn."""

    reason: Annotated[str, Field(pattern=r"\S", max_length=MAX_REASON_LENGTH)]


def build_published_summary(served: ServedVersion) -> PublishedSummary:
    """Return what is said of a version in lists."""
    return PublishedSummary(**_read_summary(served))


def build_published_card(served: ServedVersion, card: dict[str, Any]) -> PublishedCard:
    """Return the card of a version."""
    own = PublishedCard.model_fields.keys() - PublishedSummary.model_fields.keys()
    return PublishedCard(**_read_summary(served), **{key: value for key, value in card.items() if key in own})


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
