"""An endpoint of the OpenAI sort on loopback, that answers as a test says."""

import json
from collections.abc import Callable, Iterable
from typing import Any

from clerkship.llm.openai import Manner, OpenAIModel
from clerkship.llm.place import Place
from tests.actors.servers import Answered, Asked, Served

KEY = "sk-judges-have-keys-too"


def said(text: str | None, **more: Any) -> Answered:
    """A completion that says this."""
    message = {"role": "assistant", "content": text, **more}
    usage = {"prompt_tokens": 7, "completion_tokens": 3}
    return 200, {}, json.dumps({"choices": [{"message": message}], "usage": usage}).encode()


def refused(status: int, message: str, **headers: str) -> Answered:
    """An error in the usual form."""
    return status, headers, json.dumps({"error": {"message": message}}).encode()


def in_turn(answers: Iterable[Answered | None]) -> Callable[[Asked], Answered | None]:
    """One answer after the other."""
    left = iter(list(answers))
    return lambda asked: next(left)


def model(served: Served, **manner: Any) -> OpenAIModel:
    """Who is asked there, with our key and little patience."""
    place = Place("some-model", f"{served.url}/v1")
    return OpenAIModel(place, Place("some-vectors", f"{served.url}/v1"), KEY, Manner(backoff=0.001, **manner))


def bodies(served: Served) -> list[dict[str, Any]]:
    """What it was asked, request by request."""
    return [json.loads(asked.body) for asked in served.asked]
