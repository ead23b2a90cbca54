"""Build a model from its name, the settings, the keys in the environment, scripts and price lists."""

from pathlib import Path
from typing import Any

from pydantic import RootModel

from clerkship.llm.anthropic import AnthropicApi
from clerkship.llm.contract import Model
from clerkship.llm.endpoint import ApiCredentials
from clerkship.llm.endpoint_pool import EndpointPool
from clerkship.llm.model_reference import (
    ANTHROPIC,
    AZURE,
    OPENAI,
    ModelReference,
    check_key,
    parse_model,
    parse_reference,
)
from clerkship.llm.openai import OpenAiApi, OpenAiEmbedder
from clerkship.llm.remote import Embedder, RemoteModel, RequestOptions
from clerkship.llm.scripted import SCRIPTED, Script, ScriptedModel, is_scripted
from clerkship.llm.token_limit import LIMIT_PARAMETERS
from clerkship.model.errors import InputError
from clerkship.model.model_choice import ModelChoice
from clerkship.model.usage import Prices
from clerkship.model.variables import UnknownVariable, expand
from clerkship.settings import Settings, get_template_variables
from clerkship.suite_files.calibration import load_model_file


class PriceList(RootModel[dict[str, Prices]]):
    """Prices by name of model."""


def model_name(choice: ModelChoice, settings: Settings) -> str:
    """Return the full name of a model without building it, so that no key is needed."""
    if choice.is_none or is_scripted(choice.who):
        return choice.who
    return _parse_reference(choice, settings).name


def apply_settings(choice: ModelChoice, settings: Settings) -> ModelChoice:
    """Return a model choice in which everything is set that would otherwise come from the settings.

    A stored choice then means the same model if the settings change.
    """
    if choice.is_none:
        return choice
    embeddings = choice.embeddings or settings.embeddings
    if is_scripted(choice.who):
        return choice.model_copy(update={"embeddings": embeddings})
    reference = _parse_reference(choice, settings)
    version = choice.api_version or (settings.azure_api_version if reference.provider == AZURE else "")
    updates = {
        "who": reference.name,
        "embeddings": embeddings,
        "api_version": version,
        "prices": choice.prices or _find_prices(reference, settings),
    }
    return choice.model_copy(update=updates)


def build_model(choice: ModelChoice, settings: Settings, pool: EndpointPool | None = None) -> Model | None:
    """Build a model; return None if the choice is `none`. Models that share a pool share its limits."""
    if choice.is_none:
        return None
    if is_scripted(choice.who):
        path = Path(choice.who.removeprefix(SCRIPTED))
        return ScriptedModel(choice.who, load_model_file(path, Script))
    choice = apply_settings(choice, settings)
    return _build_remote(choice, settings, pool or EndpointPool(settings.endpoint_calls or None))


def _parse_reference(choice: ModelChoice, settings: Settings) -> ModelReference:
    addresses = {
        OPENAI: settings.openai_base_url,
        ANTHROPIC: settings.anthropic_base_url,
        AZURE: settings.azure_api_base,
    }
    return parse_model(choice.who, addresses)


def _build_remote(choice: ModelChoice, settings: Settings, pool: EndpointPool) -> Model:
    reference = _parse_reference(choice, settings)
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
        prices=_find_prices(embeddings, settings),
        api_version=choice.api_version,
    )
    return OpenAiEmbedder(embeddings, credentials, options, pool.host(embeddings.address))


def _find_prices(reference: ModelReference, settings: Settings) -> Prices | None:
    """Return the prices of a model: by its full name, without the address, or by the model alone."""
    if not settings.prices:
        return None
    prices = load_model_file(Path(settings.prices), PriceList).root
    names = (reference.name, f"{reference.provider}:{reference.model}", reference.model)
    return next((prices[name] for name in names if name in prices), None)


def expand_variables(data: Any, model: str) -> Any:
    """Expand `${NAME}` in the description of a model; raise InputError if a variable is not set."""

    def unset(path: list[int | str], unknown: UnknownVariable) -> None:
        raise InputError.of(f"model `{model}`: {unknown}", hint=unknown.hint)

    return expand(data, get_template_variables(), unset)
