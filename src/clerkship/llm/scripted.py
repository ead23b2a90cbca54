"""`scripted:<file>`: a model whose answers are written down; it needs no key, no network, and is never in two minds."""

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
"""What the names of these models begin with; the rest is the file."""
_WORD = re.compile(r"\w+")


class ScriptedAnswer(Frozen):
    """An answer, and which questions get it: all that is given must hold."""

    about: Annotated[str | None, Field(description="what the question is for, such as `criterion`")] = None
    contains: Annotated[str | None, Field(description="text in the question, such as the criterion")] = None
    matches: Annotated[Regex | None, Field(description="regular expression found in the question")] = None
    answer: Annotated[JsonValue, Field(description="what is answered")]

    def fits(self, question: Question[Any]) -> bool:
        """Whether it is this question's answer."""
        return (
            self.about in (None, question.about)
            and (self.contains is None or self.contains in question.prompt)
            and (self.matches is None or pattern.has_match(self.matches, question.prompt))
        )


class Script(Frozen):
    """What a scripted model answers: the first that fits the question."""

    answers: tuple[ScriptedAnswer, ...]

    @model_validator(mode="before")
    @classmethod
    def _list_alone(cls, value: Any) -> Any:
        return {"answers": value} if isinstance(value, list) else value


class ScriptedModel:
    """Answers as its script says; a question that is not in it gets none."""

    instant = True

    def __init__(self, name: str, script: Script) -> None:
        self.name = name
        self._script = script

    def ask(self, question: Question[T]) -> ModelAnswer[T]:
        """The first answer that fits."""
        found = next((answer for answer in self._script.answers if answer.fits(question)), None)
        if found is None:
            raise BadAnswer(f"{self.name} has no answer to a question about {question.about}: {_excerpt(question)}")
        try:
            return ModelAnswer(question.shape.model_validate(found.answer), self.name)
        except ValidationError as error:
            wrong = error.errors()[0]
            place = ".".join(map(str, wrong["loc"])) or "it"
            raise BadAnswer(
                f"{self.name}: the answer to {_excerpt(question)} is not of the right shape: {place}: {wrong['msg']}"
            ) from None

    def embed(self, texts: Sequence[str]) -> list[list[float]]:
        """Texts that share words have vectors that point the same way."""
        return [_count_words(text) for text in texts]

    def close(self) -> None:
        """It holds nothing."""


def is_scripted(model: str) -> bool:
    """Whether a model of this name has its answers written down: it has read nothing, and can quote nothing."""
    return model.startswith(SCRIPTED)


def _excerpt(question: Question[Any]) -> str:
    return repr(question.prompt if len(question.prompt) <= 200 else f"{question.prompt[:200]}…")


def _count_words(text: str) -> list[float]:
    """How often each word comes, each in a place that its hash decides."""
    vector = [0.0] * DIMENSIONS
    for word in _WORD.findall(text.casefold()):
        vector[int.from_bytes(hashlib.sha256(word.encode()).digest()[:4]) % DIMENSIONS] += 1.0
    return vector
