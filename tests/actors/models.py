"""Models as agents, built by tests."""

from typing import Any

from clerkship.actors.model_agent import ModelSolver
from clerkship.llm.model_reference import ModelReference
from clerkship.providers.apis import find_api
from clerkship.providers.connections import ProviderAccount


def model_at(address: str, model: str, key: str = "", provider: str = "openai", **options: Any) -> ModelSolver:
    """Return a model as an agent."""
    account = ProviderAccount(find_api(provider), address, key, f"{provider.upper()}_API_KEY")
    return ModelSolver(ModelReference(model, address, provider), account, **options)
