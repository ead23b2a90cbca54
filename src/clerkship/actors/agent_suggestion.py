"""What to write after `--agent` for a text that names no kind of agent: a file, a model, an address."""

import re

from clerkship.actors.agent_file import is_folder, suggest_file, suggest_no_folder
from clerkship.llm.model_reference import (
    ANTHROPIC,
    AZURE,
    DEFAULT_ADDRESSES,
    GEMINI,
    OPENAI,
    canonical_provider,
    suggest_model,
)

_ADDRESS = re.compile(r"[\w-]+(\.[\w-]+)*:\d{1,5}(/\S*)?")


def suggest_agent(reference: str) -> str:
    """Return what to write instead of a text that names no kind of agent; empty if that is not known."""
    if not reference.isprintable():
        return ""
    if _ADDRESS.fullmatch(reference):
        return f"write `http://{reference}`"
    known = suggest_file(reference) or _suggest_model_agent(reference)
    if not known and is_folder(reference):
        return suggest_no_folder()
    return known or _suggest_command(reference)


def _suggest_model_agent(reference: str) -> str:
    """Return the agent for the name of a model, or for a provider that is known for judges and people only."""
    provider, _, model = (suggest_model(reference) or reference).partition(":")
    provider = canonical_provider(provider)
    if not model or provider not in DEFAULT_ADDRESSES:
        return ""
    if provider in (OPENAI, ANTHROPIC, GEMINI):
        return f"write `{provider}:{model}`"
    name, _, address = model.partition("@")
    if provider == AZURE:
        return f"write `openai:{name}@https://host/v1`, with the address of a server that offers OpenAI's chat API"
    return f"write `openai:{name}@{address or DEFAULT_ADDRESSES[provider]}`"


def _suggest_command(reference: str) -> str:
    """Return the command for a text that looks like a command line."""
    looks_like_command = any(character in reference for character in " /") and ":" not in reference
    return f"did you mean `command:{reference}`?" if looks_like_command else ""
