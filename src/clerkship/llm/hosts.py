"""The hosts of the models of a run: models at one host share its connections and its limit of concurrent requests."""

import threading
from collections.abc import Sequence
from urllib.parse import urlsplit

from clerkship.llm.client import Cancellation, ModelClient, send_to
from clerkship.llm.retry import ConcurrencyLimit, ModelRetryPolicy
from clerkship.providers.connections import ProviderAccount, ProviderHost

DEFAULT_AT_ONCE = 8
"""Concurrent requests to one host, by default."""


class ModelHosts:
    """The hosts of the models of a run. Their connections are closed when the last model is."""

    def __init__(self, at_once: int | None = None) -> None:
        self._at_once = at_once
        self._lock = threading.Lock()
        self._limits: dict[str, ConcurrencyLimit] = {}
        self._hosts: dict[tuple[object, ...], ProviderHost] = {}
        self._models = 0

    def get_limit(self, address: str) -> ConcurrencyLimit:
        """Return the limit of the host of an address."""
        parts = urlsplit(address)
        key = f"{parts.scheme}://{parts.netloc}".lower()
        with self._lock:
            return self._limits.setdefault(key, ConcurrencyLimit(self._at_once or DEFAULT_AT_ONCE))

    def build_client(
        self,
        account: ProviderAccount,
        hint: str,
        *,
        policy: ModelRetryPolicy,
        own: Sequence[ConcurrencyLimit] = (),
        cancellation: Cancellation | None = None,
    ) -> ModelClient:
        """Return a client for an account, within the limit of its host and a model's own.

        `hint` says what to do if the key is rejected.
        """
        limits = (*own, self.get_limit(account.base_url))
        return ModelClient(account, send_to(self._get_host(account)), policy, hint, limits, cancellation)

    def _get_host(self, account: ProviderAccount) -> ProviderHost:
        with self._lock:
            key = (*account[:-1], *sorted(account.query.items()))
            if key not in self._hosts:
                self._hosts[key] = ProviderHost(account)
            return self._hosts[key]

    def add_model(self, address: str, at_once: int | None) -> None:
        """Count a model that uses the hosts. A limit by default is at least the sum of those of its models."""
        if at_once is not None and not self._at_once:
            self.get_limit(address).reserve(at_once)
        with self._lock:
            self._models += 1

    def remove_model(self) -> None:
        """Forget a model that is closed; after the last one, close the connections."""
        with self._lock:
            self._models -= 1
            hosts = [] if self._models else list(self._hosts.values())
        for host in hosts:
            host.close()
