"""References to models, `provider:model[@address]`, parsed into provider, name and address."""

import re
from collections.abc import Mapping
from typing import Final, NamedTuple
from urllib.parse import urlsplit

from clerkship.kit.http_client import parse_address
from clerkship.model.errors import InputError
from clerkship.model.names import did_you_mean

_FAMILIES: Mapping[str, "re.Pattern[str]"] = {
    "openai": re.compile(r"(chat)?gpt|o[1-9]\b|codex"),
    "anthropic": re.compile(r"claude"),
    "gemini": re.compile(r"gemini"),
    "ollama": re.compile(r"(code)?llama|qwen|qwq|mi[sx]tral|gemma|phi-?\d|deepseek|smollm|granite|falcon|olmo"),
}
"""How the names of a provider's models begin. Ollama stands for open models."""
_HOSTED_ELSEWHERE = re.compile(r"grok|command-|nova-|sonar|kimi|glm-")
"""Models of companies whose servers offer OpenAI's chat API at an address of their own."""
_MODEL_NAME = re.compile(r"[A-Za-z0-9][\w.:-]*")
OPENAI: Final = "openai"
AZURE: Final = "azure"
ANTHROPIC: Final = "anthropic"
GEMINI: Final = "gemini"
HOSTS_WITH_KEYS = frozenset({"api.openai.com", "api.anthropic.com", "generativelanguage.googleapis.com"})
"""Hosts that require a key."""
DEFAULT_ADDRESSES: Mapping[str, str] = {
    OPENAI: "https://api.openai.com/v1",
    AZURE: "",
    ANTHROPIC: "https://api.anthropic.com",
    GEMINI: "https://generativelanguage.googleapis.com",
    "ollama": "http://localhost:11434/v1",
    "lm_studio": "http://localhost:1234/v1",
    "vllm": "http://localhost:8000/v1",
}
"""The providers and their default addresses; Azure has none, because each user has their own address."""
_PROVIDER_ALIASES = {"self-hosted": "vllm", "self_hosted": "vllm", "hosted_vllm": "vllm", "ollama_chat": "ollama"}
_LOCAL_PROVIDERS = frozenset({"ollama", "lm_studio", "vllm"})
"""Providers whose address is often given without its path `/v1`."""
_PROVIDER = re.compile(r"[a-z][a-z0-9_-]+")
_HOST = re.compile(r"(localhost|[\w-]+(\.[\w-]+)*:\d+|\d+(\.\d+){3})(/.*)?")
_REFERENCE = re.compile(r"(?P<model>\S+?)(?:@(?P<address>https?://\S+))?")


def find_provider(model: str) -> str | None:
    """Return the provider whose models have such names; None if it is not known."""
    if not _MODEL_NAME.fullmatch(model):
        return None
    return next((provider for provider, names in _FAMILIES.items() if names.match(model.lower())), None)


def is_hosted_elsewhere(model: str) -> bool:
    """Return whether a model is offered by a server that needs an address, over OpenAI's chat API."""
    return bool(_MODEL_NAME.fullmatch(model) and _HOSTED_ELSEWHERE.match(model.lower()))


class ModelReference(NamedTuple):
    """A model, its address, and its provider."""

    model: str
    address: str
    provider: str = OPENAI

    @property
    def name(self) -> str:
        """The name that is stored and shown; it parses back to the same reference."""
        default = self.provider in (ANTHROPIC, GEMINI) and self.address == DEFAULT_ADDRESSES[self.provider]
        return f"{self.provider}:{self.model}" if default else f"{self.provider}:{self.model}@{self.address}"

    @property
    def requires_key(self) -> bool:
        """Whether the host answers only with a key."""
        return self.provider == AZURE or urlsplit(self.address).hostname in HOSTS_WITH_KEYS


def canonical_provider(provider: str) -> str:
    """Return the canonical name of a provider, given any of its names."""
    return _PROVIDER_ALIASES.get(provider.lower(), provider.lower())


def parse_model(text: str, default: Mapping[str, str] = DEFAULT_ADDRESSES, who: str = "model") -> ModelReference:
    """Parse `provider:model` for a known provider, or `anything:model@https://host/v1`; raise InputError."""
    called, _, rest = text.partition(":")
    provider = canonical_provider(called)
    match = _REFERENCE.fullmatch(rest)
    if provider not in DEFAULT_ADDRESSES and (
        match is None or not match["address"] or not _PROVIDER.fullmatch(provider)
    ):
        raise InputError.of(f"unknown {who} `{text}`", hint=_describe_forms(text))
    return parse_reference(rest, {**DEFAULT_ADDRESSES, **default}.get(provider, ""), who, provider)


def suggest_model(text: str) -> str | None:
    """Return the reference that a name without `provider:` stands for, such as `openai:gpt-5` for `gpt-5`.

    The form of other tools, `openai/gpt-5`, is read too. None if the text does not look like the name of a model.
    """
    named, slash, model = text.partition("/")
    if slash and model and canonical_provider(named) in DEFAULT_ADDRESSES:
        return f"{canonical_provider(named)}:{model}"
    if is_hosted_elsewhere(text):
        return f"{OPENAI}:{text}@https://host/v1"
    provider = find_provider(text)
    return f"{provider}:{text}" if provider is not None else None


def _describe_forms(text: str) -> str:
    """Return what to write instead of a text that is no reference."""
    suggestion = suggest_model(text)
    if suggestion is not None:
        return f"write `{suggestion}`"
    called, mark, model = text.partition(":")
    if called.lower() in ("http", "https"):
        return f"write the model too: `{OPENAI}:MODEL@{text}`"
    if called == "scripted":
        return "write `scripted:FILE`, with the path of a file of answers"
    hint = did_you_mean(called, (*DEFAULT_ADDRESSES, "scripted", "none"))
    if hint.startswith("did you mean"):
        return hint
    if mark and "@" not in model and _PROVIDER.fullmatch(called.lower()) and _REFERENCE.fullmatch(model):
        return f"write `{text}@https://host/v1`, or use {', '.join(DEFAULT_ADDRESSES)}, scripted or none"
    return f"write provider:model, such as `openai:gpt-5`; providers: {', '.join(DEFAULT_ADDRESSES)}"


def parse_reference(rest: str, default: str, who: str = "agent", provider: str = OPENAI) -> ModelReference:
    """Parse `model` or `model@https://host/v1`, with a default address; raise InputError."""
    match = _REFERENCE.fullmatch(rest)
    if match is None:
        raise InputError.of(
            f"{who} `{provider}:{rest}`: no model", hint=f"write {provider}:model or {provider}:model@https://host/v1"
        )
    named, _, place = match["model"].rpartition("@")
    if not match["address"] and named and _HOST.fullmatch(place):
        raise InputError.of(
            f"{who} `{provider}:{rest}`: the address has no http:// or https://",
            hint=f"write {provider}:{named}@http://{place}",
        )
    address = match["address"] or default
    if not address:
        raise InputError.of(f"{who} `{provider}:{rest}`: no address", hint=f"write {provider}:{rest}@https://host")
    if "?" in address:
        raise InputError.of(
            f"{who} `{provider}:{match['model']}`: the address has a query", hint="end it before the `?`"
        )
    parse_address(address, f"{provider}:{rest}", who)
    if provider in _LOCAL_PROVIDERS and urlsplit(address).path in ("", "/"):
        address = f"{address.rstrip('/')}/v1"
    return ModelReference(match["model"], address, provider)


def check_key(reference: ModelReference, key: str, variable: str, who: str = "agent") -> None:
    """Raise InputError if a host requires a key and there is none."""
    if reference.requires_key and not key:
        host = urlsplit(reference.address).hostname
        raise InputError.of(
            f"{who} `{reference.provider}:{reference.model}`: {host} requires a key", hint=f"set {variable}"
        )
