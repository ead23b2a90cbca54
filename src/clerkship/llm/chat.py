"""What a model answers, with its usage: the next message of a conversation, and embeddings by OpenAI's API."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

import orjson
from pydantic import JsonValue

from clerkship.llm.client import ModelClient
from clerkship.llm.contract import Embeddings, NoModel
from clerkship.llm.model_reference import ModelReference
from clerkship.llm.retry import ModelOutage, TimeSpent
from clerkship.llm.token_limit import TokenLimit
from clerkship.model.usage import Prices, Usage
from clerkship.providers.apis import APIS
from clerkship.providers.contract import ChatReply, ChatRequest, ModelOperation, TokenCounts, object_of
from clerkship.providers.openai import parse_cost, parse_tokens


def request_chat(
    client: ModelClient,
    request: ChatRequest,
    token_limit: TokenLimit,
    parameters: Mapping[str, JsonValue],
    time_spent: TimeSpent,
) -> ChatReply:
    """Return the next message of a model. Raises ModelOutage and RequestDeclined."""
    api = APIS[client.account.name]

    def post(limited: dict[str, JsonValue]) -> Any:
        path, body = api.build_chat(request._replace(parameters=limited))
        return client.post(path, body, request.model, time_spent)

    answer = token_limit.send(parameters, post)
    reply = api.parse_chat(answer)
    if reply is None:
        reader = api.open_reader(ModelOperation("chat", ""), is_stream=False)
        reader.read(object_of(answer))
        message = f"the answer of {client.host} has no message: {orjson.dumps(answer)[:200].decode()}"
        raise ModelOutage(message, build_usage(reader.build_summary().tokens, None, None))
    return reply


def build_usage(tokens: TokenCounts | None, cost: float | None, prices: Prices | None) -> Usage:
    """Return the usage of one call. The cost is the one that the provider reports, or computed from the prices."""
    prompt, completion, cached = tokens or TokenCounts()
    if cost is None and prices is not None and (prompt or completion):
        cost = prices.cost(prompt, completion, cached)
    return Usage(calls=1, prompt_tokens=prompt, completion_tokens=completion, cost=cost)


def request_embeddings(
    reference: ModelReference, client: ModelClient, prices: Prices | None, texts: Sequence[str]
) -> Embeddings:
    """Return one vector per text, in order, from a model with OpenAI's API; raise NoModel if there is no key."""
    if reference.requires_key and not client.account.key:
        raise NoModel(f"embeddings are computed at {reference.address}, which needs a key; set OPENAI_API_KEY")
    body, time_spent = {"model": reference.model, "input": [*texts], "encoding_format": "float"}, TimeSpent()
    response: Any = client.post("/embeddings", body, reference.model, time_spent)
    reported = object_of(response).get("usage")
    usage = build_usage(parse_tokens(reported), parse_cost(reported), prices).with_retries(time_spent.retries)
    with suppress(KeyError, TypeError, ValueError):
        items = sorted(response["data"], key=lambda item: item["index"])
        vectors = [[float(number) for number in item["embedding"]] for item in items]
        if len(vectors) == len(texts) and all(vectors) and len({len(vector) for vector in vectors}) == 1:
            return Embeddings(vectors, usage)
    excerpt = orjson.dumps(response)[:200].decode()
    raise ModelOutage(f"the answer of {client.host} does not have one vector per text: {excerpt}", usage)
