"""A model that cannot be asked here."""

from collections.abc import Sequence
from typing import TypeVar

from pydantic import BaseModel

from clerkship.llm.contract import Answer, NoModel, Question

T = TypeVar("T", bound=BaseModel)


class UnavailableModel:
    """Has a name, and raises NoModel when it is asked: no key, no connection, no file."""

    instant = True

    def __init__(self, name: str, reason: str = "", *, replayable: bool = False) -> None:
        self.name = name
        self.reason = reason
        """Why it cannot be asked; empty in a replay, which asks no model."""
        self.replayable = replayable
        """Whether recorded answers are used before it would be asked."""

    def ask(self, question: Question[T]) -> Answer[T]:
        """Raise NoModel."""
        raise NoModel(self.reason or f"{self.name} is replayed, and cannot be asked")

    def embed(self, texts: Sequence[str]) -> list[list[float]]:
        """Raise NoModel."""
        raise NoModel(self.reason or f"{self.name} is replayed, and cannot be asked")

    def close(self) -> None:
        """Do nothing: it holds no resources."""
