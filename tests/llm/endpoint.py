"""An endpoint of the OpenAI sort on loopback, that answers as a test says."""

import json
from collections.abc import Callable, Iterable
from typing import Any

from clerkship.llm.completions import Door
from clerkship.llm.openai import ChatEmbedder, ChatSpeaker
from clerkship.llm.place import Place
from clerkship.llm.remote import Manner, RemoteModel
from clerkship.llm.switchboard import Switchboard
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


def model(served: Served, board: Switchboard | None = None, endpoint: int | None = None, **manner: Any) -> RemoteModel:
    """Who is asked there, with our key and little patience."""
    told, door, board = Manner(**{"backoff": 0.001, **manner}), Door(KEY), board or Switchboard(endpoint)
    place, vectors = Place("some-model", f"{served.url}/v1"), Place("some-vectors", f"{served.url}/v1")
    embedder = ChatEmbedder(vectors, door, told, board.line(vectors.address))
    return RemoteModel(place, ChatSpeaker(place, door, told), embedder, board, told.at_once)


def bodies(served: Served) -> list[dict[str, Any]]:
    """What it was asked, request by request."""
    return [json.loads(asked.body) for asked in served.asked]
