"""What a run is frozen from: enough to do it again, or grade it again, without today's files."""

import hashlib

import orjson

from clerkship.model.addressed import Addressed
from clerkship.model.dataset import Record
from clerkship.model.environment import Environment
from clerkship.model.task import Task

GRADING = "3"
"""Raised whenever the same evidence could get another verdict."""


class Snapshot(Addressed):
    """One task as it was when the run began, with everything it names."""

    task: Task
    environment: Environment
    datasets: dict[str, str] = {}
    entities: dict[str, Record] = {}
    solution: str | None = None
    timeout: float
    source: str = ""
    grading: str = GRADING

    @property
    def content(self) -> str:
        """A hash of the task itself: not of the limits a run puts on it, nor of where its file was found."""
        told = self.model_dump(mode="json", exclude={"source", "timeout", "grading"})
        for limit in ("max_turns", "turn_timeout"):
            (told["task"]["scenario"] or {}).pop(limit, None)
        return hashlib.sha256(orjson.dumps(told)).hexdigest()
