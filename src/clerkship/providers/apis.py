"""The APIs of the providers, by name."""

from collections.abc import Mapping

from clerkship.providers.anthropic import AnthropicApi
from clerkship.providers.contract import ProviderApi, ProviderName
from clerkship.providers.gemini import GeminiApi
from clerkship.providers.openai import OpenAiApi

APIS: Mapping[str, ProviderApi] = {api.name: api for api in (OpenAiApi(), AnthropicApi(), GeminiApi())}


def find_api(provider: str) -> ProviderName:
    """Return the name of the API of a provider: most providers have that of OpenAI."""
    return APIS[provider].name if provider in APIS else "openai"
