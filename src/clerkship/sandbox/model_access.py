"""Where an agent sends its model calls, so that they are logged."""

from collections.abc import Callable, Iterator, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple, Protocol

if TYPE_CHECKING:  # an agent in its own process imports this module
    from clerkship.providers.connections import RequestStop
    from clerkship.sandbox.request import Reply


class ModelAddress(NamedTuple):
    """The address of one provider, and the token that stands for its key."""

    base_url: str
    """As the provider's own client expects it."""
    api_key: str


VARIABLES: Mapping[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "openai": (("OPENAI_BASE_URL", "OPENAI_API_BASE"), ("OPENAI_API_KEY",)),
    "anthropic": (("ANTHROPIC_BASE_URL",), ("ANTHROPIC_API_KEY",)),
    "gemini": (("GOOGLE_GEMINI_BASE_URL",), ("GEMINI_API_KEY", "GOOGLE_API_KEY")),
}
"""The environment variables from which clients read the base URL and the key, by provider."""


class CallModel(Protocol):
    """Makes a model call through the proxy."""

    def __call__(self, provider: str, path: str, body: bytes, stop: "RequestStop") -> "Reply":
        """Return the reply to a request that is posted to a path of a provider."""


class ModelAccess(Mapping[str, ModelAddress]):
    """The addresses by provider. Reading one starts the HTTP server if it is not running."""

    def __init__(self, build_addresses: Callable[[], Mapping[str, ModelAddress]], call: CallModel) -> None:
        self._build_addresses = build_addresses
        self.call = call
        """Makes a model call without HTTP."""

    @cached_property
    def _addresses(self) -> Mapping[str, ModelAddress]:
        return self._build_addresses()

    def __getitem__(self, provider: str) -> ModelAddress:
        if provider not in self._addresses:
            known = ", ".join(self._addresses)
            raise KeyError(f"no address for {provider}: the run has a key of {known} only")
        return self._addresses[provider]

    def __iter__(self) -> Iterator[str]:
        return iter(self._addresses)

    def __len__(self) -> int:
        return len(self._addresses)


def list_variables(models: Mapping[str, ModelAddress]) -> dict[str, str]:
    """Return the environment variables from which a program reads these addresses."""
    variables: dict[str, str] = {}
    for provider, address in models.items():
        addresses, keys = VARIABLES[provider]
        variables |= dict.fromkeys(addresses, address.base_url) | dict.fromkeys(keys, address.api_key)
    return variables
