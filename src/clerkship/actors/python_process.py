"""`python:module:name` with `--agent-process`: an agent written in Python, in its own process for each trial.

The agent has the same interface as in this process. Its process runs `python_host`, which imports it by name. Calls,
requests to sandboxes and reports go through the process's pipes in order, so that the log is the same.
"""

import asyncio
import inspect
import os
import sys
from collections.abc import Awaitable, Iterable, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any, TypeVar, get_args

import orjson
from pydantic import JsonValue

from clerkship.actors.agent_stack import split_stack
from clerkship.actors.contract import Agent, AgentError, EntryPointName, History, Message, ReplyPart, Start
from clerkship.actors.isolation.contract import NOT_ISOLATED, Isolation
from clerkship.actors.messages import parse_object
from clerkship.actors.process import Process
from clerkship.actors.python import PythonSolver, call_sync, reported_events
from clerkship.actors.reply import parse_answer, parse_replies, report_fields
from clerkship.actors.sandbox_requests import AgentRequests, describe_handle
from clerkship.model.agent_domain import AgentCapabilities
from clerkship.model.errors import InputError
from clerkship.sandbox.handle import Sandboxes
from clerkship.sandbox.model_access import ModelAddress, list_variables
from clerkship.sandbox.trace_access import TraceAddress, list_trace_variables
from clerkship.settings import get_program_environment

T = TypeVar("T")
HOST_MODULE = "clerkship.actors.python_host"
NO_MODEL_ADDRESSES: Mapping[str, ModelAddress] = {}
MAX_IMPORT_SECONDS = 120.0
"""Wall seconds for importing an agent before a run; in a trial the task's limit applies."""
EXIT_TIMEOUT = 1.0
"""Seconds to wait for the exit code of a process that closed its pipe."""


class PythonProcessAgent:
    """One agent in one process."""

    def __init__(self, name: str, target: Mapping[str, str], folder: Path, isolation: Isolation) -> None:
        self.entries: frozenset[EntryPointName] = frozenset()
        self._name, self._target = name, target
        self._process = Process([sys.executable, "-P", "-m", HOST_MODULE], folder, isolation, is_host=True)
        self._requests = AgentRequests()
        self._knows_sandboxes = False

    def load(
        self,
        *,
        make: bool,
        models: Mapping[str, ModelAddress] = NO_MODEL_ADDRESSES,
        traces: TraceAddress | None = None,
    ) -> Any:
        """Start the process and import the agent; with `make`, also create an instance if it is a class.

        `models` and `traces` are addresses that it reads from its environment variables.

        Return what `reported_events` declares. Raise InputError if it cannot be imported, AgentError if its
        constructor fails. This blocks, as importing an agent in this process does.
        """
        variables = list_variables(models) | list_trace_variables(traces)
        self._process.start(get_program_environment() | variables, {})
        loaded = call_sync(_run, (self._load(make),))
        self.entries = frozenset(entry for entry in get_args(EntryPointName) if entry in loaded["entries"])
        return loaded["emits"]

    async def _load(self, make: bool) -> Any:
        call = {"call": "load", "name": self._name, "path": sys.path, "make": make, **self._target}
        async with asyncio.timeout(None if make else MAX_IMPORT_SECONDS):
            loaded = await self._call(call, None)
        if not isinstance(loaded, dict) or not isinstance(loaded.get("entries"), list) or "emits" not in loaded:
            raise AgentError("its process did not report what it imported")
        return loaded

    async def on_start(self, start: Start, sandboxes: Sandboxes) -> list[ReplyPart]:
        """Call `on_start`."""
        return parse_replies(await self._enter("on_start", start, sandboxes), sandboxes.agent_events)

    async def on_history(self, history: History, sandboxes: Sandboxes) -> None:
        """Call `on_history`."""
        await self._enter("on_history", history, sandboxes)

    async def on_turn(self, message: Message, sandboxes: Sandboxes) -> list[ReplyPart]:
        """Call `on_turn`."""
        return parse_replies(await self._enter("on_turn", message, sandboxes), sandboxes.agent_events)

    async def on_task(self, task_item: Mapping[str, JsonValue], sandboxes: Sandboxes) -> JsonValue:
        """Call `on_task`."""
        return parse_answer(await self._enter("on_task", task_item, sandboxes))

    def program_seconds(self) -> float | None:
        """Return the processor time of the process."""
        return self._process.program_seconds()

    def close(self) -> Mapping[str, JsonValue]:
        """End the process and everything it started; return its standard error, and its stack if it hung."""
        facts = dict(self._process.close())
        stderr, stack = split_stack(str(facts.get("agent_stderr", "")))
        if stack:
            facts |= {"agent_stderr": stderr, "agent_stack": stack}
        return facts

    async def _enter(self, entry: EntryPointName, argument: Any, sandboxes: Sandboxes) -> Any:
        call = {"call": entry, "argument": argument}
        if not self._knows_sandboxes:
            self._knows_sandboxes = True
            call["sandboxes"] = {name: describe_handle(handle.kind, type(handle)) for name, handle in sandboxes.items()}
            call["models"] = {provider: address._asdict() for provider, address in sandboxes.models.items()}
            call["traces"] = sandboxes.traces and sandboxes.traces._asdict()
        try:
            return await self._call(call, sandboxes)
        except InputError as error:  # it was imported before the run, so this is the agent's failure
            raise AgentError(str(error)) from None

    async def _call(self, call: Mapping[str, Any], sandboxes: Sandboxes | None) -> Any:
        """Send a call, answer the requests that arrive before its result, and return the result."""
        self._process.send(orjson.dumps(call, default=report_fields))  # orjson serializes dataclasses itself
        self._process.dumps_stack = True
        while (line := await self._process.receive()) is not None:
            message = parse_object(line, "a line of its process")
            if "part" in message:
                self._requests.take_part(message["part"])
            elif "request" in message and sandboxes is not None:
                self._process.send(self._requests.answer(message, sandboxes))
            else:
                self._process.dumps_stack = False
                return _parse_result(message)
        raise await self._ended()

    async def _ended(self) -> AgentError:
        code = await self._process.exit_code(EXIT_TIMEOUT)
        end = "closed its connection" if code is None else f"ended with exit code {code}"
        return self._process.error(f"it {end}")


def _run(work: Awaitable[T]) -> T:
    """Run a coroutine on a new event loop, whatever loop this thread has."""
    loop = asyncio.new_event_loop()
    try:
        return loop.run_until_complete(work)
    finally:
        loop.close()


def _parse_result(message: Mapping[str, Any]) -> Any:
    """Return the value of a result, or raise the error in it."""
    if "failed" in message:
        raise AgentError(*_texts(message["failed"], "message", "trace"))
    if "refused" in message:
        text, hint = _texts(message["refused"], "message", "hint")
        raise InputError.of(text, hint=hint)
    if "value" not in message:
        raise AgentError(f"a line of its process has neither a value nor an error: {', '.join(sorted(message)[:10])}")
    return message["value"]


def _texts(fields: Any, *names: str) -> tuple[str, ...]:
    given = fields if isinstance(fields, dict) else {}
    return tuple(str(given.get(name, ""))[:100_000] for name in names)


class PythonProcessSolver:
    """A name in a module, imported in a new process for each trial."""

    agent_process = True

    def __init__(self, name: str, target: Mapping[str, str], folder: Path) -> None:
        self.name = name
        self._target, self._folder = target, folder
        self._isolation = NOT_ISOLATED
        self._capabilities: AgentCapabilities | None = None
        self._entries: frozenset[EntryPointName] = frozenset()

    def isolate(self, isolation: Isolation) -> None:
        """Start later processes under this isolation, including the one that imports the agent before a run."""
        self._isolation = isolation

    def paths(self) -> tuple[Path, ...]:
        """Return the working folder, and the files that are read when the agent is imported."""
        module = self._target.get("module") or self._target["reference"].partition(":")[0]
        return (self._folder, *_files_of(module, [str(self._folder), *sys.path]))

    def capabilities(self) -> AgentCapabilities:
        """Import it once in a process, and return which kinds of its own events it reports.

        Raises InputError where it cannot be imported.
        """
        if self._capabilities is None:
            emits = reported_events(self._import(), self.name)
            self._capabilities = AgentCapabilities(engine=self.name, emits=emits)
        return self._capabilities

    def _import(self) -> Any:
        agent = self._new()
        try:
            return agent.load(make=False)
        except TimeoutError:
            raise InputError.of(f"agent {self.name}: importing it took over {MAX_IMPORT_SECONDS:g} seconds") from None
        except AgentError as error:
            raise InputError.of(f"agent {self.name}: importing it failed: {error}") from None
        finally:
            agent.close()

    def open(self, solution: str | None, trial: int = 1) -> Agent:
        """Start a process, import the agent, and create an instance if it is a class."""
        return self.open_with(NO_MODEL_ADDRESSES, None)

    def open_with(self, models: Mapping[str, ModelAddress], traces: TraceAddress | None) -> Agent:
        """Open an agent like `open`, with the addresses for its model calls and its spans."""
        agent = self._new()
        try:
            agent.load(make=True, models=models, traces=traces)
            self._entries = self._entries or agent.entries
            if agent.entries != self._entries:
                raise AgentError("its entry points differ from those in the trial before")
        except BaseException as error:
            agent.close()
            if isinstance(error, InputError):  # it was imported before the run, so this is the agent's failure
                raise AgentError(f"importing it failed: {error}") from None
            raise
        return agent

    def _new(self) -> PythonProcessAgent:
        return PythonProcessAgent(self.name, self._target, self._folder, self._isolation)


def _files_of(module: str, places: Iterable[str]) -> list[Path]:
    """Find the files of a module and its packages, without importing them."""
    files, folders = list[Path](), [Path(place) for place in places]
    for part in module.split("."):
        named = [folder / part for folder in folders]
        files += [file for path in named for file in (path / "__init__.py", path.with_suffix(".py")) if file.is_file()]
        folders = [path for path in named if path.is_dir()]
    return [*files, *(folder for folder in folders if folder / "__init__.py" in files)]


def load_python_process(reference: str) -> PythonProcessSolver:
    """Build a solver for `module:name` without importing it here."""
    _check_system(f"python:{reference}")
    return PythonProcessSolver(f"python:{reference}", {"reference": reference}, Path.cwd())


def to_process(solver: PythonSolver) -> PythonProcessSolver:
    """Return a solver that runs the same agent in its own process; raise InputError if it has no importable name."""
    _check_system(solver.name)
    return PythonProcessSolver(solver.name, _target_of(solver), Path.cwd())


def _check_system(name: str) -> None:
    if os.name != "posix":
        hint = "remove --agent-process, or use `http:`"
        raise InputError.of(f"agent {name}: agents can have their own process only on Linux and macOS", hint=hint)


def _target_of(solver: PythonSolver) -> dict[str, str]:
    target = solver.target
    if inspect.ismodule(target):
        return {"module": _module_name(solver.name, target.__name__)}
    if not inspect.isclass(target) and not inspect.isfunction(target):
        kind = "a bound method" if inspect.ismethod(target) else f"an instance of {type(target).__name__}"
        raise _import_error(solver.name, f"it is {kind}, which exists only in this process")
    if target.__name__ == "<lambda>":
        raise _import_error(solver.name, "a lambda has no name")
    if "<locals>" in target.__qualname__:
        raise _import_error(solver.name, f"`{target.__qualname__}` is defined inside a function")
    reference = f"{_module_name(solver.name, target.__module__)}:{target.__qualname__}"
    if _resolve_target(target) is not target:
        raise _import_error(
            solver.name, f"`{reference}` is not this {'class' if inspect.isclass(target) else 'function'}"
        )
    return {"reference": reference}


def _resolve_target(target: Any) -> Any:
    """Return what its module has under the name of a class or function."""
    value: Any = sys.modules.get(target.__module__)
    for name in target.__qualname__.split("."):
        value = getattr(value, name, None)
    return value


def _module_name(agent: str, module: str) -> str:
    """Return the name by which another process can import a module."""
    if module != "__main__":
        return module
    main: ModuleType = sys.modules["__main__"]
    spec, file = getattr(main, "__spec__", None), getattr(main, "__file__", None)
    if spec is None and file is None:
        raise _import_error(agent, "it is defined in `__main__`, which has no file here")
    return str(spec.name if spec is not None else Path(file or "").stem)


def _import_error(agent: str, reason: str) -> InputError:
    return InputError.of(
        f"agent {agent} cannot be imported in its own process: {reason}",
        hint="use a class or function at the top level of a module, or remove agent_process",
    )
