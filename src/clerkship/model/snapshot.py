"""What a run is frozen from: enough to do it again, or grade it again, without today's files."""

import hashlib
from functools import cached_property

import orjson

from clerkship.model.dataset import Record
from clerkship.model.environment import Environment
from clerkship.model.frozen import Frozen
from clerkship.model.task import Task

GRADING = "1"
"""Raised whenever the same evidence could get another verdict."""


class Snapshot(Frozen):
    """One task as it was when the run began, with everything it names."""

    task: Task
    environment: Environment
    datasets: dict[str, str] = {}
    entities: dict[str, Record] = {}
    solution: str | None = None
    timeout: float
    source: str = ""
    grading: str = GRADING

    @cached_property
    def data(self) -> bytes:
        """Its one byte form."""
        return orjson.dumps(self.model_dump(mode="json"), option=orjson.OPT_SORT_KEYS)

    @cached_property
    def hash(self) -> str:
        """Its address in the store."""
        return hashlib.sha256(self.data).hexdigest()
