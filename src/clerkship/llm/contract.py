"""What a model is asked, and what it gives back. Whoever asks knows nothing of who answers."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from pydantic import JsonValue


@dataclass(frozen=True)
class Question:
    """What a model is asked: what it is told, and the shape its answer must have."""

    prompt: str
    schema: Mapping[str, Any]
    """A JSON Schema."""
    about: str = ""
    """What it is for, in a word or two: shown with its cost."""


@dataclass(frozen=True)
class Answer:
    """What came back: data of the shape that was asked for, and what it took."""

    data: Any
    model: str
    usage: Mapping[str, JsonValue] = field(default_factory=dict)


class Model(Protocol):
    """Somebody who can be asked what no rule decides."""

    name: str

    def ask(self, question: Question) -> Answer:
        """Ask; raises ModelOutage where it cannot be asked, BadAnswer where it gives no answer of that shape."""
        ...

    def embed(self, texts: Sequence[str]) -> list[list[float]]:
        """Each text as a vector; raises like `ask`."""
        ...


class BadAnswer(Exception):
    """A model answered, and not in the shape it was asked for."""


class NoModel(Exception):
    """A model is needed, and none is configured."""
