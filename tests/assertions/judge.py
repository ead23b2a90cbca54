"""Judges with scripted answers that record their questions."""

from collections.abc import Sequence
from typing import Any, TypeVar

from pydantic import BaseModel

from clerkship.llm.contract import ModelAnswer, Question

T = TypeVar("T", bound=BaseModel)


class FakeJudge:
    """Gives the same answer to every question."""

    def __init__(self, answer: dict[str, Any] | Exception, vectors: Sequence[Sequence[float]] = ()) -> None:
        self.name = "a judge"
        self.asked: list[Question[Any]] = []
        self.embedded: list[list[str]] = []
        self._answer, self._vectors = answer, vectors

    def ask(self, question: Question[T]) -> ModelAnswer[T]:
        """Record the question and return the answer."""
        self.asked.append(question)
        if isinstance(self._answer, Exception):
            raise self._answer
        return ModelAnswer(question.shape.model_validate(self._answer), self.name)

    def embed(self, texts: Sequence[str]) -> list[list[float]]:
        """Record the texts and return the vectors."""
        self.embedded.append(list(texts))
        return [list(vector) for vector in self._vectors]

    def close(self) -> None: ...


class SampledJudge:
    """Gives the answers of each sample (`vote 1`, `vote 2`) in order."""

    def __init__(
        self, name: str = "a judge", /, **answers: Sequence[dict[str, Any]] | Sequence[dict[str, Any] | Exception]
    ) -> None:
        self.name = name
        self.asked: list[Question[Any]] = []
        self._answers = {sample.replace("_", " "): list(given) for sample, given in answers.items()}

    def ask(self, question: Question[T]) -> ModelAnswer[T]:
        """Record the question and return the next answer of its sample."""
        self.asked.append(question)
        answer = self._answers[question.sample or "once"].pop(0)
        if isinstance(answer, Exception):
            raise answer
        return ModelAnswer(question.shape.model_validate(answer), self.name)

    def embed(self, texts: Sequence[str]) -> list[list[float]]:
        """Not used."""
        raise NotImplementedError

    def close(self) -> None: ...
