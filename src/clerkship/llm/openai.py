"""OpenAI's API and compatible ones: chat completions with a schema, and embeddings."""

import contextlib
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import quote, urlsplit

import orjson
from pydantic import JsonValue

from clerkship.llm.contract import Embeddings, NoModel, Question
from clerkship.llm.endpoint import ApiCredentials, Endpoint, first_message, message_text, parse_token_counts
from clerkship.llm.endpoint_pool import HostConnections
from clerkship.llm.model_reference import AZURE, ModelReference
from clerkship.llm.remote import AnswerFormat, ChatRequest, ModelReply, RequestOptions, StopReason
from clerkship.llm.retry import ConcurrencyLimit, ModelOutage
from clerkship.model.usage import Prices, Usage

_STOP_REASONS: Mapping[Any, StopReason] = {"length": "cut off", "content_filter": "filtered"}


class OpenAiApi:
    """Chat completions, as OpenAI, Azure, vLLM, Ollama, LM Studio and most gateways provide them."""

    forms: tuple[AnswerFormat, ...] = ("schema", "object", "words")

    def __init__(self, place: ModelReference, door: ApiCredentials, manner: RequestOptions) -> None:
        self._place, self._manner = place, manner
        self._endpoint = Endpoint(build_base_url(place, manner.api_version), door, manner.patience)

    async def say(self, asked: ChatRequest, connections: HostConnections) -> ModelReply:
        """Request one completion."""
        messages = [{"role": turn.role, "content": turn.content} for turn in asked.turns]
        body = {**self._manner.parameters, **_response_format(asked), "model": self._place.model, "messages": messages}
        found = await self._endpoint.post(connections.lend, "/chat/completions", body, asked.limits, asked.spent)
        usage = parse_usage(found, self._manner.prices)
        message = first_message(found)
        if message is None:
            raise self._endpoint.build_no_message_error(found, usage)
        stop = "refused" if message.get("refusal") else _STOP_REASONS.get(found["choices"][0].get("finish_reason"), "")
        return ModelReply(message_text(message) or "", stop, usage)


class OpenAiEmbedder:
    """Embeddings from an endpoint with the same API, which may be another one."""

    def __init__(
        self, place: ModelReference, door: ApiCredentials, manner: RequestOptions, connections: HostConnections
    ) -> None:
        self._place, self._door, self._connections, self._prices = place, door, connections, manner.prices
        self._endpoint = Endpoint(build_base_url(place, manner.api_version), door, manner.patience)

    async def embed(self, texts: list[str], limits: Sequence[ConcurrencyLimit]) -> Embeddings:
        """Return one vector per text, in order; raise NoModel if there is no key."""
        if self._place.requires_key and not self._door.key:
            address = self._place.address
            raise NoModel(f"embeddings are computed at {address}, which needs a key; set OPENAI_API_KEY")
        asked = {"model": self._place.model, "input": texts, "encoding_format": "float"}
        limits = (*limits, self._connections.limit)
        found = await self._endpoint.post(self._connections.lend, "/embeddings", asked, limits)
        usage = parse_usage(found, self._prices)
        with contextlib.suppress(KeyError, TypeError, ValueError):
            items = sorted(found["data"], key=lambda item: item["index"])
            vectors = [[float(number) for number in item["embedding"]] for item in items]
            if len(vectors) == len(texts) and all(vectors) and len({len(vector) for vector in vectors}) == 1:
                return Embeddings(vectors, usage)
        excerpt = orjson.dumps(found)[:200].decode()
        raise ModelOutage(f"the answer of {self._endpoint.host} does not have one vector per text: {excerpt}", usage)


def build_base_url(place: ModelReference, api_version: str) -> str:
    """Return the base URL of an endpoint.

    Azure has two forms: the newer one is the same as OpenAI's, the older one contains the name of the model.
    """
    parts = urlsplit(place.address)
    if place.sort != AZURE or parts.path.rstrip("/").endswith("/v1"):
        return place.address
    root = f"{parts.scheme}://{parts.netloc}{parts.path.partition('/openai')[0].rstrip('/')}/openai"
    return f"{root}/deployments/{quote(place.model, safe='')}" if api_version else f"{root}/v1"


def _response_format(asked: ChatRequest) -> dict[str, JsonValue]:
    if asked.form == "schema":
        question: Question[Any] = asked.question
        form: JsonValue = {"name": question.shape.__name__, "schema": question.schema, "strict": True}
        return {"response_format": {"type": "json_schema", "json_schema": form}}
    return {"response_format": {"type": "json_object"}} if asked.form == "object" else {}


def parse_usage(found: Any, prices: Prices | None) -> Usage:
    """Return the usage of an answer. The cost is the one that it reports, as some gateways do, or computed from the
    prices.
    """
    tokens, said = parse_token_counts(found), found.get("usage") if isinstance(found, dict) else None
    prompt, completion = tokens.get("prompt_tokens", 0), tokens.get("completion_tokens", 0)
    cost: Any = said.get("cost") if isinstance(said, dict) else None
    if not isinstance(cost, int | float) or isinstance(cost, bool) or cost < 0:
        cost = prices.cost(prompt, completion, _cached_tokens(said)) if prices is not None and tokens else None
    return Usage(calls=1, prompt_tokens=prompt, completion_tokens=completion, cost=cost)


def _cached_tokens(said: Any) -> int:
    with contextlib.suppress(KeyError, TypeError):
        count = said["prompt_tokens_details"]["cached_tokens"]
        return count if isinstance(count, int) else 0
    return 0
