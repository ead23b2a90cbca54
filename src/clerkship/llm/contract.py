"""What a model is asked, and what it gives back. Whoever asks knows nothing of who answers."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Generic, Literal, NamedTuple, Protocol, TypeVar, cast

from pydantic import BaseModel

from clerkship.model.usage import NO_USAGE, Usage

T = TypeVar("T", bound=BaseModel)


class EarlierMessage(NamedTuple):
    """What was said before, in a conversation with a model."""

    role: Literal["user", "assistant"]
    text: str


@dataclass(frozen=True)
class Question(Generic[T]):
    """What a model is asked: what it is told, and the shape its answer must have."""

    prompt: str
    """The matter itself. Where somebody else wrote a part of it, that part is quoted."""
    shape: type[T]
    """What the answer must be; unknown keys in it are passed over."""
    orders: str = ""
    """What it is to do, before it sees the matter; nothing that somebody else wrote is in here."""
    about: str = ""
    """What it is for, in a word or two."""
    talk: tuple[EarlierMessage, ...] = ()
    """What was said between the orders and this prompt, oldest first."""
    sample: str = ""
    """Which of several alike it is: the same question asked again on purpose is another one."""

    @property
    def schema(self) -> dict[str, Any]:
        """The shape as JSON Schema, with nothing left open: every key required, and no other."""
        return _build_schema(self.shape)


@lru_cache(maxsize=64)
def _build_schema(shape: type[BaseModel]) -> dict[str, Any]:
    """Made once for each shape: it takes longer than all else that is done for a question here."""
    return cast(dict[str, Any], _close_schema(shape.model_json_schema()))


_OMITTED_KEYWORDS = ("title", "default", "minimum", "maximum", "ge", "le")
"""What some endpoints refuse in a schema. The answer is validated here all the same."""


def _close_schema(schema: Any) -> Any:
    if isinstance(schema, list):
        return [_close_schema(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    closed = {key: _close_schema(value) for key, value in schema.items() if key not in _OMITTED_KEYWORDS}
    for names in ("properties", "$defs"):  # whose keys are an author's words, and no keywords
        if names in schema:
            closed[names] = {name: _close_schema(part) for name, part in schema[names].items()}
    if "properties" in schema:
        closed.pop("description", None)  # of the class, for who reads the code: a small model answers with it
        closed |= {"additionalProperties": False, "required": list(schema["properties"])}
    return closed


@dataclass(frozen=True)
class ModelAnswer(Generic[T]):
    """What came back: data of the shape that was asked for, and what it took."""

    data: T
    model: str
    usage: Usage = NO_USAGE


class Embeddings(list[list[float]]):
    """Texts as vectors, one each, and what that took."""

    def __init__(self, vectors: Iterable[list[float]], usage: Usage) -> None:
        super().__init__(vectors)
        self.usage = usage


class Model(Protocol):
    """Somebody who can be asked what no rule decides; by several threads at once."""

    @property
    def name(self) -> str:
        """As it is kept and shown."""
        ...

    def ask(self, question: Question[T]) -> ModelAnswer[T]:
        """Ask; raises ModelOutage where it cannot be asked, BadAnswer where it gives no answer of that shape."""
        ...

    def embed(self, texts: Sequence[str]) -> list[list[float]]:
        """Each text as a vector; raises like `ask`. Those that took something are Embeddings, which say what."""
        ...

    def close(self) -> None:
        """Let go of what it holds; it is not asked again."""
        ...


def is_instant(model: object) -> bool:
    """Whether what it answers is there already: to ask it from several threads would only cost time."""
    return bool(getattr(model, "instant", False))


class BadAnswer(Exception):
    """A model answered, and not in the shape it was asked for."""

    def __init__(self, message: str, usage: Usage = NO_USAGE) -> None:
        super().__init__(message)
        self.usage = usage


class NoModel(Exception):
    """A model is needed, and none is configured."""


class UnavailableModel:
    """Has a name, and raises NoModel when it is asked: no key, no connection, no file."""

    instant = True

    def __init__(self, name: str, reason: str = "", *, replayable: bool = False) -> None:
        self.name = name
        self.reason = reason
        """Why it cannot be asked; empty in a replay, which asks no model."""
        self.replayable = replayable
        """Whether recorded answers are used before it would be asked."""

    def ask(self, question: Question[T]) -> ModelAnswer[T]:
        """Raise NoModel."""
        raise NoModel(self.reason or f"{self.name} is replayed, and cannot be asked")

    def embed(self, texts: Sequence[str]) -> list[list[float]]:
        """Raise NoModel."""
        raise NoModel(self.reason or f"{self.name} is replayed, and cannot be asked")

    def close(self) -> None:
        """Do nothing: it holds no resources."""
