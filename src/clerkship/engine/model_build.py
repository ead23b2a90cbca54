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
from clerkship.llm.model_reference import (
    ANTHROPIC,
    AZURE,
    DEFAULT_ADDRESSES,
    GEMINI,
    OPENAI,
    ModelReference,
    parse_model,
)
from clerkship.llm.scripted import SCRIPTED, Script, ScriptedModel, is_scripted
from clerkship.model.frozen import Frozen
from clerkship.model.model_choice import ModelChoice
from clerkship.model.usage import Prices
from clerkship.model.variables import expand, refuse_unset
from clerkship.settings import Settings, get_template_variables
from clerkship.suite_files.calibration import load_model_file

if TYPE_CHECKING:  # few runs have models
    from clerkship.llm.hosts import ModelHosts
    from clerkship.model_proxy.proxy import ModelProxy
    from clerkship.providers.connections import ProviderAccount
    from clerkship.providers.contract import ProviderName

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


def build_model(choice: ModelChoice, settings: Settings, hosts: "ModelHosts | None" = None) -> Model | None:
    """Build a model; return None if the choice is `none`. Models that share hosts share their limits."""
    if choice.is_none:
        return None
    if is_scripted(choice.who):
        path = Path(choice.who.removeprefix(SCRIPTED))
        return ScriptedModel(choice.who, load_model_file(path, Script))
    build = load("clerkship.engine.remote_model:build_remote_model")  # the clients of providers take time to import
    return cast(Model, build(apply_settings(choice, settings), settings, hosts or build_hosts(settings)))


def build_hosts(settings: Settings) -> "ModelHosts":
    """Return the hosts that the models of a run share."""
    return cast("ModelHosts", load("clerkship.llm.hosts:ModelHosts")(settings.endpoint_calls or None))


def resolve_reference(choice: ModelChoice, settings: Settings) -> ModelReference:
    """Return the provider, name and address of a model; the settings have the addresses that the choice leaves out."""
    addresses = {
        OPENAI: settings.openai_base_url,
        ANTHROPIC: settings.anthropic_base_url,
        AZURE: settings.azure_api_base,
        GEMINI: settings.gemini_base_url,
    }
    return parse_model(choice.who, addresses)


def find_prices(reference: ModelReference, settings: Settings) -> Prices | None:
    """Return the prices of a model: by its full name, without the address, or by the model alone."""
    if not settings.prices:
        return None
    prices = load_model_file(Path(settings.prices), PriceList).root
    names = (reference.name, f"{reference.provider}:{reference.model}", reference.model)
    return next((prices[name] for name in names if name in prices), None)


def open_model_proxy(
    settings: Settings, recorded: Collection[str] | None = None, own: "ProviderAccount | None" = None
) -> "ModelProxy | None":
    """Return the proxy for agents' model calls; None if it is off, or if no provider has a key or another address.

    A replay has the providers of the recording, and no keys. An agent that is a model has its own account, and no
    other.
    """
    build_account = cast("type[ProviderAccount]", load("clerkship.providers.connections:ProviderAccount"))
    if own is not None:
        accounts = [own if recorded is None else own._replace(key="")]
    else:
        addresses: dict[ProviderName, tuple[str, str]] = {
            OPENAI: (settings.openai_base_url, settings.openai_api_key),
            ANTHROPIC: (settings.anthropic_base_url, settings.anthropic_api_key),
            GEMINI: (settings.gemini_base_url, settings.gemini_api_key),
        }
        used = {name: (url, key) for name, (url, key) in addresses.items() if key or url != DEFAULT_ADDRESSES[name]}
        if recorded is not None:
            used = {name: (DEFAULT_ADDRESSES[name], "") for name in addresses if name in recorded}
        if settings.model_proxy == "off" or not used:
            return None
        accounts = [build_account(name, url, key, f"{name.upper()}_API_KEY") for name, (url, key) in used.items()]
    build = cast("Callable[..., ModelProxy]", load("clerkship.model_proxy.proxy:ModelProxy"))
    prices = load_model_file(Path(settings.prices), PriceList).root if settings.prices else {}
    return build(accounts, partial(find_agent_prices, prices))


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
