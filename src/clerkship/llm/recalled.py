"""A model that is not asked: whatever it says was recorded before."""

from collections.abc import Sequence
from typing import TypeVar

from pydantic import BaseModel

from clerkship.llm.contract import Answer, Question
from clerkship.model.problem import PlatformError

T = TypeVar("T", bound=BaseModel)


class RecalledModel:
    """Has a name and nothing else: no key, no connection, no file."""

    instant = True

    def __init__(self, name: str) -> None:
        self.name = name

    def ask(self, question: Question[T]) -> Answer[T]:
        """Never: a cassette stands before it."""
        raise PlatformError(f"{self.name} is replayed, and was asked")

    def embed(self, texts: Sequence[str]) -> list[list[float]]:
        """Never, likewise."""
        raise PlatformError(f"{self.name} is replayed, and was asked")

    def close(self) -> None:
        """It holds nothing."""
