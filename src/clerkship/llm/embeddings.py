"""Embeddings of texts, over OpenAI's API."""

from contextlib import suppress
from typing import Any

import orjson

from clerkship.llm.chat import build_usage
from clerkship.llm.client import ModelClient
from clerkship.llm.contract import Embeddings, NoModel
from clerkship.llm.model_reference import ModelReference
from clerkship.llm.retry import ModelOutage, TimeSpent
from clerkship.model.usage import Prices
from clerkship.providers.openai import parse_cost, parse_tokens


class OpenAiEmbedder:
    """Embeddings of a model with OpenAI's API."""

    def __init__(self, reference: ModelReference, client: ModelClient, prices: Prices | None) -> None:
        self._reference, self._client, self._prices = reference, client, prices

    def embed(self, texts: list[str]) -> Embeddings:
        """Return one vector per text, in order; raise NoModel if there is no key."""
        reference = self._reference
        if reference.requires_key and not self._client.account.key:
            raise NoModel(f"embeddings are computed at {reference.address}, which needs a key; set OPENAI_API_KEY")
        body, time_spent = {"model": reference.model, "input": texts, "encoding_format": "float"}, TimeSpent()
        response: Any = self._client.post("/embeddings", body, reference.model, time_spent)
        reported = response.get("usage") if isinstance(response, dict) else None
        usage = build_usage(parse_tokens(reported), parse_cost(reported), self._prices)
        usage = usage.with_retries(time_spent.retries)
        with suppress(KeyError, TypeError, ValueError):
            items = sorted(response["data"], key=lambda item: item["index"])
            vectors = [[float(number) for number in item["embedding"]] for item in items]
            if len(vectors) == len(texts) and all(vectors) and len({len(vector) for vector in vectors}) == 1:
                return Embeddings(vectors, usage)
        excerpt = orjson.dumps(response)[:200].decode()
        raise ModelOutage(f"the answer of {self._client.host} does not have one vector per text: {excerpt}", usage)
