"""Settings: one typed table, read from the environment once."""

import math
import os
import re
import shlex
import shutil
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any, TypeVar, get_args

from clerkship.model.bot_format import find_header_secrets, parse_headers
from clerkship.model.duration import parse_seconds
from clerkship.model.errors import InputError
from clerkship.model.model_choice import DEFAULT_MODEL_TIMEOUT
from clerkship.model.run_options import MAX_TOKEN_LIMIT, IsolationMode, PersonFacts
from clerkship.model.store_place import PostgresAddress, StorePlace, parse_store_place

DEFAULT_MAX_TURNS = 50
DEFAULT_TURN_TIMEOUT = 60.0
"""Wall seconds for each answer."""
T = TypeVar("T")
MIN_SEAL_KEY = 16
"""Characters of a seal key: a shorter one can be guessed from the seals."""


@dataclass(frozen=True)
class SettingKind:
    """A kind of value: how its text is converted, and which values are accepted."""

    convert: Callable[[str], object] = str
    expected: str = ""
    """Described for the error message."""
    accepts: Callable[[Any], bool] = lambda value: True


def _choice(*choices: str) -> SettingKind:
    *first, last = [f"`{choice}`" for choice in choices]
    return SettingKind(str, f"{', '.join(first)} or {last}", choices.__contains__)


def _address(example: str) -> SettingKind:
    return SettingKind(str, f"an address such as {example}", lambda text: text.startswith(("http://", "https://")))


_STORE = SettingKind(parse_store_place, "a path or postgresql://user@host/database")
_TEXT, _PATH, _SECRET_TEXT = SettingKind(), SettingKind(Path, "a path"), SettingKind()
_SECONDS = SettingKind(
    parse_seconds,
    "a time such as 90s, 2m or 1h, or seconds; more than 0 and at most 24 hours",
    lambda seconds: 0 < seconds <= 86_400,
)
_POSITIVE_INTEGER = SettingKind(int, "a whole number, at least 1", lambda number: 0 < number <= 86_400)
_PORT = SettingKind(int, "a port, 0 to 65535", lambda number: 0 <= number <= 65_535)
_TOKENS = SettingKind(int, f"a whole number from 1 to {MAX_TOKEN_LIMIT}", lambda number: 0 < number <= MAX_TOKEN_LIMIT)
_COUNT = SettingKind(int, "a whole number, at least 1", lambda number: number > 0)
_LIMIT = SettingKind(int, "a whole number, 0 for no limit", lambda number: number >= 0)
_DOLLARS = SettingKind(float, "a number of dollars, 0 for no limit", lambda dollars: 0 <= dollars < math.inf)
_SEED = SettingKind(int, "a whole number of 64 bits", lambda number: -(2**63) <= number < 2**63)
_TRUSTED_KEYS = SettingKind(lambda text: tuple(filter(None, map(str.strip, text.split(",")))))
_ISOLATION, _SWITCH = _choice(*get_args(IsolationMode)), _choice("on", "off")
_PERSON_FACTS = _choice(*get_args(PersonFacts))


def _setting(default: T, about: str, kind: SettingKind = _TEXT, also: str = "") -> T:
    """Declare a setting; `also` names another variable that it is read from. A secret is not in the `repr`."""
    metadata = {"about": about, "kind": kind, "also": also}
    return field(default=default, repr=kind is not _SECRET_TEXT, metadata=metadata)


@dataclass(frozen=True)
class Settings:
    """All settings; each is read from the variable CLERKSHIP_ and its name."""

    store: StorePlace = _setting(  # noqa: RUF009  (a field)
        Path(".clerkship/store.db"), "file in which runs are stored, or the address of a PostgreSQL database", _STORE
    )
    cache: Path | None = _setting(  # noqa: RUF009  (a field)
        None, "folder for validated datasets; by default `clerkship` in the user's cache folder", _PATH
    )
    timeout: float = _setting(300.0, "timeout in wall seconds of a task that sets none", _SECONDS)
    turn_timeout: float = _setting(
        DEFAULT_TURN_TIMEOUT, "timeout in wall seconds of a reply in a conversation that sets none", _SECONDS
    )
    max_turns: int = _setting(
        DEFAULT_MAX_TURNS, "maximum number of turns of a conversation that sets none", _POSITIVE_INTEGER
    )
    concurrency: int = _setting(4, "number of trials that run at the same time", _POSITIVE_INTEGER)
    worker_timeout: float = _setting(
        15.0, "time without a sign of life after which a trial on Temporal is given to another worker", _SECONDS
    )
    seed: int = _setting(0, "number from which ids and all random choices follow", _SEED)
    isolate: IsolationMode = _setting(  # noqa: RUF009  (a field)
        "auto",
        "isolation of agents that are programs: `auto` if the machine supports it, `always` (an error if it does "
        "not), or `never`",
        _ISOLATION,
    )
    agent_process: str = _setting(
        "off", "whether each trial runs a Python agent in its own process: `on` or `off`", _SWITCH
    )
    plugins: str = _setting("on", "whether plug-ins are loaded: `on` or `off`", _SWITCH)
    seal_key: str = _setting(
        "",
        "key of at least 16 characters; if set, seals of stored trials are HMACs with this key",
        _SECRET_TEXT,
    )
    trusted_keys: tuple[str, ...] = _setting(
        (),
        "public keys whose signatures of published versions are trusted: PEM files or key ids, with commas between",
        _TRUSTED_KEYS,
    )
    webhook_secret: str = _setting("", "secret with which requests to `http:` agents are signed", _SECRET_TEXT)
    agent_request: str = _setting(
        "", "JSON body of requests to an `http:` agent that has its own format, or `@file`, as `--request`"
    )
    agent_reply: str = _setting("", "path of the messages in its replies, as `--reply`")
    agent_buttons: str = _setting("", "path of the buttons in its replies, as `--buttons`")
    agent_session: str = _setting("", "path of the session id in its replies, as `--session`")
    agent_headers: str = _setting(
        "", "headers of requests to it: a JSON object, or one `Name: value`, as `--header`", _SECRET_TEXT
    )
    agent_start: str = _setting("", "address of its start call, as `--start`")
    agent_start_request: str = _setting("", "JSON body of its start call, as `--start-request`")
    agent_greeting: str = _setting("", "path of the greeting in the reply to the start call, as `--greeting`")
    openai_base_url: str = _setting(
        "https://api.openai.com/v1",
        "address of `openai:` agents and models, or `OPENAI_BASE_URL`",
        _address("https://api.openai.com/v1"),
        "OPENAI_BASE_URL",
    )
    openai_api_key: str = _setting(
        "", "key for `openai:` agents and models, or `OPENAI_API_KEY`", _SECRET_TEXT, "OPENAI_API_KEY"
    )
    anthropic_base_url: str = _setting(
        "https://api.anthropic.com",
        "address of `anthropic:` agents and models, or `ANTHROPIC_BASE_URL`",
        _address("https://api.anthropic.com"),
        "ANTHROPIC_BASE_URL",
    )
    anthropic_api_key: str = _setting(
        "", "key for `anthropic:` agents and models, or `ANTHROPIC_API_KEY`", _SECRET_TEXT, "ANTHROPIC_API_KEY"
    )
    gemini_base_url: str = _setting(
        "https://generativelanguage.googleapis.com",
        "address of `gemini:` agents and models, or `GOOGLE_GEMINI_BASE_URL`",
        _address("https://generativelanguage.googleapis.com"),
        "GOOGLE_GEMINI_BASE_URL",
    )
    gemini_api_key: str = _setting(
        "", "key for `gemini:` agents and models, or `GEMINI_API_KEY`", _SECRET_TEXT, "GEMINI_API_KEY"
    )
    model_proxy: str = _setting(
        "on",
        "whether agents call models through the run, which logs the calls and keeps the keys: `on` or `off`",
        _SWITCH,
    )
    traces: str = _setting(
        "on",
        "whether agents are told to send their OpenTelemetry spans to the run, which logs them: `on` or `off`",
        _SWITCH,
    )
    otlp: str = _setting(
        "",
        "address of an OpenTelemetry collector that gets a trace of each trial, as `--otlp`",
        _address("http://127.0.0.1:4318"),
    )
    otlp_headers: str = _setting("", "headers of requests to it: `name=value,name=value`", _SECRET_TEXT)
    azure_api_base: str = _setting(
        "",
        "address of `azure:` models, or `AZURE_API_BASE`",
        _address("https://name.openai.azure.com"),
        "AZURE_API_BASE",
    )
    azure_api_key: str = _setting("", "key for `azure:` models, or `AZURE_API_KEY`", _SECRET_TEXT, "AZURE_API_KEY")
    azure_api_version: str = _setting(
        "",
        "`api-version` of `azure:` models, or `AZURE_API_VERSION`; not needed for addresses with /openai/v1",
        also="AZURE_API_VERSION",
    )
    judge: str = _setting(
        "",
        "model that judges criteria in plain language: `openai:model`, `anthropic:model`, `gemini:model`, "
        "`azure:deployment`, `scripted:file`, or `none` to skip it",
    )
    person: str = _setting(
        "", "model that plays people who are not scripted: `openai:model` and so on, or `scripted:file`"
    )
    person_facts: PersonFacts | None = _setting(  # noqa: RUF009  (a field)
        None,
        "facts of people that a model plays, if neither their file nor the project's conftest says: `strict` (they "
        "make up no numbers, dates and addresses) or `free` (they may); by default `free`",
        _PERSON_FACTS,
    )
    endpoint_calls: int = _setting(
        0,
        "maximum number of concurrent requests to one address of a model; 0: what its models set, or 8",
        _POSITIVE_INTEGER,
    )
    max_tokens: int = _setting(
        0,
        "maximum number of tokens in one answer of a model; 0: what the model's parameters say, "
        "or 8192, or less if its context is smaller",
        _TOKENS,
    )
    model_timeout: float = _setting(
        DEFAULT_MODEL_TIMEOUT,
        "timeout in wall seconds of one answer of a model that sets none",
        _SECONDS,
    )
    max_cost: float = _setting(
        0.0, "dollars that the agent's model calls may cost in a run, as `--max-cost`; 0: no limit", _DOLLARS
    )
    max_calls: int = _setting(0, "maximum number of model calls of the agent in a run; 0: no limit", _LIMIT)
    max_total_tokens: int = _setting(
        0, "tokens that all model calls of the agent in a run may use; 0: no limit", _LIMIT
    )
    max_cost_per_trial: float = _setting(
        0.0, "dollars that the agent's model calls may cost in a trial; 0: no limit", _DOLLARS
    )
    max_calls_per_trial: int = _setting(0, "maximum number of model calls of the agent in a trial; 0: no limit", _LIMIT)
    max_total_tokens_per_trial: int = _setting(
        0, "tokens that all model calls of the agent in a trial may use; 0: no limit", _LIMIT
    )
    server_data: Path = _setting(Path(".clerkship/server"), "data folder of `clerkship serve`", _PATH)  # noqa: RUF009
    server_host: str = _setting("127.0.0.1", "address that the server listens on")
    server_port: int = _setting(8720, "port that the server listens on; 0: a free one", _PORT)
    server_sandbox_port: int = _setting(0, "port of the server's sandboxes; 0: a free one", _PORT)
    server_public_url: str = _setting(
        "", "address under which clients reach the server, if it is another one", _address("https://tests.example.org")
    )
    server_sandbox_url: str = _setting(
        "", "address under which agents reach the server's sandboxes, if a proxy stands between"
    )
    server_allow_no_password: str = _setting(
        "off", "`on`: other machines may also use the server's listeners that ask for no password (MLLP)", _SWITCH
    )
    server_root_path: str = _setting("", "prefix that a proxy adds to paths; by default that of the public address")
    server_key: str = _setting("", "key with which `push`, `pull`, `run --on` and `view` call a server", _SECRET_TEXT)
    prices: str = _setting("", "YAML file of prices: model, `input` and `output` in dollars per million tokens")
    embeddings: str = _setting(
        "text-embedding-3-large",
        "embedding model, if a judge needs one: `model` or `model@address`",
    )
    rasa_token: str = _setting("", "token of a `rasa:` server that was started with `--auth-token`", _SECRET_TEXT)
    rasa_jwt: str = _setting("", "signed JWT that a `rasa:` server accepts", _SECRET_TEXT)
    rasa_jwt_secret: str = _setting(
        "", "`--jwt-secret` of a `rasa:` server, with which a JWT is signed by HS256", _SECRET_TEXT
    )


def override_settings(settings: Settings, **changes: Any) -> Settings:
    """Return the settings with other values, except those that are None."""
    return replace(settings, **{name: value for name, value in changes.items() if value is not None})


def override_isolation(settings: Settings, mode: str | None) -> Settings:
    """Return the settings with another isolation mode, if one is given; raise InputError if it is unknown."""
    if mode is not None and mode not in get_args(IsolationMode):
        raise InputError.of(f"unknown --isolate value {mode!r}", hint=f"expected {_ISOLATION.expected}")
    return override_settings(settings, isolate=mode)


def get_command_prefix(folder: Path | None = None, environ: Mapping[str, str] = os.environ) -> str:
    """Return the command that starts the program in a folder, by default the current one, for messages."""
    program = _describe_program(Path(sys.argv[0]), environ)
    if "UV_RUN_RECURSION_DEPTH" not in environ:
        return program
    project = Path(environ.get("VIRTUAL_ENV", ".venv")).resolve().parent
    if (folder or Path.cwd()).resolve().is_relative_to(project):
        return f"uv run {program}"
    return f"uv run --project {shlex.quote(str(project))} {program}"


def _describe_program(started: Path, environ: Mapping[str, str]) -> str:
    """Return how this program is called again: by its name, or by its path if the shell would find another one."""
    if started.parts[-2:] == ("clerkship", "__main__.py"):
        names = (name for name in ("python", "python3") if _find_program(name, environ) == Path(sys.executable))
        return f"{next(names, None) or shlex.quote(sys.executable)} -m clerkship"
    path = started.absolute()
    is_found = started.stem != "clerkship" or not path.exists() or _find_program("clerkship", environ) == path
    return "clerkship" if is_found else shlex.quote(str(path))


def _find_program(name: str, environ: Mapping[str, str]) -> Path | None:
    """Return the program that the shell finds by a name."""
    found = shutil.which(name, path=environ.get("PATH", ""))
    return Path(found).absolute() if found is not None else None


def has_screen(environ: Mapping[str, str] = os.environ) -> bool:
    """Return whether the user of the program can see windows: it is not CI, and no terminal over SSH."""
    has_windows = sys.platform in ("darwin", "win32") or not {"DISPLAY", "WAYLAND_DISPLAY"}.isdisjoint(environ)
    return has_windows and {"CI", "SSH_CONNECTION"}.isdisjoint(environ)


def get_template_variables(environ: Mapping[str, str] = os.environ) -> Mapping[str, str]:
    """Return the variables that `${NAME}` in a file can use: all except our own settings, some of which are secrets."""
    return get_inherited_environment(environ)


_SECRET_NAME = re.compile(r"(?i)(?:^|_)(?:api_?key|key|token|secret|password|passwd|credentials?)(?:_|$)")


def find_secrets(settings: Settings, environ: Mapping[str, str] = os.environ) -> dict[str, str]:
    """Return the values to redact: settings that are secrets, and variables whose names look like secrets."""
    own = {item.name: getattr(settings, item.name) for item in fields(Settings) if not item.repr}
    if isinstance(settings.store, PostgresAddress):
        own["store"] = settings.store.password
    with suppress(InputError):  # a run reports invalid headers
        own |= find_header_secrets(parse_headers(settings.agent_headers))
    return own | {name: value.strip() for name, value in environ.items() if _SECRET_NAME.search(name)}


def get_inherited_environment(environ: Mapping[str, str] = os.environ) -> dict[str, str]:
    """Return the environment of programs that we start: all variables except our own settings, some of which are
    secrets.
    """
    return {name: value for name, value in environ.items() if not name.startswith("CLERKSHIP_")}


LOOPBACK_HOSTS = ("127.0.0.1", "localhost", "::1")
_PROXIES = frozenset({"http_proxy", "https_proxy", "all_proxy"})


def get_program_environment(environ: Mapping[str, str] = os.environ) -> dict[str, str]:
    """Return the environment of an agent's program. A proxy for HTTP is not used for the run.

    Without a proxy nothing is excepted, because `NO_PROXY` alone makes some clients ignore the proxy of the system.
    """
    inherited = get_inherited_environment(environ)
    if _PROXIES.isdisjoint(map(str.lower, inherited)):
        return inherited
    excepted = {}
    for name, other in (("no_proxy", "NO_PROXY"), ("NO_PROXY", "no_proxy")):
        hosts = [host.strip() for host in (inherited.get(name) or inherited.get(other, "")).split(",")]
        loopback = () if "*" in hosts else LOOPBACK_HOSTS  # which some clients read only if it is alone
        excepted[name] = ",".join(dict.fromkeys(filter(None, (*hosts, *loopback))))
    return inherited | excepted


def load_settings(environ: Mapping[str, str] = os.environ) -> Settings:
    """Read the settings from the environment; raise InputError if a value is invalid."""
    values: dict[str, object] = {}
    for setting in fields(Settings):
        text = environ.get(f"CLERKSHIP_{setting.name.upper()}") or environ.get(setting.metadata.get("also", ""))
        if not text:
            continue
        kind: SettingKind = setting.metadata["kind"]
        values[setting.name] = (
            _check_secret(setting.name, text) if kind is _SECRET_TEXT else _convert(setting.name, text, kind)
        )
    values["cache"] = _find_cache_folder(values.get("cache"), environ)
    return Settings(**values)  # type: ignore[arg-type]


def _convert(name: str, text: str, kind: SettingKind) -> object:
    """Return the value of a setting; raise InputError if it does not fit."""
    with suppress(ValueError):
        value = kind.convert(text)
        if kind.accepts(value):
            return value
    raise InputError.of(f"CLERKSHIP_{name.upper()} is {text!r}", hint=f"expected {kind.expected}")


_CACHE_FOLDERS = (("XDG_CACHE_HOME", "clerkship"), ("HOME", ".cache/clerkship"), ("LOCALAPPDATA", "clerkship/cache"))


def _find_cache_folder(configured: object, environ: Mapping[str, str]) -> Path | None:
    """Return the configured cache folder or the default of the platform; None if there is no home folder."""
    if isinstance(configured, Path):
        return configured
    for name, subfolder in _CACHE_FOLDERS:
        if Path(environ.get(name, "")).is_absolute():  # the XDG specification says to ignore relative paths
            return Path(environ[name]) / subfolder
    return None


def _check_secret(name: str, text: str) -> str:
    """Return a secret that can be used in a header; errors do not contain its value."""
    text = text.strip()
    if name == "seal_key" and len(text) < MIN_SEAL_KEY:
        raise InputError.of(
            f"CLERKSHIP_SEAL_KEY is shorter than {MIN_SEAL_KEY} characters",
            hint="use a random one, such as `openssl rand -hex 32` prints",
        )
    if not (text.isascii() and text.isprintable()):
        raise InputError.of(
            f"CLERKSHIP_{name.upper()} has a character that cannot be part of a key", hint="was it copied correctly?"
        )
    return text
