"""Step 1: load the files, build the agent, and check the files against the agent."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import orjson

from clerkship.actors.contract import Solver
from clerkship.by_name import load
from clerkship.engine.build import check_process
from clerkship.engine.catalog import RegisteredCatalog
from clerkship.kit.command_option import options_of
from clerkship.kit.http_client import parse_address
from clerkship.model.bot_format import NO_BOT_FORMAT, parse_header_lines, parse_headers
from clerkship.model.errors import InputError
from clerkship.model.run import IsolationLevel
from clerkship.service.checking import load_and_check
from clerkship.service.isolating import choose_level
from clerkship.service.planning.options import BotOptions, TraceOptions
from clerkship.service.planning.request import RunRequest, split_case
from clerkship.settings import Settings, override_isolation, override_settings
from clerkship.suite_files.datasets import TaskSelection
from clerkship.suite_files.library import Library


@dataclass(frozen=True, eq=False, repr=False)
class LoadedSuite:
    """The files of a request, its agent, and the settings with the changes of the request."""

    request: RunRequest
    settings: Settings
    catalog: RegisteredCatalog
    library: Library
    solver: Solver
    isolation: IsolationLevel


def load_suite(request: RunRequest, settings: Settings, catalog: RegisteredCatalog) -> LoadedSuite:
    """Load the files and the agent of a request. Raise InputError with all problems."""
    request.check()
    settings = build_run_settings(request, settings, catalog)
    path, case = split_case(request.path)
    needs_all = request.tags or request.benchmark or request.tape  # the names and tags of all tasks
    tasks = TaskSelection(tuple(request.tasks), is_exclusive=not needs_all, has_variants=request.needs_variants)
    library, solver = load_and_check(
        path, request.agent, settings, catalog, domain=request.domain, tasks=tasks, replays=request.tape == "replay"
    )
    assert solver is not None  # the request always has an agent
    isolation = choose_level(solver, settings.isolate)
    if case is not None:
        request = replace(request, path=path, tasks=(*request.tasks, library.find_case(path, case).task.name))
    return LoadedSuite(request, settings, catalog, library, solver, isolation)


def build_run_settings(request: RunRequest, settings: Settings, catalog: RegisteredCatalog) -> Settings:
    """Return the settings with the changes of the request. Raise InputError for options that the agent cannot have."""
    settings = apply_bot_options(request, override_isolation(settings, request.isolate), request.agent)
    settings = override_settings(settings, max_tokens=request.max_tokens, model_timeout=request.model_timeout)
    if request.otlp is not None or settings.otlp:
        settings = choose_collector(request, settings)
    if not request.agent_process:
        return settings
    check_process(request.agent, catalog)
    return override_settings(settings, agent_process="on")


def choose_collector(options: TraceOptions, settings: Settings) -> Settings:
    """Return the settings with the collector of the options. Raise InputError if its address or headers are none."""
    if options.otlp is not None:
        settings = override_settings(settings, otlp=parse_address(options.otlp, "--otlp", "collector"))
    if settings.otlp:
        load("clerkship.traces.exporter:parse_otlp_headers")(settings.otlp_headers)  # few runs send traces
    return settings


def apply_bot_options(bot: BotOptions, settings: Settings, agent: str | Solver) -> Settings:
    """Return the settings with the options of a bot over HTTP. Raise InputError if the agent is not at an address."""
    given = [name for name in NO_BOT_FORMAT if getattr(bot, name) not in (None, ())]
    if not given:
        return settings
    if not is_http(agent):
        option = options_of(BotOptions)[given[0]][1].names[0]
        name = agent if isinstance(agent, str) else agent.name
        raise InputError.of(
            f"{option} is for agents at an address, not for {name}", hint="write --agent http://host/path"
        )
    texts = {name: _to_text(getattr(bot, name)) for name in given if name != "agent_headers"}
    return override_settings(add_headers(bot.agent_headers, settings), **texts)


def add_headers(lines: tuple[str, ...], settings: Settings) -> Settings:
    """Return the settings with more headers for requests to an agent; a name replaces that in the settings."""
    if not lines:
        return settings
    given = parse_header_lines((lines,) if isinstance(lines, str) else lines)
    names = {name.lower() for name in given}
    known = parse_headers(settings.agent_headers)
    headers = {name: value for name, value in known.items() if name.lower() not in names} | given
    return replace(settings, agent_headers=orjson.dumps(headers).decode())


def _to_text(value: str | Mapping[str, Any]) -> str:
    if isinstance(value, str):
        return value
    try:
        return orjson.dumps(value).decode()
    except TypeError as error:
        raise InputError.of(f"the agent's request cannot be written as JSON: {error}") from None


def is_http(agent: str | Solver) -> bool:
    """Return whether an agent is given by an address."""
    return isinstance(agent, str) and agent.partition(":")[0] in ("http", "https")
