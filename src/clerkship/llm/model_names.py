"""The usual names of models, by provider."""

import re
from collections.abc import Mapping

_FAMILIES: Mapping[str, "re.Pattern[str]"] = {
    "openai": re.compile(r"(chat)?gpt|o[1-9]\b|codex"),
    "anthropic": re.compile(r"claude"),
    "ollama": re.compile(r"(code)?llama|qwen|qwq|mi[sx]tral|gemma|phi-?\d|deepseek|smollm|granite|falcon|olmo"),
}
"""How the names of a provider's models begin. Ollama stands for open models."""
_HOSTED_ELSEWHERE = re.compile(r"gemini|grok|command-|nova-|sonar|kimi|glm-")
"""Models of companies whose servers offer OpenAI's chat API at an address of their own."""
_MODEL_NAME = re.compile(r"[A-Za-z0-9][\w.:-]*")


def find_provider(model: str) -> str | None:
    """Return the provider whose models have such names; None if it is not known."""
    if not _MODEL_NAME.fullmatch(model):
        return None
    return next((provider for provider, names in _FAMILIES.items() if names.match(model.lower())), None)


def is_hosted_elsewhere(model: str) -> bool:
    """Return whether a model is offered by a server that needs an address, over OpenAI's chat API."""
    return bool(_MODEL_NAME.fullmatch(model) and _HOSTED_ELSEWHERE.match(model.lower()))
