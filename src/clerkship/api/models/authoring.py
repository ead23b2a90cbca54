"""Requests and answers about benchmarks that are being written."""

from typing import Annotated, Any

from pydantic import BaseModel, Field

from clerkship.api.dependencies import RequestBody
from clerkship.model.server_objects import DraftWarning, PushedDraft
from clerkship.service.serving.drafts.checking import MAX_GENERATED_PATIENTS
from clerkship.service.serving.drafts.drafts import Changed


class EntityList(BaseModel):
    """The records that a task is about."""

    data: list[dict[str, Any]]


class GenerationRequest(RequestBody):
    """A dataset to generate."""

    benchmark_id: str
    name: Annotated[str, Field(min_length=1, max_length=200)]
    patients: Annotated[int, Field(ge=1, le=MAX_GENERATED_PATIENTS)] = 100
    seed: int = 7


class PublishDraftRequest(RequestBody):
    """Under which number a benchmark is published."""

    version: Annotated[int | None, Field(ge=1, le=999_999, description="Default: that of the benchmark.")] = None


def build_pushed_draft(changed: Changed, *, is_new: bool = False) -> PushedDraft:
    """Return the answer to a change of files."""
    warnings = [DraftWarning(place=each.location(), message=each.message, hint=each.hint) for each in changed.warnings]
    return PushedDraft(benchmark=changed.benchmark, is_new=is_new, warnings=warnings)
