"""A trial whose agent may call models, without a run: a playground, its HTTP server, and the proxy."""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any, Self

import httpx

from clerkship.engine.model_build import find_agent_prices
from clerkship.events.event import Event
from clerkship.events.lifecycle import ModelCalled
from clerkship.model.environment import Environment
from clerkship.model.usage import NO_LIMITS, ModelLimits
from clerkship.model_proxy.proxy import ModelProxy
from clerkship.playground.gateway import Gateway
from clerkship.playground.http import open_http
from clerkship.playground.playground import Playground
from clerkship.providers.connections import ProviderAccount
from clerkship.sandbox.model_access import list_variables
from tests.model_proxy.provider import KEY, ModelProvider


class ModelDesk:
    """A running trial, and clients of its model addresses."""

    def __init__(self, provider: ModelProvider, limits: ModelLimits = NO_LIMITS) -> None:
        self.provider = provider
        self.gateway = Gateway()
        accounts = [
            ProviderAccount("openai", f"{provider.url}/v1", KEY, "OPENAI_API_KEY"),
            ProviderAccount("anthropic", provider.url, KEY, "ANTHROPIC_API_KEY"),
            ProviderAccount("gemini", provider.url, KEY, "GEMINI_API_KEY"),
        ]
        self.proxy = self.gateway.models = ModelProxy(accounts, partial(find_agent_prices, {}))
        self.proxy.limit(limits)
        self.listener = open_http(self.gateway)
        self.playground = self.open_playground()
        self.models = self.proxy.open_trial(self.playground, self.listener.url)
        self.openai, self.anthropic, self.gemini = (self.models[name] for name in ("openai", "anthropic", "gemini"))

    def open_playground(self) -> Playground:
        return Playground(Environment(name="desk", simulators={}), {}, "desk")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.proxy.end_trial(self.playground)
        self.listener.close()
        self.proxy.close()

    def post(self, path: str, data: Any, token: str | None = None, **headers: str) -> httpx.Response:
        """Post to a path below the address of OpenAI's API, or to another address."""
        address = path if path.startswith("http") else f"{self.openai.base_url}{path}"
        token = self.openai.api_key if token is None else token
        given = {"authorization": f"Bearer {token}", **headers} if token else headers
        content = data if isinstance(data, bytes) else None
        with httpx.Client(trust_env=False, timeout=20) as client:
            return client.post(address, json=None if content else data, content=content, headers=given)

    @contextmanager
    def stream(self, path: str, data: Any) -> Iterator[httpx.Response]:
        """Post, and read the response as it comes."""
        headers = {"authorization": f"Bearer {self.openai.api_key}"}
        address = f"{self.openai.base_url}{path}"
        with (
            httpx.Client(trust_env=False, timeout=20) as client,
            client.stream("POST", address, json=data, headers=headers) as response,
        ):
            yield response

    @property
    def variables(self) -> dict[str, str]:
        """The environment variables of a program."""
        return list_variables(self.models)

    @property
    def events(self) -> list[Event]:
        return self.playground.log.events

    @property
    def calls(self) -> list[ModelCalled]:
        """The logged model calls."""
        return [event.payload for event in self.events if isinstance(event.payload, ModelCalled)]

    @property
    def usage(self) -> list[dict[str, Any]]:
        """Tokens and cost of each call."""
        return self.playground.sidecar.list_model_calls()


CHAT = {"model": "gpt-4o", "messages": [{"role": "user", "content": "What is six times seven?"}]}
