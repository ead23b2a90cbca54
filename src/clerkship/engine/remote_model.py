"""Build a model of a provider: its address, its key, its limits and its embeddings."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple
from urllib.parse import quote, urlsplit

from clerkship.engine.model_build import expand_variables, find_prices, resolve_reference
from clerkship.llm.chat import request_embeddings
from clerkship.llm.client import Cancellation, ModelClient
from clerkship.llm.contract import Embeddings
from clerkship.llm.hosts import ModelHosts
from clerkship.llm.model_reference import ANTHROPIC, AZURE, GEMINI, OPENAI, ModelReference, check_key, parse_reference
from clerkship.llm.remote import RemoteModel, RequestOptions
from clerkship.llm.retry import MAX_RATE_LIMITED, ConcurrencyLimit, ModelRetryPolicy
from clerkship.model.errors import InputError
from clerkship.model.model_choice import ModelChoice
from clerkship.providers.apis import APIS, find_api
from clerkship.providers.connections import ProviderAccount
from clerkship.settings import Settings, get_template_variables


class _Key(NamedTuple):
    """The key of a model, its variable, and what to do if it is rejected."""

    key: str
    variable: str
    hint: str


def build_remote_model(choice: ModelChoice, settings: Settings, hosts: ModelHosts) -> RemoteModel:
    """Build a model whose choice is complete; models that share hosts share their limits."""
    reference = resolve_reference(choice, settings)
    key = _read_key(reference, choice, settings)
    own = () if choice.at_once is None else (ConcurrencyLimit(choice.at_once),)
    hosts.add_model(reference.address, choice.at_once)
    policy = ModelRetryPolicy(max_rate_limited=MAX_RATE_LIMITED, timeout=choice.timeout or settings.model_timeout)
    build_client = partial(hosts.build_client, policy=policy, own=own, cancellation=Cancellation(reference.name))
    client = build_client(build_account(reference, key, choice.api_version), key.hint)
    embed = _build_embedder(reference, key, choice, settings, build_client)
    max_tokens = _find_max_tokens(reference, choice, settings)
    options = RequestOptions(expand_variables(choice.parameters, choice.who), max_tokens, choice.prices)
    return RemoteModel(reference, client, embed, hosts.remove_model, options)


def build_account(reference: ModelReference, key: "_Key", api_version: str) -> ProviderAccount:
    """Return where a model is reached, with which API and key."""
    name = find_api(reference.provider)
    if reference.provider == AZURE:
        query = {"api-version": api_version} if api_version else {}
        return ProviderAccount(name, build_base_url(reference, api_version), key.key, key.variable, "api-key", query)
    return ProviderAccount(name, reference.address, key.key, key.variable)


def build_base_url(reference: ModelReference, api_version: str) -> str:
    """Return the base URL of a model of Azure.

    It has two forms: the newer one is the same as OpenAI's, the older one contains the name of the model.
    """
    parts = urlsplit(reference.address)
    if parts.path.rstrip("/").endswith("/v1"):
        return reference.address
    root = f"{parts.scheme}://{parts.netloc}{parts.path.partition('/openai')[0].rstrip('/')}/openai"
    return f"{root}/deployments/{quote(reference.model, safe='')}" if api_version else f"{root}/v1"


def _find_max_tokens(reference: ModelReference, choice: ModelChoice, settings: Settings) -> int | None:
    """Return the limit of one answer; None if the parameters of the model have one, or for the default."""
    names = APIS[find_api(reference.provider)].limits
    if choice.max_tokens is None and any(name in choice.parameters for name in names):
        return None
    return choice.max_tokens or settings.max_tokens or None


def _read_key(reference: ModelReference, choice: ModelChoice, settings: Settings) -> _Key:
    """Return the key of a model, from the variable that its choice names or from the default one of its provider.

    A key is never sent to another provider.
    """
    known = {
        OPENAI: (settings.openai_api_key, "OPENAI_API_KEY"),
        ANTHROPIC: (settings.anthropic_api_key, "ANTHROPIC_API_KEY"),
        AZURE: (settings.azure_api_key, "AZURE_API_KEY"),
        GEMINI: (settings.gemini_api_key, "GEMINI_API_KEY"),
    }
    default_variable = f"{reference.provider.upper().replace('-', '_')}_API_KEY"
    key, variable = known.get(
        reference.provider, (get_template_variables().get(default_variable, "").strip(), default_variable)
    )
    hint = f"set CLERKSHIP_{variable} or {variable}" if reference.provider in known else f"set {variable}"
    if choice.key_from:
        key, variable = get_template_variables().get(choice.key_from, "").strip(), choice.key_from
        hint = f"set {choice.key_from}"
        if not key:
            raise InputError.of(f"model `{choice.who}`: the environment variable {variable} is not set", hint="set it")
        if not (key.isascii() and key.isprintable()):
            raise InputError.of(
                f"{variable} has a character that cannot be part of a key", hint="was it copied correctly?"
            )
    check_key(reference, key, variable, "model")
    return _Key(key, variable, hint)


def _build_embedder(
    reference: ModelReference,
    key: _Key,
    choice: ModelChoice,
    settings: Settings,
    build_client: Callable[[ProviderAccount, str], ModelClient],
) -> Callable[[Sequence[str]], Embeddings]:
    """Build the embedding model. It uses the address and key of the model itself, unless another address is given.

    Providers with an API of their own have no embeddings here, so OpenAI's are used for their models.
    """
    is_openai = find_api(reference.provider) == OPENAI
    default_address = reference.address if is_openai else settings.openai_base_url
    embeddings = parse_reference(choice.embeddings, default_address, "embeddings")
    if embeddings.address == reference.address:
        embeddings = embeddings._replace(provider=reference.provider)
    else:
        key = _Key(settings.openai_api_key, "OPENAI_API_KEY", "set CLERKSHIP_OPENAI_API_KEY or OPENAI_API_KEY")
    client = build_client(build_account(embeddings, key, choice.api_version), key.hint)
    return partial(request_embeddings, embeddings, client, find_prices(embeddings, settings))
