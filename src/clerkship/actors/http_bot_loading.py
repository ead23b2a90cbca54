"""Build a bot over HTTP from its address and the settings, and report mistakes in them before a run."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urljoin, urlsplit

import orjson
from pydantic import JsonValue

from clerkship.actors.contract import Solver
from clerkship.actors.http_bot import (
    ALWAYS_KNOWN,
    ONLY_IN_TURNS,
    VARIABLES,
    HttpBotSolver,
    RequestTemplate,
    RequestTemplates,
)
from clerkship.actors.webhook import OMITTED_QUERY, load_http, parse_secret
from clerkship.kit.depth import MAX_DEPTH, is_deeper_than
from clerkship.kit.http_client import parse_address
from clerkship.model.bot_format import (
    HEADERS_OPTION,
    NO_BOT_FORMAT,
    BotFormat,
    find_header_secrets,
    is_secret_name,
    parse_headers,
    without_secrets,
)
from clerkship.model.errors import InputError
from clerkship.model.redaction import MIN_SECRET_LENGTH, Redactor
from clerkship.model.variables import expand_text
from clerkship.settings import Settings, get_template_variables

MAX_REQUEST_LENGTH = 1_000_000
_REQUEST, _START, _START_REQUEST = (
    f"--{name.replace('_', '-')} (or CLERKSHIP_AGENT_{name.upper()})" for name in ("request", "start", "start_request")
)
_OPTIONS = {name: f"--{name.removeprefix('agent_').replace('_', '-')}" for name in NO_BOT_FORMAT}
_IN_HEADERS = ("session", "trial")


def load_http_agent(rest: str, settings: Settings) -> Solver:
    """Build the solver of `http:https://host/path`.

    If the settings have the request of a bot, it has that format, else our own.
    """
    if settings.agent_request:
        return _load_bot(f"http:{rest}" if rest.startswith("//") else rest, settings)
    given = [option for name, option in _OPTIONS.items() if getattr(settings, name) and name != "agent_headers"]
    if given or settings.agent_headers:
        option = given[0] if given else HEADERS_OPTION
        hint = """write it as JSON, such as --request '{"message": "{{ text }}"}'"""
        raise InputError.of(f"{option} needs the request of the bot (--request)", hint=hint)
    return load_http(rest, settings)


def load_https_agent(rest: str, settings: Settings) -> Solver:
    """Build the solver of `https://host/path`."""
    return load_http_agent(f"https:{rest}", settings)


def _load_bot(address: str, settings: Settings) -> HttpBotSolver:
    if address.endswith(OMITTED_QUERY):
        raise InputError.of(
            f"agent http:{address}: the query is not stored, because it may contain a key",
            hint="give the whole address with --agent",
        )
    environment = get_template_variables()
    headers = parse_headers(settings.agent_headers)
    bot_format = _build_format(address, headers, settings)
    has_start = bot_format.start_body is not None
    templates = RequestTemplates(
        format=bot_format,
        address=RequestTemplate(address, {}),
        body=RequestTemplate(bot_format.body, environment),
        headers={name: RequestTemplate(value, environment) for name, value in headers.items()},
        start_address=RequestTemplate(bot_format.start or address, {}) if has_start else None,
        start_body=RequestTemplate(bot_format.start_body, environment),
        secrets=Redactor({}),
        key=parse_secret(settings.webhook_secret),
    )
    _check_templates(templates)
    _check_address(address, templates)
    secrets = _find_secrets(headers, bot_format, environment)
    return HttpBotSolver(address, RequestTemplates(**{**vars(templates), "secrets": secrets}))


def _build_format(address: str, headers: Mapping[str, str], settings: Settings) -> BotFormat:
    start_body = parse_body(settings.agent_start_request, _START_REQUEST) if settings.agent_start_request else None
    if settings.agent_greeting and not (settings.agent_start or settings.agent_start_request):
        raise InputError.of("--greeting needs a start call", hint="give --start or --start-request")
    return BotFormat(
        body=parse_body(settings.agent_request, _REQUEST),
        reply=_parse_path(settings.agent_reply, "--reply"),
        buttons=_parse_path(settings.agent_buttons, "--buttons"),
        session=_parse_path(settings.agent_session, "--session"),
        headers=without_secrets(headers),
        start=_parse_start(settings.agent_start, address) if settings.agent_start else "",
        start_body={} if settings.agent_start and start_body is None else start_body,
        greeting=_parse_path(settings.agent_greeting, "--greeting"),
    )


def parse_body(text: str, option: str) -> JsonValue:
    """Parse the JSON of a request, or of the file after `@`; raise InputError with the place of a mistake."""
    if text.startswith("@"):
        try:
            text = Path(text[1:]).read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise InputError.of(f"{option}: {text[1:]} cannot be read: {error}", hint="write @ and a file") from None
    if len(text) > MAX_REQUEST_LENGTH:
        raise InputError.of(f"{option}: {len(text):,} characters; the limit is {MAX_REQUEST_LENGTH:,}")
    try:
        data: JsonValue = json.loads(text, parse_constant=_refuse_constant)
    except (ValueError, RecursionError) as error:
        raise InputError.of(f"{option} is not JSON: {error}", hint=_explain_json_mistake(text)) from None
    try:
        orjson.dumps(data)
    except TypeError as error:
        raise InputError.of(f"{option} cannot be sent: {error}", hint="use shorter numbers and valid text") from None
    if is_deeper_than(data):
        raise InputError.of(f"{option}: nested more than {MAX_DEPTH} levels deep")
    if data is None:
        raise InputError.of(f"{option} is null", hint="write a JSON object")
    return data


def _refuse_constant(name: str) -> Any:
    raise ValueError(f"{name} is not a JSON value")


def _explain_json_mistake(text: str) -> str:
    if "{{" in text and '"' in text:
        return 'put variables in quotes: "{{ text }}"; a value that is only a variable keeps its type'
    return """put it in single quotes: --request '{"message": "{{ text }}"}'"""


def _parse_path(path: str, option: str) -> str:
    """Return a path into a reply; `$.` before it is left out."""
    path = path.strip().removeprefix("$.")
    if any(mark in path for mark in ("..", "{{", "$", "?", "'", '"', " ")) or path.startswith(("/", ".")):
        raise InputError.of(
            f"{option} `{path[:60]}` is not a path", hint="write keys and numbers with dots: choices.0.message.content"
        )
    return path


def _parse_start(start: str, address: str) -> str:
    """Return the address of the start call, from an address or a path on the agent's host."""
    if "{" in start and not start.startswith(("/", "http")):
        raise InputError.of(f"{_START} is not an address", hint="give the body with --start-request")
    address = start if start.startswith(("http://", "https://")) else urljoin(address, start)
    if urlsplit(address).query:
        raise InputError.of(f"{_START}: the address may not have a query", hint="put keys into headers or the body")
    filled = RequestTemplate(address, {}).fill_text(dict.fromkeys(VARIABLES, "0"))
    parse_address(filled, address, "start call of the agent")
    return address


def _check_templates(templates: RequestTemplates) -> None:
    """Raise InputError for the first mistake in a template."""
    templates.body.check(_REQUEST, VARIABLES)
    templates.address.check("--agent", VARIABLES)
    templates.start_body.check(_START_REQUEST, ALWAYS_KNOWN, ONLY_IN_TURNS)
    if templates.start_address is not None:
        templates.start_address.check(_START, ALWAYS_KNOWN, ONLY_IN_TURNS)
    for name, template in templates.headers.items():
        template.check(f"{HEADERS_OPTION}, `{name}`", _IN_HEADERS)
    if not {"text", "messages"} & (templates.body.names | templates.address.names):
        raise InputError.of(
            f"{_REQUEST} does not contain the person's message", hint='put "{{ text }}" where the bot expects it'
        )


def _check_address(address: str, templates: RequestTemplates) -> None:
    if "{{" in urlsplit(address).netloc:
        raise InputError.of(f"agent {address}: the host has a variable", hint="write the host")
    parse_address(templates.address.fill_text(dict.fromkeys(VARIABLES, "0")), f"http:{address}")
    bot_format = templates.format
    if not bot_format.session or "session" not in templates.address.names:
        return
    if bot_format.start_body is None:
        raise InputError.of(
            f"agent {address}: the address has the session, but --session takes it from the first reply",
            hint="give a start call with --start, or leave --session out: then each conversation has an id of its own",
        )
    if not bot_format.start:
        raise InputError.of(
            f"agent {address}: the start call would need the session that it returns", hint="give --start ADDRESS"
        )


def _find_secrets(headers: Mapping[str, str], bot_format: BotFormat, environment: Mapping[str, str]) -> Redactor:
    """Return what replaces the secrets of the requests in replies."""
    expanded = {name: expand_text(value, environment) for name, value in headers.items() if "{{" not in value}
    used = {name: environment[name] for name in bot_format.variables if is_secret_name(name)}
    return Redactor(used | find_header_secrets(expanded), shortest=MIN_SECRET_LENGTH, label="[{}]")
