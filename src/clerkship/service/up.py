"""Run one playground over HTTP until it is stopped, for development of an agent (`clerkship up`)."""

import hashlib
import os
import re
import shlex
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

import orjson

from clerkship.engine.build import BuiltTask, build_task, prepare_domains, prepare_simulators
from clerkship.engine.catalog import RegisteredCatalog
from clerkship.engine.driver import open_conversations, set_up
from clerkship.engine.model_build import open_model_proxy
from clerkship.engine.model_resolver import ModelRequest, find_missing_models, find_model_needs, resolve_models
from clerkship.engine.models import NO_MODELS, ModelSelection
from clerkship.events.lifecycle import AgentAnswered, AgentStarted, RunStarted
from clerkship.events.log import Subscriber, VariableNames
from clerkship.kit.command_option import Option
from clerkship.kit.descriptors import check_limit
from clerkship.kit.extras import describe_install
from clerkship.kit.rng import derive_seed
from clerkship.kit.wall import now
from clerkship.llm.trial_model import UsageCounter
from clerkship.mcp.task import McpTask
from clerkship.model.dataset import Dataset
from clerkship.model.environment import CONVERSATION_ENVIRONMENT, Environment, utc_offset_minutes
from clerkship.model.errors import InputError
from clerkship.model.names import did_you_mean, find_matching_names
from clerkship.model.redaction import MIN_SECRET_LENGTH, Redactor, build_redactor
from clerkship.model.snapshot import Snapshot
from clerkship.model.task import Task
from clerkship.model.usage import NO_LIMITS
from clerkship.playground.agent_clock import run_paced_clock
from clerkship.playground.gateway import Gateway
from clerkship.playground.handlers import CLOCK
from clerkship.playground.http import CONTROL, ControlEndpoint, open_http
from clerkship.playground.in_process import open_sandboxes
from clerkship.playground.listeners import ListenerPool
from clerkship.playground.playground import Playground, PlaygroundOptions, bind_reactions
from clerkship.playground.sandbox import Sandbox
from clerkship.playground.traces import open_traces
from clerkship.sandbox.authentication.scheme import select_http_schemes
from clerkship.sandbox.listener import ProtocolListener
from clerkship.sandbox.mcp_access import McpAddress
from clerkship.sandbox.model_access import ModelAddress, list_variables
from clerkship.sandbox.request import ConnectionInfo
from clerkship.sandbox.trace_access import TraceAddress, list_trace_variables
from clerkship.service.network import check_listener_ports, check_passwords, parse_host, parse_listener_ports
from clerkship.service.planning.options import AllowNoPassword, ListenerPorts, ListenHost, ListenPort
from clerkship.service.up_registry import (
    PlaygroundRegistration,
    check_name,
    get_registry_folder,
    has_others,
    register_playground,
)
from clerkship.settings import Settings
from clerkship.simulators.spec import Spec
from clerkship.suite_files.datasets import TaskSelection
from clerkship.suite_files.library import Library, LoadedTask
from clerkship.suite_files.load import load_library
from clerkship.suite_files.published.places import find_suite
from clerkship.transports.http_connection import HttpListener
from clerkship.transports.loop_thread import ForeignHost, PortTaken
from clerkship.transports.network import SandboxNetwork
from clerkship.transports.outbound.policy import LOCAL_ONLY, OutboundPolicy

STOP_TIMEOUT = 0.3
"""Wall seconds that running requests have to finish when the playground stops."""


@dataclass(frozen=True, kw_only=True)
class PlaygroundRequest:
    """Which playground to start, and where it listens."""

    environment: Annotated[str | None, Option(help="Name of an environment; optional if there is only one.")] = None
    path: Annotated[Path, Option(("--from",), "Folder of YAML files, or one file of it.", "PATH")] = Path()
    task: Annotated[str | None, Option(("--task",), "Set up this task, given by its name or a part of it.", "NAME")] = (
        None
    )
    host: ListenHost = None
    port: ListenPort = None
    listeners: ListenerPorts = ()
    allow_no_password: AllowNoPassword = False
    name: Annotated[
        str | None, Option(("--name",), "The name for `events` and `check`. [default: that of the environment]", "NAME")
    ] = None
    seed: Annotated[int | None, Option(("--seed",), "The seed of ids and random choices. [default: 0]", "N")] = None
    outbound: OutboundPolicy = LOCAL_ONLY
    """The addresses that sandboxes may call."""


@dataclass(frozen=True)
class SandboxAccess:
    """How an agent reaches one sandbox."""

    kind: str
    url: str
    token: str
    curl: str
    """A command to try it with."""
    listeners: Mapping[str, ConnectionInfo] = field(default_factory=dict)
    """Connection info of the listeners, by name."""
    examples: tuple[str, ...] = ()
    """Commands to try the listeners with."""
    missing: Mapping[str, str] = field(default_factory=dict)
    """Listeners that are not available, with the command that installs their package."""
    credentials: Mapping[str, ConnectionInfo] = field(default_factory=dict)
    """Further credentials for HTTP, by authentication scheme."""


@dataclass(frozen=True)
class RunningPlayground:
    """A running playground, and how to reach it."""

    where: PlaygroundRegistration
    playground: Playground
    task: Task | None
    seed: int
    url: str
    network: SandboxNetwork
    """Where it listens."""
    sandboxes: Mapping[str, SandboxAccess]
    clock: SandboxAccess
    alone: bool
    """Whether it is the only running playground in this registry."""
    redactor: Redactor
    """Redacts the values of the task's variables in output."""
    mcp: McpAddress
    """Where the sandboxes are tools over MCP."""
    models: Mapping[str, ModelAddress] = field(default_factory=dict)
    """Where an agent sends its model calls so that they are logged, by provider."""
    traces: TraceAddress | None = None
    """Where an agent sends its spans so that they are logged."""

    @property
    def variables(self) -> dict[str, str]:
        """The environment variables from which an agent reads where to send model calls and spans."""
        return list_variables(self.models) | list_trace_variables(self.traces)

    @property
    def task_item(self) -> Any:
        """The task item that an agent would receive."""
        return self.task.task_item if self.task is not None else None


@contextmanager
def open_playground(
    request: PlaygroundRequest, settings: Settings, catalog: RegisteredCatalog, subscriber: Subscriber | None = None
) -> Iterator[RunningPlayground]:
    """Set up a playground, open its listeners and register it; remove all of it at the end of the block."""
    if request.name is not None:
        check_name(request.name)
    network = SandboxNetwork(
        parse_host(request.host),
        request.port or 0,
        parse_listener_ports(request.listeners),
        allows_no_password=request.allow_no_password,
    )
    names = (request.task,) if request.task is not None else ()
    library = load_library(
        request.path, catalog, needs_task=bool(names), tasks=TaskSelection(names), cache=settings.cache
    )
    loaded, environment = choose_environment(library, request)
    seed = settings.seed if request.seed is None else request.seed
    snapshot = library.snapshot(loaded, settings.timeout) if loaded else None
    models = _resolve_person_model(snapshot, library, settings, catalog)
    built = build_task(snapshot, library.datasets, catalog) if snapshot else None
    simulators = built.simulators if built is not None else prepare_simulators(environment, library.datasets, catalog)
    domains = built.options.domains if built is not None else prepare_domains(environment, library.datasets, catalog)
    found = [listener for simulator in simulators.values() for listener in simulator.spec.listeners]
    check_listener_ports(network.listener_ports, found)
    check_passwords(network, found)
    # The seed of the first trial of a run, so that ids are the same.
    playground_seed = derive_seed(seed, loaded.task.name, 1) if loaded else derive_seed(seed, environment.name)
    used = built.variables if built is not None else {}
    bound = bind_reactions(environment, catalog.reaction_pairs)
    options = PlaygroundOptions(VariableNames(used), bound, domains, catalog.agent_events)
    playground = Playground(environment, simulators, playground_seed, options)
    if subscriber is not None:
        playground.log.subscribe(subscriber)
    gateway = Gateway(request.outbound)
    gateway.add_playground(playground)
    proxy = gateway.models = open_model_proxy(settings)
    if proxy is not None:
        proxy.limit(NO_LIMITS.with_others(settings))
    about = describe_playground(playground, loaded, library.datasets) | {"variables": sorted(used)}
    control = ControlEndpoint(playground, about)
    check_limit()
    http, listeners = open_http(gateway, network, control=control), ListenerPool(gateway, network)
    try:
        _run_setup(playground, built, models)
        url = f"{_open_listener(http)}/{playground.id}"
        folder, own = get_registry_folder(settings), _build_registration(request, url, control.token, about)
        with register_playground(folder, request.name, own) as where, run_paced_clock(playground):
            alone = not has_others(folder, where.name)
            accesses = _build_accesses(playground, url, listeners)
            mcp = _open_mcp(gateway, playground, http, built)
            about["mcp"] = mcp._asdict()
            yield RunningPlayground(
                where,
                playground,
                loaded.task if loaded else None,
                seed,
                url,
                network,
                accesses,
                _build_clock_access(url, accesses),
                alone,
                build_redactor(used, shortest=MIN_SECRET_LENGTH),
                mcp,
                proxy.open_trial(playground, http.url) if proxy is not None else {},
                _open_traces(gateway, playground, http.url) if settings.traces == "on" else None,
            )
    finally:
        gateway.remove_playground(playground)
        models.close()  # before the listeners: a running request may wait for the model
        listeners.close()
        http.close(STOP_TIMEOUT)
        if proxy is not None:
            proxy.close()


def _open_traces(gateway: Gateway, playground: Playground, base_url: Callable[[], str]) -> TraceAddress:
    return open_traces(gateway, playground, base_url, (playground.id,), is_live=True)


def _resolve_person_model(
    snapshot: Snapshot | None, library: Library, settings: Settings, catalog: RegisteredCatalog
) -> ModelSelection:
    """Return the model that plays the person of a task, from the settings or the conftest, if one is needed."""
    if snapshot is None or not (needs := find_model_needs([snapshot], catalog)).person:
        return NO_MODELS
    needs = needs._replace(judge=False)
    models = resolve_models(ModelRequest(conftest=library.conftest), settings, needs)
    if missing := find_missing_models(models, needs):
        raise InputError(missing)
    return models


def choose_environment(library: Library, request: PlaygroundRequest) -> tuple[LoadedTask | None, Environment]:
    """Return the requested task, if any, and the environment: that of the task, the named one, or the only one."""
    known = dict(library.environments) or {CONVERSATION_ENVIRONMENT.name: CONVERSATION_ENVIRONMENT}
    requested = request.environment
    if requested is not None and requested not in known:
        hint = did_you_mean(requested, known)
        if Path(requested).exists():
            hint = f"it is a file or folder: `clerkship up --from {shlex.quote(requested)}`"
        raise InputError.of(f"unknown environment `{requested}` in {request.path}", hint=hint)
    if request.task is not None:
        loaded = find_task(library, request.task)
        if requested not in (None, loaded.environment.name):
            raise InputError.of(
                f"`{loaded.task.name}` belongs to environment {loaded.environment.name}, not to {requested}"
            )
        return loaded, loaded.environment
    names = [requested] if requested is not None else _list_environments_of_file(library, request.path) or sorted(known)
    if len(names) > 1:
        raise InputError.of("name the environment", hint=f"expected one of {', '.join(names)}")
    return None, known[names[0]]


def _list_environments_of_file(library: Library, path: Path) -> list[str]:
    """Return the environments of the tasks in one file; empty if the path is a folder."""
    tasks = library.select(file=path) if path.is_file() else ()
    return sorted({loaded.environment.name for loaded in tasks})


def find_task(library: Library, name: str) -> LoadedTask:
    """Return a task by its name or a unique part of it. Raise InputError."""
    matches = find_matching_names(name, library.tasks)
    if len(matches) == 1:
        return library.tasks[matches[0]]
    hint = f"it matches {'; '.join(matches[:5])}" if matches else did_you_mean(name, library.tasks)
    raise InputError.of(f"unknown task `{name}`", hint=hint)


def _run_setup(playground: Playground, built: BuiltTask | None, models: ModelSelection) -> None:
    """Run everything that happens in a run before the agent starts."""
    if built is None:
        started = RunStarted(task="", environment=playground.environment.name, seed=playground.seed)
        playground.emit("run", started, "run")
        playground.people.listening = True
        return
    asker = models.model_for("person", built.snapshot, 1, UsageCounter())
    set_up(playground, built, built.build_people(playground.seed, asker, models.prompts))
    if playground.steps.errors:
        raise InputError.of("; ".join(playground.steps.errors), file=built.snapshot.source)
    speaks_first = built.scenario.starts == "person"
    entry = "on_turn" if speaks_first else "on_task"
    playground.emit("run", AgentStarted(entry=entry, task_item=built.task.task_item), "agent")
    if speaks_first:
        open_conversations(playground, built)
    else:
        playground.people.listening = True


def describe_playground(
    playground: Playground, loaded: LoadedTask | None, datasets: Mapping[str, Dataset]
) -> dict[str, Any]:
    """Return the constant part of the playground's description at its control endpoint."""
    environment = playground.environment
    return {
        "playground": playground.id,
        "environment": environment.name,
        "utc_offset": utc_offset_minutes(environment.now),
        "place": hash_environment(environment, datasets),
        "task": loaded.task.name if loaded else None,
        "scene": hash_setup(loaded.task) if loaded else None,
    }


def hash_environment(environment: Environment, datasets: Mapping[str, Dataset]) -> str:
    """Return a hash that changes with everything that is needed to read a log of the environment."""
    used = {name: datasets[name].hash for name in environment.datasets}
    return _hash_json([environment.model_dump(mode="json", exclude={"description"}), used])


def hash_setup(task: Task) -> str:
    """Return a hash that changes with the scenario of a task and its task item."""
    return _hash_json(task.model_dump(mode="json", include={"scenario", "task_item"}))


def _hash_json(data: Any) -> str:
    return hashlib.sha256(orjson.dumps(data, option=orjson.OPT_SORT_KEYS)).hexdigest()


def _open_listener(listener: HttpListener) -> str:
    try:
        return listener.url()
    except PortTaken as taken:
        hint = "choose another --port, or omit it for any free port"
        if isinstance(taken, ForeignHost):
            hint = "give --host an address of this machine, or 0.0.0.0 for all of them"
        raise InputError.of(str(taken), hint=hint) from None


def _build_registration(
    request: PlaygroundRequest, url: str, token: str, about: Mapping[str, Any]
) -> PlaygroundRegistration:
    return PlaygroundRegistration(
        url=f"{url}/{CONTROL}",
        token=token,
        playground=about["playground"],
        environment=about["environment"],
        task=about["task"],
        path=str(find_suite(request.path).resolve()),
        pid=os.getpid(),
        started=now().isoformat(),
    )


def _build_clock_access(url: str, accesses: Mapping[str, SandboxAccess]) -> SandboxAccess:
    clock_url = f"{url}/{CLOCK}"
    token = next((access.token for access in accesses.values()), "")  # the clock accepts the token of any sandbox
    command = ["curl", "-sS", "-X", "POST", "-H", f"Authorization: Bearer {token}", f"{clock_url}/advance?by=10m"]
    return SandboxAccess(CLOCK, clock_url, token, shlex.join(command))


def _open_mcp(gateway: Gateway, playground: Playground, http: HttpListener, built: BuiltTask | None) -> McpAddress:
    """Offer the sandboxes over MCP. An answer to the task is logged at once, so that `clerkship check` finds it."""

    def log_answer(answer: Any) -> None:
        with playground.lock:
            playground.emit("run", AgentAnswered(answer=answer), "agent")

    takes_answer = built is not None and built.scenario.starts != "person"
    task_item = None if built is None else built.task.task_item
    served = McpTask(task_item, takes_answer, (), log_answer)
    return gateway.tools.open(playground, http.url, served, open_sandboxes(gateway, playground, http.url))


def _build_accesses(playground: Playground, url: str, listeners: ListenerPool) -> dict[str, SandboxAccess]:
    try:
        listeners.prepare(playground)
        return {
            name: _build_access(sandbox, f"{url}/{name}", listeners.open_listeners(playground, sandbox))
            for name, sandbox in playground.sandboxes.items()
        }
    except PortTaken as taken:
        raise InputError.of(str(taken), hint="choose another with --listener, or leave it out") from None


def _build_access(
    sandbox: Sandbox, url: str, listeners: Mapping[str, tuple[ProtocolListener, ConnectionInfo]]
) -> SandboxAccess:
    spec = sandbox.spec
    plain = [route.path for route in spec.routes if route.method == "GET" and not re.search("[{*]", route.path)]
    curl = _build_curl_command(sandbox, url + (spec.example or next(iter(plain), "/")))
    info = {name: info for name, (_, info) in listeners.items()}
    examples = tuple(listener.example(info) for listener, info in listeners.values())
    credentials = sandbox.authentication_info(url)
    return SandboxAccess(spec.kind, url, sandbox.token, curl, info, examples, _describe_missing(spec), credentials)


def _describe_missing(spec: Spec) -> dict[str, str]:
    """Return how to install each listener that is not available."""
    return {
        listener.name: describe_install(listener.extra) for listener in spec.listeners if not listener.is_available()
    }


def _build_curl_command(sandbox: Sandbox, url: str) -> str:
    """Return a command that sends a request; empty if curl has no options for any of the schemes."""
    schemes = select_http_schemes(sandbox.spec.authentication)
    options = [option for scheme in schemes if (option := scheme.curl(sandbox.credentials)) is not None]
    return shlex.join(["curl", "-sS", *options[0], url]) if options else ""
