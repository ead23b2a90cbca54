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
from clerkship.llm.retry import ConcurrencyLimit, ModelOutage, TimeSpent
from clerkship.llm.token_limit import TokenLimit
from clerkship.model.usage import Prices, Usage

_STOP_REASONS: Mapping[Any, StopReason] = {"length": "cut off", "content_filter": "filtered"}


class OpenAiApi:
    """Chat completions, as OpenAI, Azure, vLLM, Ollama, LM Studio and most gateways provide them."""

    forms: tuple[AnswerFormat, ...] = ("schema", "object", "words")

    def __init__(self, reference: ModelReference, credentials: ApiCredentials, options: RequestOptions) -> None:
        self._reference, self._options = reference, options
        self._endpoint = Endpoint(build_base_url(reference, options.api_version), credentials, options.retry_policy)
        self._token_limit = TokenLimit(options.max_tokens, reference.address, options.parameters)

    async def send(self, request: ChatRequest, connections: HostConnections) -> ModelReply:
        """Request one completion."""
        messages = [{"role": turn.role, "content": turn.content} for turn in request.turns]
        fields = {**_response_format(request), "model": self._reference.model, "messages": messages}
        response = await self._token_limit.send(
            self._options.parameters,
            lambda parameters: self._endpoint.post(
                connections.lend, "/chat/completions", parameters | fields, request.limits, request.time_spent
            ),
        )
        usage = parse_usage(response, self._options.prices)
        message = first_message(response)
        if message is None:
            raise self._endpoint.build_no_message_error(response, usage)
        stop = (
            "refused" if message.get("refusal") else _STOP_REASONS.get(response["choices"][0].get("finish_reason"), "")
        )
        return ModelReply(message_text(message) or "", stop, usage)


class OpenAiEmbedder:
    """Embeddings from an endpoint with the same API, which may be another one."""

    def __init__(
        self,
        reference: ModelReference,
        credentials: ApiCredentials,
        options: RequestOptions,
        connections: HostConnections,
    ) -> None:
        self._reference, self._credentials, self._connections, self._prices = (
            reference,
            credentials,
            connections,
            options.prices,
        )
        self._endpoint = Endpoint(build_base_url(reference, options.api_version), credentials, options.retry_policy)

    async def embed(self, texts: list[str], limits: Sequence[ConcurrencyLimit]) -> Embeddings:
        """Return one vector per text, in order; raise NoModel if there is no key."""
        if self._reference.requires_key and not self._credentials.key:
            address = self._reference.address
            raise NoModel(f"embeddings are computed at {address}, which needs a key; set OPENAI_API_KEY")
        body = {"model": self._reference.model, "input": texts, "encoding_format": "float"}
        limits = (*limits, self._connections.limit)
        time_spent = TimeSpent()
        response = await self._endpoint.post(self._connections.lend, "/embeddings", body, limits, time_spent)
        usage = parse_usage(response, self._prices).with_retries(time_spent.retries)
        with contextlib.suppress(KeyError, TypeError, ValueError):
            items = sorted(response["data"], key=lambda item: item["index"])
            vectors = [[float(number) for number in item["embedding"]] for item in items]
            if len(vectors) == len(texts) and all(vectors) and len({len(vector) for vector in vectors}) == 1:
                return Embeddings(vectors, usage)
        excerpt = orjson.dumps(response)[:200].decode()
        raise ModelOutage(f"the answer of {self._endpoint.host} does not have one vector per text: {excerpt}", usage)


def build_base_url(reference: ModelReference, api_version: str) -> str:
    """Return the base URL of an endpoint.

    Azure has two forms: the newer one is the same as OpenAI's, the older one contains the name of the model.
    """
    parts = urlsplit(reference.address)
    if reference.provider != AZURE or parts.path.rstrip("/").endswith("/v1"):
        return reference.address
    root = f"{parts.scheme}://{parts.netloc}{parts.path.partition('/openai')[0].rstrip('/')}/openai"
    return f"{root}/deployments/{quote(reference.model, safe='')}" if api_version else f"{root}/v1"


def _response_format(request: ChatRequest) -> dict[str, JsonValue]:
    if request.form == "schema":
        question: Question[Any] = request.question
        form: JsonValue = {"name": question.shape.__name__, "schema": question.schema, "strict": True}
        return {"response_format": {"type": "json_schema", "json_schema": form}}
    return {"response_format": {"type": "json_object"}} if request.form == "object" else {}


def parse_usage(response: Any, prices: Prices | None) -> Usage:
    """Return the usage of an answer. The cost is the one that it reports, as some gateways do, or computed from the
    prices.
    """
    tokens, reported = parse_token_counts(response), response.get("usage") if isinstance(response, dict) else None
    prompt, completion = tokens.get("prompt_tokens", 0), tokens.get("completion_tokens", 0)
    cost: Any = reported.get("cost") if isinstance(reported, dict) else None
    if not isinstance(cost, int | float) or isinstance(cost, bool) or cost < 0:
        cost = prices.cost(prompt, completion, _cached_tokens(reported)) if prices is not None and tokens else None
    return Usage(calls=1, prompt_tokens=prompt, completion_tokens=completion, cost=cost)


def _cached_tokens(reported: Any) -> int:
    with contextlib.suppress(KeyError, TypeError):
        count = reported["prompt_tokens_details"]["cached_tokens"]
        return count if isinstance(count, int) else 0
    return 0
