"""The interface to models: questions, answers and errors."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Generic, Literal, NamedTuple, Protocol, TypeVar, cast

from pydantic import BaseModel

from clerkship.model.usage import NO_USAGE, Usage

T = TypeVar("T", bound=BaseModel)


class EarlierMessage(NamedTuple):
    """An earlier message in a conversation with a model."""

    role: Literal["user", "assistant"]
    text: str


@dataclass(frozen=True)
class Question(Generic[T]):
    """A question to a model: the prompt, and the shape of the answer."""

    prompt: str
    """The content of the question. Parts written by others are quoted."""
    shape: type[T]
    """The type of the answer; unknown keys are ignored."""
    instructions: str = ""
    """The system prompt: instructions without any text written by others."""
    about: str = ""
    """The purpose, in a word or two."""
    talk: tuple[EarlierMessage, ...] = ()
    """The conversation between the system prompt and this prompt, oldest first."""
    sample: str = ""
    """Distinguishes repetitions of the same question, such as votes."""

    @property
    def schema(self) -> dict[str, Any]:
        """The JSON Schema of the answer, closed: every key is required, and no other is allowed."""
        return _build_schema(self.shape)


@lru_cache(maxsize=64)
def _build_schema(shape: type[BaseModel]) -> dict[str, Any]:
    """Build the schema once per shape, because this takes longer than the rest of a question."""
    return cast(dict[str, Any], _close_schema(shape.model_json_schema()))


_OMITTED_KEYWORDS = ("title", "default", "minimum", "maximum", "ge", "le")
"""Keywords that some endpoints reject in a schema. Answers are validated here anyway."""


def _close_schema(schema: Any) -> Any:
    if isinstance(schema, list):
        return [_close_schema(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    closed = {key: _close_schema(value) for key, value in schema.items() if key not in _OMITTED_KEYWORDS}
    for names in ("properties", "$defs"):  # whose keys are names, not keywords
        if names in schema:
            closed[names] = {name: _close_schema(part) for name, part in schema[names].items()}
    if "properties" in schema:
        closed.pop("description", None)  # the class docstring: small models answer with it
        closed |= {"additionalProperties": False, "required": list(schema["properties"])}
    return closed


@dataclass(frozen=True)
class ModelAnswer(Generic[T]):
    """An answer of the asked shape, with its model and usage."""

    data: T
    model: str
    usage: Usage = NO_USAGE


class Embeddings(list[list[float]]):
    """One vector per text, and the usage."""

    def __init__(self, vectors: Iterable[list[float]], usage: Usage) -> None:
        super().__init__(vectors)
        self.usage = usage


class Model(Protocol):
    """A model that answers questions; it may be used by several threads at once."""

    @property
    def name(self) -> str:
        """The name that is stored and shown."""

    def ask(self, question: Question[T]) -> ModelAnswer[T]:
        """Ask; raise ModelOutage if it cannot be reached, BadAnswer if its answer has the wrong shape."""

    def embed(self, texts: Sequence[str]) -> list[list[float]]:
        """Return one vector per text; raise like `ask`. Embeddings also report their usage."""

    def close(self) -> None:
        """Release its resources; it is not asked again."""


def is_instant(model: object) -> bool:
    """Return whether a model answers without waiting, so that asking it from several threads gains nothing."""
    return bool(getattr(model, "instant", False))


class BadAnswer(Exception):
    """A model's answer does not have the asked shape."""

    def __init__(self, message: str, usage: Usage = NO_USAGE) -> None:
        super().__init__(message)
        self.usage = usage


class NoModel(Exception):
    """A model is needed, and none is configured."""


class UnavailableModel:
    """A model that cannot be asked, because a key, a connection or a file is missing; raises NoModel."""

    instant = True

    def __init__(self, name: str, reason: str = "", *, replayable: bool = False) -> None:
        self.name = name
        self.reason = reason
        """Why it cannot be asked; empty in a replay."""
        self.replayable = replayable
        """Whether recorded answers are used before it would be asked."""

    def ask(self, question: Question[T]) -> ModelAnswer[T]:
        """Raise NoModel."""
        raise NoModel(self.reason or f"{self.name} cannot be asked in a replay")

    def embed(self, texts: Sequence[str]) -> list[list[float]]:
        """Raise NoModel."""
        raise NoModel(self.reason or f"{self.name} cannot be asked in a replay")

    def close(self) -> None:
        """Do nothing: it holds no resources."""
