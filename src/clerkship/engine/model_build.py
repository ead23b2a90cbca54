"""Build a model from its name, the settings, the keys in the environment, scripts and price lists."""

import re
from collections.abc import Callable, Collection, Mapping
from datetime import date
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from pydantic import RootModel

from clerkship.by_name import load
from clerkship.llm.contract import Model
from clerkship.llm.endpoint_pool import EndpointPool
from clerkship.llm.model_reference import ANTHROPIC, AZURE, DEFAULT_ADDRESSES, OPENAI, ModelReference, parse_model
from clerkship.llm.scripted import SCRIPTED, Script, ScriptedModel, is_scripted
from clerkship.model.frozen import Frozen
from clerkship.model.model_choice import ModelChoice
from clerkship.model.usage import Prices
from clerkship.model.variables import expand, refuse_unset
from clerkship.settings import Settings, get_template_variables
from clerkship.suite_files.calibration import load_model_file

if TYPE_CHECKING:  # few runs have agents that call models through the proxy
    from clerkship.model_proxy.proxy import ModelProxy

GEMINI = "gemini"
_VERSION_DATE = re.compile(r"-(\d{4}-\d\d-\d\d|\d{8}|\d{3}|latest)$")
"""The end of a model's name that says which version it is: `-2026-01-31`, `-20260131`, `-001` or `-latest`."""


class PriceList(RootModel[dict[str, Prices]]):
    """Prices by name of model."""


class PublishedPrices(Frozen):
    """The prices of common models, as they were published at a date."""

    date: date
    models: dict[str, Prices]


def model_name(choice: ModelChoice, settings: Settings) -> str:
    """Return the full name of a model without building it, so that no key is needed."""
    if choice.is_none or is_scripted(choice.who):
        return choice.who
    return resolve_reference(choice, settings).name


def apply_settings(choice: ModelChoice, settings: Settings) -> ModelChoice:
    """Return a model choice in which everything is set that would otherwise come from the settings.

    A stored choice then means the same model if the settings change.
    """
    if choice.is_none:
        return choice
    embeddings = choice.embeddings or settings.embeddings
    if is_scripted(choice.who):
        return choice.model_copy(update={"embeddings": embeddings})
    reference = resolve_reference(choice, settings)
    version = choice.api_version or (settings.azure_api_version if reference.provider == AZURE else "")
    updates = {
        "who": reference.name,
        "embeddings": embeddings,
        "api_version": version,
        "prices": choice.prices or find_prices(reference, settings),
    }
    return choice.model_copy(update=updates)


def build_model(choice: ModelChoice, settings: Settings, pool: EndpointPool | None = None) -> Model | None:
    """Build a model; return None if the choice is `none`. Models that share a pool share its limits."""
    if choice.is_none:
        return None
    if is_scripted(choice.who):
        path = Path(choice.who.removeprefix(SCRIPTED))
        return ScriptedModel(choice.who, load_model_file(path, Script))
    build = load("clerkship.engine.remote_model:build_remote_model")  # the clients of providers take time to import
    pool = pool or EndpointPool(settings.endpoint_calls or None)
    return cast(Model, build(apply_settings(choice, settings), settings, pool))


def resolve_reference(choice: ModelChoice, settings: Settings) -> ModelReference:
    """Return the provider, name and address of a model; the settings have the addresses that the choice leaves out."""
    addresses = {
        OPENAI: settings.openai_base_url,
        ANTHROPIC: settings.anthropic_base_url,
        AZURE: settings.azure_api_base,
    }
    return parse_model(choice.who, addresses)


def find_prices(reference: ModelReference, settings: Settings) -> Prices | None:
    """Return the prices of a model: by its full name, without the address, or by the model alone."""
    if not settings.prices:
        return None
    prices = load_model_file(Path(settings.prices), PriceList).root
    names = (reference.name, f"{reference.provider}:{reference.model}", reference.model)
    return next((prices[name] for name in names if name in prices), None)


def open_model_proxy(settings: Settings, recorded: Collection[str] | None = None) -> "ModelProxy | None":
    """Return the proxy for agents' model calls; None if it is off, or if no provider has a key or another address.

    A replay has the providers of the recording, and no keys.
    """
    addresses = {
        OPENAI: (settings.openai_base_url, DEFAULT_ADDRESSES[OPENAI], settings.openai_api_key),
        ANTHROPIC: (settings.anthropic_base_url, DEFAULT_ADDRESSES[ANTHROPIC], settings.anthropic_api_key),
        GEMINI: (settings.gemini_base_url, Settings.gemini_base_url, settings.gemini_api_key),
    }
    used = {name: (url, key) for name, (url, default, key) in addresses.items() if key or url != default}
    if recorded is not None:
        used = {name: (default, "") for name, (_, default, _) in addresses.items() if name in recorded}
    if settings.model_proxy == "off" or not used:
        return None
    account = load("clerkship.providers.connections:ProviderAccount")
    build = cast("Callable[..., ModelProxy]", load("clerkship.model_proxy.proxy:ModelProxy"))
    accounts = [account(name, url, key, f"{name.upper()}_API_KEY") for name, (url, key) in used.items()]
    own = load_model_file(Path(settings.prices), PriceList).root if settings.prices else {}
    return build(accounts, partial(find_agent_prices, own))


def find_agent_prices(own: Mapping[str, Prices], provider: str, model: str) -> Prices | None:
    """Return the prices of a model that an agent called: the user's own, or the published ones."""
    names = dict.fromkeys((model, _VERSION_DATE.sub("", model)))
    published = _load_published_prices()
    return next(
        (
            table[key]
            for table in (own, published)
            for name in names
            for key in (f"{provider}:{name}", name)
            if key in table
        ),
        None,
    )


@cache
def _load_published_prices() -> Mapping[str, Prices]:
    return load_model_file(Path(__file__).with_name("prices.yml"), PublishedPrices).models


def expand_variables(data: Any, model: str) -> Any:
    """Expand `${NAME}` in the description of a model; raise InputError if a variable is not set."""
    return expand(data, get_template_variables(), refuse_unset(f"model `{model}`"))
