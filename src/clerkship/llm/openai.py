"""The interface of OpenAI's sort, wherever it is spoken: chat completions of a shape, and texts as vectors."""

import contextlib
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import quote, urlsplit

import orjson
from pydantic import JsonValue

from clerkship.llm.completions import Door, Endpoint, first_message, text_of, used
from clerkship.llm.contract import NoModel, Question, Vectors
from clerkship.llm.endpoint_pool import HostConnections
from clerkship.llm.patience import Limit, ModelOutage
from clerkship.llm.place import AZURE, Place
from clerkship.llm.remote import Asked, Form, Manner, Spoken, Stop
from clerkship.model.usage import Prices, Usage

_STOPS: Mapping[Any, Stop] = {"length": "cut off", "content_filter": "filtered"}


class ChatSpeaker:
    """Chat completions: what OpenAI, Azure, vLLM, Ollama, LM Studio and most gateways speak."""

    forms: tuple[Form, ...] = ("schema", "object", "words")

    def __init__(self, place: Place, door: Door, manner: Manner) -> None:
        self._place, self._manner = place, manner
        self._endpoint = Endpoint(base_of(place, manner.api_version), door, manner.patience)

    async def say(self, asked: Asked, connections: HostConnections) -> Spoken:
        """One completion."""
        messages = [{"role": turn.role, "content": turn.content} for turn in asked.turns]
        body = {**self._manner.parameters, **_form(asked), "model": self._place.model, "messages": messages}
        found = await self._endpoint.post(connections.lend, "/chat/completions", body, asked.limits, asked.spent)
        usage = usage_of(found, self._manner.prices)
        message = first_message(found)
        if message is None:
            raise self._endpoint.no_message(found, usage)
        stop = "refused" if message.get("refusal") else _STOPS.get(found["choices"][0].get("finish_reason"), "")
        return Spoken(text_of(message) or "", stop, usage)


class ChatEmbedder:
    """Vectors from an endpoint of the same sort; it may be another one."""

    def __init__(self, place: Place, door: Door, manner: Manner, connections: HostConnections) -> None:
        self._place, self._door, self._connections, self._prices = place, door, connections, manner.prices
        self._endpoint = Endpoint(base_of(place, manner.api_version), door, manner.patience)

    async def embed(self, texts: list[str], limits: Sequence[Limit]) -> Vectors:
        """Each text as a vector, in the same order; raise NoModel if there is no key for them."""
        if self._place.keyed and not self._door.key:
            address = self._place.address
            raise NoModel(f"vectors of texts are made at {address}, and there is no key: set OPENAI_API_KEY")
        asked = {"model": self._place.model, "input": texts, "encoding_format": "float"}
        limits = (*limits, self._connections.limit)
        found = await self._endpoint.post(self._connections.lend, "/embeddings", asked, limits)
        usage = usage_of(found, self._prices)
        with contextlib.suppress(KeyError, TypeError, ValueError):
            items = sorted(found["data"], key=lambda item: item["index"])
            vectors = [[float(number) for number in item["embedding"]] for item in items]
            if len(vectors) == len(texts) and all(vectors) and len({len(vector) for vector in vectors}) == 1:
                return Vectors(vectors, usage)
        said = orjson.dumps(found)[:200].decode()
        raise ModelOutage(f"{self._endpoint.host} gives no vector for each text: {said}", usage)


def base_of(place: Place, api_version: str) -> str:
    """What paths are put behind. Azure has two: its newer one is as everybody's, its older one has the model in it."""
    parts = urlsplit(place.address)
    if place.sort != AZURE or parts.path.rstrip("/").endswith("/v1"):
        return place.address
    root = f"{parts.scheme}://{parts.netloc}{parts.path.partition('/openai')[0].rstrip('/')}/openai"
    return f"{root}/deployments/{quote(place.model, safe='')}" if api_version else f"{root}/v1"


def _form(asked: Asked) -> dict[str, JsonValue]:
    if asked.form == "schema":
        question: Question[Any] = asked.question
        form: JsonValue = {"name": question.shape.__name__, "schema": question.schema, "strict": True}
        return {"response_format": {"type": "json_schema", "json_schema": form}}
    return {"response_format": {"type": "json_object"}} if asked.form == "object" else {}


def usage_of(found: Any, prices: Prices | None) -> Usage:
    """What an answer took. Its cost is as it says itself, which some gateways do, or by the prices, or not known."""
    tokens, said = used(found), found.get("usage") if isinstance(found, dict) else None
    prompt, completion = tokens.get("prompt_tokens", 0), tokens.get("completion_tokens", 0)
    cost: Any = said.get("cost") if isinstance(said, dict) else None
    if not isinstance(cost, int | float) or isinstance(cost, bool) or cost < 0:
        cost = prices.cost(prompt, completion, _cached(said)) if prices is not None and tokens else None
    return Usage(calls=1, prompt_tokens=prompt, completion_tokens=completion, cost=cost)


def _cached(said: Any) -> int:
    with contextlib.suppress(KeyError, TypeError):
        count = said["prompt_tokens_details"]["cached_tokens"]
        return count if isinstance(count, int) else 0
    return 0
