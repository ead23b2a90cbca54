"""Build a model of a provider: its address, its key, its limits and its embeddings."""

from clerkship.engine.model_build import expand_variables, find_prices, resolve_reference
from clerkship.llm.anthropic import AnthropicApi
from clerkship.llm.endpoint import ApiCredentials
from clerkship.llm.endpoint_pool import EndpointPool
from clerkship.llm.model_reference import ANTHROPIC, AZURE, OPENAI, ModelReference, check_key, parse_reference
from clerkship.llm.openai import OpenAiApi, OpenAiEmbedder
from clerkship.llm.remote import Embedder, RemoteModel, RequestOptions
from clerkship.llm.token_limit import LIMIT_PARAMETERS
from clerkship.model.errors import InputError
from clerkship.model.model_choice import ModelChoice
from clerkship.settings import Settings, get_template_variables


def build_remote_model(choice: ModelChoice, settings: Settings, pool: EndpointPool) -> RemoteModel:
    """Build a model whose choice is complete; models that share a pool share its limits."""
    reference = resolve_reference(choice, settings)
    credentials = _read_credentials(reference, choice, settings)
    options = RequestOptions(
        parameters=expand_variables(choice.parameters, choice.who),
        answer_timeout=choice.timeout or settings.model_timeout,
        max_tokens=_find_max_tokens(choice, settings),
        at_once=choice.at_once,
        prices=choice.prices,
        api_version=choice.api_version,
    )
    embedder = _build_embedder(reference, credentials, choice, settings, pool)
    api = AnthropicApi if reference.provider == ANTHROPIC else OpenAiApi
    return RemoteModel(reference, api(reference, credentials, options), embedder, pool, choice.at_once)


def _find_max_tokens(choice: ModelChoice, settings: Settings) -> int | None:
    """Return the limit of one answer; None if the parameters of the model have one, or for the default."""
    if choice.max_tokens is None and any(name in choice.parameters for name in LIMIT_PARAMETERS):
        return None
    return choice.max_tokens or settings.max_tokens or None


def _read_credentials(reference: ModelReference, choice: ModelChoice, settings: Settings) -> ApiCredentials:
    """Return the key of a model, from the variable that its choice names or from the default one of its provider.

    A key is never sent to another provider.
    """
    known = {
        OPENAI: (settings.openai_api_key, "OPENAI_API_KEY"),
        ANTHROPIC: (settings.anthropic_api_key, "ANTHROPIC_API_KEY"),
        AZURE: (settings.azure_api_key, "AZURE_API_KEY"),
    }
    default_variable = f"{reference.provider.upper().replace('-', '_')}_API_KEY"
    key, variable = known.get(
        reference.provider, (get_template_variables().get(default_variable, "").strip(), default_variable)
    )
    hint = f"set CLERKSHIP_{variable} or {variable}" if reference.provider in known else f"set {variable}"
    if choice.key_from:
        key, variable, hint = (
            get_template_variables().get(choice.key_from, "").strip(),
            choice.key_from,
            f"set {choice.key_from}",
        )
        if not key:
            raise InputError.of(f"model `{choice.who}`: the environment variable {variable} is not set", hint="set it")
        if not (key.isascii() and key.isprintable()):
            raise InputError.of(
                f"{variable} has a character that cannot be part of a key", hint="was it copied correctly?"
            )
    check_key(reference, key, variable, "model")
    if reference.provider == AZURE:
        return ApiCredentials(key, "api-key", f"api-version={choice.api_version}" if choice.api_version else "", hint)
    return ApiCredentials(key, hint=hint)


def _build_embedder(
    reference: ModelReference, credentials: ApiCredentials, choice: ModelChoice, settings: Settings, pool: EndpointPool
) -> Embedder:
    """Build the embedding model. It uses the address and key of the model itself, unless another address is given.

    Anthropic has no embeddings, so OpenAI's are used for its models.
    """
    default_address = settings.openai_base_url if reference.provider == ANTHROPIC else reference.address
    embeddings = parse_reference(choice.embeddings, default_address, "embeddings")
    if embeddings.address == reference.address:
        embeddings = embeddings._replace(provider=reference.provider)
    else:
        credentials = ApiCredentials(settings.openai_api_key)
    options = RequestOptions(
        answer_timeout=choice.timeout or settings.model_timeout,
        prices=find_prices(embeddings, settings),
        api_version=choice.api_version,
    )
    return OpenAiEmbedder(embeddings, credentials, options, pool.host(embeddings.address))
