"""Settings: one typed table, read from the environment once."""

import os
import re
import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import cast, get_args

from clerkship.model.problem import InputError
from clerkship.model.run import IsolationMode
from clerkship.model.scenario import MAX_TURNS, TURN_TIMEOUT


@dataclass(frozen=True)
class Settings:
    """Every setting there is; each can be given as CLERKSHIP_ and its name."""

    store: Path = field(default=Path(".clerkship/store.db"), metadata={"about": "file that runs are kept in"})
    cache: Path | None = field(
        default=None,
        metadata={"about": "folder for what datasets come to, checked once; by default `clerkship` in the user's own"},
    )
    timeout: float = field(default=300.0, metadata={"about": "wall seconds per task that sets no timeout"})
    turn_timeout: float = field(
        default=TURN_TIMEOUT, metadata={"about": "wall seconds per answer in a conversation that sets no limit"}
    )
    max_turns: int = field(default=MAX_TURNS, metadata={"about": "turns of a conversation that sets no limit"})
    concurrency: int = field(default=4, metadata={"about": "trials at once"})
    seed: int = field(default=0, metadata={"about": "what ids and randomness derive from"})
    isolate: IsolationMode = field(
        default="auto",
        metadata={
            "about": "whether agents that are programs are isolated: `auto` where the machine can, `always` or refuse "
            "to run, `never`"
        },
    )
    agent_process: str = field(
        default="off",
        metadata={"about": "whether Python agents have a process of their own in each trial: `on` or `off`"},
    )
    plugins: str = field(default="on", metadata={"about": "whether plug-ins are loaded: `on` or `off`"})
    seal_key: str = field(
        default="",
        repr=False,
        metadata={
            "about": "key of at least 16 characters that saved trials are sealed with, if any: seals are HMACs then"
        },
    )
    webhook_secret: str = field(
        default="", repr=False, metadata={"about": "what messages to `http:` agents are signed with, if anything"}
    )
    openai_base_url: str = field(
        default="https://api.openai.com/v1",
        metadata={"about": "where `openai:` agents and judges are, or `OPENAI_BASE_URL`", "also": "OPENAI_BASE_URL"},
    )
    openai_api_key: str = field(
        default="",
        repr=False,
        metadata={"about": "key for `openai:` agents and judges, or `OPENAI_API_KEY`", "also": "OPENAI_API_KEY"},
    )
    anthropic_base_url: str = field(
        default="https://api.anthropic.com",
        metadata={"about": "where `anthropic:` models are, or `ANTHROPIC_BASE_URL`", "also": "ANTHROPIC_BASE_URL"},
    )
    anthropic_api_key: str = field(
        default="",
        repr=False,
        metadata={"about": "key for `anthropic:` models, or `ANTHROPIC_API_KEY`", "also": "ANTHROPIC_API_KEY"},
    )
    azure_api_base: str = field(
        default="", metadata={"about": "where `azure:` models are, or `AZURE_API_BASE`", "also": "AZURE_API_BASE"}
    )
    azure_api_key: str = field(
        default="",
        repr=False,
        metadata={"about": "key for `azure:` models, or `AZURE_API_KEY`", "also": "AZURE_API_KEY"},
    )
    azure_api_version: str = field(
        default="",
        metadata={
            "about": "`api-version` of `azure:` models, or `AZURE_API_VERSION`; none for those at /openai/v1",
            "also": "AZURE_API_VERSION",
        },
    )
    judge: str = field(
        default="",
        metadata={
            "about": "who judges what no rule decides: `openai:model`, `anthropic:model`, `azure:deployment`, "
            "`scripted:file`, or `none` to skip it"
        },
    )
    person: str = field(
        default="",
        metadata={"about": "who plays people that are not scripted: `openai:model` and so on, or `scripted:file`"},
    )
    endpoint_calls: int = field(
        default=0,
        metadata={"about": "questions under way at one model's address; 8, or as many as its models were told, if 0"},
    )
    prices: str = field(
        default="",
        metadata={"about": "YAML file of what models take: model, `input` and `output` in dollars per million tokens"},
    )
    embeddings: str = field(
        default="text-embedding-3-large",
        metadata={"about": "model that makes vectors of texts, where a judge needs them: `model` or `model@address`"},
    )
    rasa_token: str = field(
        default="", repr=False, metadata={"about": "what a `rasa:` server was given as `--auth-token`, if anything"}
    )
    rasa_jwt: str = field(
        default="", repr=False, metadata={"about": "a JWT that a `rasa:` server takes, signed by somebody else"}
    )
    rasa_jwt_secret: str = field(
        default="",
        repr=False,
        metadata={"about": "what a `rasa:` server was given as `--jwt-secret`; we sign with it ourselves, by HS256"},
    )


MIN_SEAL_KEY = 16
"""Characters of a seal key: a shorter one can be guessed from the seals."""
_EXPECTED = {
    "store": "a path",
    "cache": "a path",
    "timeout": "seconds, more than 0 and at most 86400",
    "turn_timeout": "seconds, more than 0 and at most 86400",
    "max_turns": "a whole number, at least 1",
    "concurrency": "a whole number, at least 1",
    "seed": "a whole number of 64 bits",
    "isolate": "`auto`, `always` or `never`",
    "plugins": "`on` or `off`",
    "agent_process": "`on` or `off`",
    "openai_base_url": "an address such as https://api.openai.com/v1",
    "anthropic_base_url": "an address such as https://api.anthropic.com",
    "azure_api_base": "an address such as https://name.openai.azure.com",
    "endpoint_calls": "a whole number, at least 1",
}


def limited(settings: Settings, concurrency: int | None) -> Settings:
    """With another limit, where one was asked for."""
    return settings if concurrency is None else replace(settings, concurrency=concurrency)


def isolating(settings: Settings, mode: str | None) -> Settings:
    """Return the settings with another mode of isolation, where one is given; raise InputError if there is none."""
    if mode is None:
        return settings
    if mode not in get_args(IsolationMode):
        raise InputError.of(f"unknown --isolate value {mode!r}", hint=f"expected {_EXPECTED['isolate']}")
    return replace(settings, isolate=cast(IsolationMode, mode))


def with_store(settings: Settings, store: Path | None) -> Settings:
    """Return the settings with another store, where one is given."""
    return settings if store is None else replace(settings, store=store)


def with_agent_process(settings: Settings) -> Settings:
    """Return the settings with Python agents in a process of their own."""
    return replace(settings, agent_process="on")


def program(folder: Path | None = None, environ: Mapping[str, str] = os.environ) -> str:
    """What the user types to get here, in some folder, for messages that say what to type next."""
    if "UV_RUN_RECURSION_DEPTH" not in environ:
        return "clerkship"
    project = Path(environ.get("VIRTUAL_ENV", ".venv")).resolve().parent
    if folder is None or folder.resolve().is_relative_to(project):
        return "uv run clerkship"
    return f"uv run --project {shlex.quote(str(project))} clerkship"


def variables(environ: Mapping[str, str] = os.environ) -> Mapping[str, str]:
    """What `${NAME}` in a file stands for: anything but our own settings, some of which are secrets."""
    return inherited(environ)


_SECRET = re.compile(r"(?i)(?:^|_)(?:api_?key|key|token|secret|password|passwd|credentials?)(?:_|$)")


def secrets(settings: Settings, environ: Mapping[str, str] = os.environ) -> dict[str, str]:
    """What is kept out of whatever we write: the settings that are secrets, and variables whose names say they are."""
    ours = {item.name: getattr(settings, item.name) for item in fields(Settings) if not item.repr}
    return ours | {name: value.strip() for name, value in environ.items() if _SECRET.search(name)}


def inherited(environ: Mapping[str, str] = os.environ) -> dict[str, str]:
    """What a program that we start gets of our environment: all but our own settings, some of which are secrets."""
    return {name: value for name, value in environ.items() if not name.startswith("CLERKSHIP_")}


_POSITIVE = ("timeout", "turn_timeout", "max_turns", "concurrency", "endpoint_calls")
_CHOICES = {"plugins": ("on", "off"), "agent_process": ("on", "off"), "isolate": get_args(IsolationMode)}
_ADDRESSES = ("openai_base_url", "anthropic_base_url", "azure_api_base")
_SORTS: dict[str, type[Path] | type[float] | type[int]] = {
    "store": Path,
    "cache": Path,
    "timeout": float,
    "turn_timeout": float,
    "max_turns": int,
    "concurrency": int,
    "seed": int,
    "endpoint_calls": int,
}


def load_settings(environ: Mapping[str, str] = os.environ) -> Settings:
    """From CLERKSHIP_STORE and so on; a value that does not fit is an input error."""
    given: dict[str, object] = {}
    for setting in fields(Settings):
        text = environ.get(f"CLERKSHIP_{setting.name.upper()}") or environ.get(setting.metadata.get("also", ""))
        if not text:
            continue
        if not setting.repr:
            given[setting.name] = _secret(setting.name, text)
            continue
        sort = _SORTS.get(setting.name, str)
        try:
            given[setting.name] = sort(text)
            if setting.name in _POSITIVE and not 0 < float(text) <= 86_400:
                raise ValueError
            if setting.name in _CHOICES and text not in _CHOICES[setting.name]:
                raise ValueError
            if setting.name in _ADDRESSES and not text.startswith(("http://", "https://")):
                raise ValueError
            if setting.name == "seed" and not -(2**63) <= int(text) < 2**63:
                raise ValueError
        except ValueError:
            raise InputError.of(
                f"CLERKSHIP_{setting.name.upper()} is {text!r}", hint=f"expected {_EXPECTED[setting.name]}"
            ) from None
    given["cache"] = _cache(given.get("cache"), environ)
    return Settings(**given)  # type: ignore[arg-type]


_CACHES = (("XDG_CACHE_HOME", "clerkship"), ("HOME", ".cache/clerkship"), ("LOCALAPPDATA", "clerkship/cache"))


def _cache(given: object, environ: Mapping[str, str]) -> Path | None:
    """The folder that is named, or that of this user for such things; none where there is no home."""
    if isinstance(given, Path):
        return given
    for name, below in _CACHES:
        if Path(environ.get(name, "")).is_absolute():  # a relative one is to be ignored, says the XDG specification
            return Path(environ[name]) / below
    return None


def _secret(name: str, text: str) -> str:
    """What can stand in a header; the message about one that cannot does not say what it is."""
    text = text.strip()
    if name == "seal_key" and len(text) < MIN_SEAL_KEY:
        raise InputError.of(
            f"CLERKSHIP_SEAL_KEY is shorter than {MIN_SEAL_KEY} characters",
            hint="use a random one, such as `openssl rand -hex 32` prints",
        )
    if not (text.isascii() and text.isprintable()):
        raise InputError.of(f"CLERKSHIP_{name.upper()} has a sign in it that no key has", hint="was it copied whole?")
    return text
