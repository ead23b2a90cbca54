"""Requests and answers about benchmarks that are being written."""

from typing import Annotated, Any, Self

from pydantic import BaseModel, Field

from clerkship.api.dependencies import RequestBody
from clerkship.model.errors import InputProblem
from clerkship.service.serving.drafts.checking import MAX_GENERATED_PATIENTS
from clerkship.service.serving.drafts.drafts import Changed
from clerkship.service.serving.drafts.objects import DraftObject


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


class DraftWarning(BaseModel):
    """Something in the files that may be a mistake."""

    place: str
    """The file and the line."""
    message: str
    hint: str

    @classmethod
    def read(cls, problem: InputProblem) -> Self:
        """Return a warning of the loader."""
        return cls(place=problem.location(), message=problem.message, hint=problem.hint)


class PushedDraft(BaseModel):
    """A benchmark whose files were sent, and the warnings about them."""

    benchmark: DraftObject
    warnings: list[DraftWarning]

    @classmethod
    def build(cls, changed: Changed) -> Self:
        """Return the answer to a change of files."""
        return cls(benchmark=changed.benchmark, warnings=list(map(DraftWarning.read, changed.warnings)))
