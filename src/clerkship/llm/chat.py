"""The next message of a model: the request in the form of its provider, the limit of its tokens, and its usage."""

from collections.abc import Mapping
from typing import Any

import orjson
from pydantic import JsonValue

from clerkship.llm.client import ModelClient
from clerkship.llm.retry import ModelOutage, TimeSpent
from clerkship.llm.token_limit import TokenLimit
from clerkship.model.usage import Prices, Usage
from clerkship.providers.apis import APIS
from clerkship.providers.contract import ChatReply, ChatRequest, ModelOperation, ProviderApi, TokenCounts, object_of


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
        message = f"the answer of {client.host} has no message: {orjson.dumps(answer)[:200].decode()}"
        raise ModelOutage(message, build_usage(_read_tokens(api, answer), None, None))
    return reply


def _read_tokens(api: ProviderApi, answer: Any) -> TokenCounts | None:
    """Return the tokens of an answer without a message."""
    reader = api.open_reader(ModelOperation("chat", ""), is_stream=False)
    reader.read(object_of(answer))
    return reader.build_summary().tokens


def build_usage(tokens: TokenCounts | None, cost: float | None, prices: Prices | None) -> Usage:
    """Return the usage of one call. The cost is the one that the provider reports, or computed from the prices."""
    prompt, completion, cached = tokens or TokenCounts()
    if cost is None and prices is not None and (prompt or completion):
        cost = prices.cost(prompt, completion, cached)
    return Usage(calls=1, prompt_tokens=prompt, completion_tokens=completion, cost=cost)
