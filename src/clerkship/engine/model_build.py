"""Build a model from its name, the settings, the keys in the environment, scripts and price lists."""

from pathlib import Path
from typing import Any, cast

from pydantic import RootModel

from clerkship.by_name import load
from clerkship.llm.contract import Model
from clerkship.llm.endpoint_pool import EndpointPool
from clerkship.llm.model_reference import ANTHROPIC, AZURE, OPENAI, ModelReference, parse_model
from clerkship.llm.scripted import SCRIPTED, Script, ScriptedModel, is_scripted
from clerkship.model.model_choice import ModelChoice
from clerkship.model.usage import Prices
from clerkship.model.variables import expand, refuse_unset
from clerkship.settings import Settings, get_template_variables
from clerkship.suite_files.calibration import load_model_file


class PriceList(RootModel[dict[str, Prices]]):
    """Prices by name of model."""


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


def expand_variables(data: Any, model: str) -> Any:
    """Expand `${NAME}` in the description of a model; raise InputError if a variable is not set."""
    return expand(data, get_template_variables(), refuse_unset(f"model `{model}`"))
