"""A model that was named and is not to be had: whoever asks it is told why."""

from collections.abc import Sequence
from typing import TypeVar

from pydantic import BaseModel

from clerkship.llm.contract import Answer, NoModel, Question

T = TypeVar("T", bound=BaseModel)


class AbsentModel:
    """Answers nothing."""

    def __init__(self, name: str, reason: str, *, recorded: bool = False) -> None:
        self.name = name
        self.reason = reason
        self.recorded = recorded
        """Whether cassettes stand before it: it is missed by whoever asks for what is on none."""

    def ask(self, question: Question[T]) -> Answer[T]:
        """Say why not."""
        raise NoModel(self.reason)

    def embed(self, texts: Sequence[str]) -> list[list[float]]:
        """Say why not."""
        raise NoModel(self.reason)

    def close(self) -> None:
        """It holds nothing."""
