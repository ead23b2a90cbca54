"""An OpenAI-compatible endpoint on loopback with answers defined by a test."""

import json
import threading
from collections import Counter
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

import pytest

from clerkship.llm.chat import request_embeddings
from clerkship.llm.client import Cancellation
from clerkship.llm.hosts import ModelHosts
from clerkship.llm.model_reference import ModelReference
from clerkship.llm.remote import RemoteModel, RequestOptions
from clerkship.llm.retry import MAX_RATE_LIMITED, ConcurrencyLimit, ModelRetryPolicy
from clerkship.model.model_choice import DEFAULT_MODEL_TIMEOUT
from clerkship.providers.connections import ProviderAccount
from tests.actors.servers import Answered, Asked, Served

KEY = "sk-judges-have-keys-too"


def said(text: str | None, finish: str = "stop", usage: dict[str, Any] | None = None, **more: Any) -> Answered:
    """Return a completion with a text and its usage."""
    message = {"role": "assistant", "content": text, **more}
    used = {"prompt_tokens": 7, "completion_tokens": 3} if usage is None else usage
    choices = [{"index": 0, "message": message, "finish_reason": finish}]
    return 200, {}, json.dumps({"choices": choices, "usage": used}).encode()


def cut(answered: Answered, at: int, *, hangs: bool = False) -> Answered:
    """Return the answer with a truncated body: the connection closes, or nothing more arrives."""
    status, headers, data = answered
    told = {**headers, "Content-Length": str(len(data))} | ({} if hangs else {"Connection": "close"})
    return status, told, data[:at]


def refused(status: int, message: str, **headers: str) -> Answered:
    """Return an error in OpenAI's format."""
    return status, headers, json.dumps({"error": {"message": message}}).encode()


def in_turn(answers: Iterable[Answered | None]) -> Callable[[Asked], Answered | None]:
    """Return a server function that gives one answer after the other."""
    left = iter(list(answers))
    return lambda asked: next(left)


def model(
    served: Served,
    hosts: ModelHosts | None = None,
    endpoint: int | None = None,
    name: str = "some-model",
    key: str = KEY,
    at_once: int | None = None,
    **options: Any,
) -> RemoteModel:
    """Return a model at the test server, with a test key and short retry delays."""
    hosts = hosts or ModelHosts(endpoint)
    account = ProviderAccount("openai", f"{served.url}/v1", key, "OPENAI_API_KEY")
    hosts.add_model(account.base_url, at_once)
    own = () if at_once is None else (ConcurrencyLimit(at_once),)
    backoff, timeout = options.pop("backoff", 0.001), options.pop("answer_timeout", DEFAULT_MODEL_TIMEOUT)
    policy = ModelRetryPolicy(max_rate_limited=MAX_RATE_LIMITED, backoff=backoff, timeout=timeout)
    client = hosts.build_client(account, "set a key", policy=policy, own=own, cancellation=Cancellation())
    embed = partial(request_embeddings, ModelReference("some-vectors", account.base_url), client, options.get("prices"))
    reference = ModelReference(name, account.base_url)
    return RemoteModel(reference, client, embed, hosts.remove_model, RequestOptions(**options))


def shorten_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a request that failed be sent again at once, where a command builds the model itself."""
    monkeypatch.setattr(ModelRetryPolicy, "wait", lambda policy, failed, busy: 0.001)


class Busyness:
    """Counts the concurrent requests at the server, in total and by model."""

    def __init__(self, together: int) -> None:
        self._gate = threading.Condition()
        self._together, self._under_way = together, Counter[str]()
        self.most = Counter[str]()

    def __call__(self, asked: Asked) -> Answered:
        """Answer when enough requests are waiting at the same time."""
        model = json.loads(asked.body)["model"]
        with self._gate:
            for name in ("", model):
                self._under_way[name] += 1
                self.most[name] = max(self.most[name], self._under_way[name])
            self._gate.notify_all()
            early = self.most[""] < self._together
            self._gate.wait_for(lambda: self.most[""] >= self._together, timeout=10)
            self._gate.wait_for(lambda: False, timeout=0 if early else 0.02)
            for name in ("", model):
                self._under_way[name] -= 1
        return said('{"reasoning": "so it is", "passed": true, "share": 0.5}')


def bodies(served: Served) -> list[dict[str, Any]]:
    """Return the bodies of all requests."""
    return [json.loads(asked.body) for asked in served.asked]
