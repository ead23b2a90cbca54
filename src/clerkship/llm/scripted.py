"""`scripted:<file>`: a model with predefined answers. It needs no key and no network, and is deterministic."""

import hashlib
import re
from collections.abc import Sequence
from typing import Annotated, Any, TypeVar

from pydantic import BaseModel, Field, JsonValue, ValidationError, model_validator

from clerkship.llm.contract import BadAnswer, ModelAnswer, Question
from clerkship.model import pattern
from clerkship.model.frozen import Frozen
from clerkship.model.pattern import Regex

T = TypeVar("T", bound=BaseModel)
DIMENSIONS = 256
SCRIPTED = "scripted:"
"""The prefix of the names of these models; the rest is the file."""
_WORD = re.compile(r"\w+")


class ScriptedAnswer(Frozen):
    """An answer and the questions it applies to: all given conditions must hold."""

    about: Annotated[str | None, Field(description="what the question is for, such as `criterion`")] = None
    contains: Annotated[str | None, Field(description="text in the question, such as the criterion")] = None
    matches: Annotated[Regex | None, Field(description="regular expression found in the question")] = None
    answer: Annotated[JsonValue, Field(description="what is answered")]

    def fits(self, question: Question[Any]) -> bool:
        return (
            self.about in (None, question.about)
            and (self.contains is None or self.contains in question.prompt)
            and (self.matches is None or pattern.has_match(self.matches, question.prompt))
        )


class Script(Frozen):
    """The answers of a scripted model; the first that fits a question is used."""

    answers: tuple[ScriptedAnswer, ...]

    @model_validator(mode="before")
    @classmethod
    def _list_alone(cls, value: Any) -> Any:
        return {"answers": value} if isinstance(value, list) else value


class ScriptedModel:
    """Answers by its script; raises BadAnswer for other questions."""

    instant = True

    def __init__(self, name: str, script: Script) -> None:
        self.name = name
        self._script = script

    def ask(self, question: Question[T]) -> ModelAnswer[T]:
        """Return the first answer that fits."""
        scripted = next((answer for answer in self._script.answers if answer.fits(question)), None)
        if scripted is None:
            raise BadAnswer(f"{self.name} has no answer to a question about {question.about}: {_excerpt(question)}")
        try:
            return ModelAnswer(question.shape.model_validate(scripted.answer), self.name)
        except ValidationError as error:
            wrong = error.errors()[0]
            place = ".".join(map(str, wrong["loc"])) or "it"
            raise BadAnswer(
                f"{self.name}: the answer to {_excerpt(question)} is not of the right shape: {place}: {wrong['msg']}"
            ) from None

    def embed(self, texts: Sequence[str]) -> list[list[float]]:
        """Return word-count vectors: texts that share words have similar vectors."""
        return [_count_words(text) for text in texts]

    def close(self) -> None: ...


def is_scripted(model: str) -> bool:
    """Return whether a model's name is that of a scripted model, which cannot quote what it was asked about."""
    return model.startswith(SCRIPTED) and model != SCRIPTED


def _excerpt(question: Question[Any]) -> str:
    return repr(question.prompt if len(question.prompt) <= 200 else f"{question.prompt[:200]}…")


def _count_words(text: str) -> list[float]:
    """Return the word counts of a text, at positions given by the hash of each word."""
    vector = [0.0] * DIMENSIONS
    for word in _WORD.findall(text.casefold()):
        vector[int.from_bytes(hashlib.sha256(word.encode()).digest()[:4]) % DIMENSIONS] += 1.0
    return vector
