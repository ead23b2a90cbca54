"""`python:module:name`: an agent written in Python, in this process.

The name may be a class (a fresh instance per trial), an object or a module with `on_turn` and/or `on_task`,
or one function whose first parameter is `message` or `task_item`. Sync or async. What has `on_turn` may have
`on_start` too: it is called before the person's first line, with the slots the scenario sets; and `on_history`, to
go on with a conversation it has not had. `reported_events` may list the kinds of its own events that it reports.
"""

import asyncio
import hashlib
import importlib
import inspect
import sys
import traceback
from collections.abc import Callable, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple, TypeVar
from urllib.error import HTTPError

from pydantic import JsonValue

from clerkship.actors.agent_output import AgentOutput, watch_streams
from clerkship.actors.agent_stack import is_library
from clerkship.actors.contract import NOTHING, Agent, AgentError, AgentStopped, Entry, History, Message, Said, Start
from clerkship.actors.reply import parse_answer, parse_replies
from clerkship.events.agent import AGENT
from clerkship.kit.text import writable
from clerkship.model.domain import Abilities
from clerkship.model.names import did_you_mean
from clerkship.model.problem import InputError
from clerkship.sandbox.door import Sandboxes

T = TypeVar("T")
_ENTRIES: dict[str, Entry] = {"message": "on_turn", "task_item": "on_task"}
_BESIDE: tuple[Entry, ...] = ("on_start", "on_history")
"""What only one that answers people has."""
MAX_TRACEBACK = 20_000
MAX_REASON = 1_000
"""Characters shown of the body with which a server refused a request."""


class Entrance(NamedTuple):
    """A function to call, with how many of the two arguments it takes."""

    function: Callable[..., Any]
    arity: int
    is_async: bool


class PythonAgent:
    """Adapts functions of either kind to the two entry points."""

    def __init__(self, entrances: Mapping[Entry, Entrance], output: AgentOutput | None = None) -> None:
        self.entries: frozenset[Entry] = frozenset(entrances)
        self._entrances = entrances
        self._output = output or AgentOutput()
        self._context = self._output.context  # what it sets there ends with it

    async def on_start(self, start: Start, sandboxes: Sandboxes) -> list[Said]:
        """Tell it that a conversation begins."""
        return await self._call("on_start", (start, sandboxes), parse_replies)

    async def on_history(self, history: History, sandboxes: Sandboxes) -> None:
        """Tell it of the conversation it goes on with."""
        await self._call("on_history", (history, sandboxes), lambda returned: None)

    async def on_turn(self, message: Message, sandboxes: Sandboxes) -> list[Said]:
        """Hand the message over."""
        return await self._call("on_turn", (message, sandboxes), parse_replies)

    async def on_task(self, task_item: Mapping[str, JsonValue], sandboxes: Sandboxes) -> JsonValue:
        """Hand the work over."""
        return await self._call("on_task", (task_item, sandboxes), parse_answer)

    def close(self) -> Mapping[str, JsonValue]:
        """Return what it has printed."""
        text = self._output.text()
        return {"agent_output": text} if text else NOTHING

    async def _call(self, entry: Entry, arguments: tuple[Any, ...], parse: Callable[[Any], T]) -> T:
        function, arity, is_async = self._entrances[entry]
        watch_streams()
        try:
            if is_async:
                result = function(*arguments[:arity])
            else:
                result = self._context.run(_call_sync, function, arguments[:arity])
            if hasattr(result, "__await__"):
                result = await asyncio.create_task(_awaited(result), context=self._context)
            return parse(result)
        except (AgentStopped, AgentError):
            raise
        except asyncio.CancelledError as error:
            task = asyncio.current_task()
            if task is not None and task.cancelling():
                raise  # its time is over, or the run is stopped
            raise _blame(error) from error
        except BaseException as error:  # foreign code: whatever it raises is its own failure
            raise _blame(error) from error


async def _awaited(result: Any) -> Any:
    """Await what an agent returned. An exit is made its error in here, or asyncio would end the loop and the thread."""
    try:
        return await result
    except (SystemExit, KeyboardInterrupt) as error:
        raise _blame(error) from error


def _call_sync(function: Callable[..., Any], arguments: tuple[Any, ...]) -> Any:
    """A sync function may bring its own loop (`asyncio.run`): while it works, this thread seems to have none."""
    loop = asyncio._get_running_loop()
    asyncio._set_running_loop(None)
    try:
        return function(*arguments)
    finally:
        asyncio._set_running_loop(loop)


class PythonSolver:
    """A name in a module, opened anew for each trial."""

    def __init__(self, name: str, target: Any) -> None:
        self.name = name
        self._target = target
        self._is_class = inspect.isclass(target)
        self._entrances = entrances(target, name) if not self._is_class else None

    def abilities(self) -> Abilities:
        """Which kinds of its own events it reports, where `reported_events` says so."""
        return Abilities(engine=self.name, emits=_reported_events(self._target, self.name))

    def open(self, solution: str | None, trial: int = 1) -> Agent:
        """A fresh instance where the target is a class."""
        if self._entrances is not None and not self._is_class:
            return PythonAgent(self._entrances)
        output = AgentOutput()
        try:
            made = output.context.run(_call_sync, self._target, ())
            if self._entrances is None:
                self._entrances = entrances(made, self.name)  # looked at once: signatures are slow to read
            bound = {entry: known._replace(function=getattr(made, entry)) for entry, known in self._entrances.items()}
        except (AgentStopped, InputError):
            raise
        except BaseException as error:  # foreign code: whatever it raises is its own failure
            raise _with_output(_blame(error, "it could not be made: "), output) from error
        return PythonAgent(bound, output)


def _reported_events(target: Any, name: str) -> frozenset[str] | None:
    declared = getattr(target, "reported_events", None)
    if declared is None:
        return None
    if not isinstance(declared, list | tuple | set | frozenset):
        raise InputError.of(
            f"agent {name}: `reported_events` is not a list", hint='write ["agent.flow.started"], or []'
        )
    known = {event.kind for event in AGENT}
    for kind in declared:
        if kind not in known:
            hint = did_you_mean(str(kind), known)
            raise InputError.of(f"agent {name}: unknown event kind `{kind}` in `reported_events`", hint=hint)
    return frozenset(declared)


def entrances(target: Any, name: str) -> dict[Entry, Entrance]:
    """The entry points something has."""
    found: dict[Entry, Callable[..., Any]] = {
        entry: getattr(target, entry) for entry in _ENTRIES.values() if callable(getattr(target, entry, None))
    }
    for entry in _BESIDE:
        if "on_turn" in found and callable(getattr(target, entry, None)):
            found[entry] = getattr(target, entry)
    if not found and callable(target):
        first = next(iter(_parameters(target)), "")
        if first not in _ENTRIES:
            raise InputError.of(f"agent {name}: the first parameter of a function is `message` or `task_item`")
        found = {_ENTRIES[first]: target}
    if not found:
        raise InputError.of(f"agent {name}: it has neither on_turn nor on_task")
    return {
        entry: Entrance(function, _arity(function), inspect.iscoroutinefunction(function))
        for entry, function in found.items()
    }


def _parameters(function: Callable[..., Any]) -> Mapping[str, inspect.Parameter]:
    try:
        return inspect.signature(function).parameters
    except ValueError:  # made in C, and silent about it
        return {}


def _arity(function: Callable[..., Any]) -> int:
    kinds = [parameter.kind for parameter in _parameters(function).values()]
    if inspect.Parameter.VAR_POSITIONAL in kinds or not kinds:
        return 2
    named = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return min(2, sum(kind in named for kind in kinds))


def load_python(reference: str) -> PythonSolver:
    """`module:name`, the module found from the working folder too."""
    module_name, _, name = reference.partition(":")
    name = name or "agent"
    if module_name.endswith(".py") or "/" in module_name:
        raise InputError.of(f"agent python:{reference}: not a module", hint="write its name, without path and .py")
    watch_streams()  # a logging handler that the module sets up shall write to these
    try:
        module = _import_from_here(module_name)
    except ModuleNotFoundError as error:
        raise InputError.of(f"agent python:{reference}: no module `{error.name}`") from None
    except (Exception, SystemExit) as error:
        raise InputError.of(f"agent python:{reference}: importing it failed: {_told(error)}") from None
    if not hasattr(module, name):
        known = [known for known in vars(module) if not known.startswith("_")]
        raise InputError.of(f"agent python:{reference}: no `{name}` in {module_name}", hint=did_you_mean(name, known))
    return PythonSolver(f"python:{reference}", getattr(module, name))


def _import_from_here(name: str) -> ModuleType:
    """A module of the working folder goes before any other of its name, one imported from another folder included."""
    here = Path.cwd()
    if sys.path[:1] != [str(here)]:
        sys.path.insert(0, str(here))
    known, mine = sys.modules.get(name), here.joinpath(*name.split(".")).with_suffix(".py")
    if known is not None and mine.is_file() and getattr(known, "__file__", None) != str(mine):
        del sys.modules[name]
    return importlib.import_module(name)


def load_source(source: str, name: str) -> PythonAgent:
    """An agent from the text of a file, such as a reference solution kept in a snapshot."""
    module = ModuleType(f"clerkship_solution_{hashlib.sha256(source.encode()).hexdigest()[:16]}")
    sys.modules[module.__name__] = module  # dataclasses and the like look their module up there
    try:
        exec(compile(source, name, "exec"), module.__dict__)
        agent = getattr(module, "Agent", module)
        return PythonAgent(entrances(agent() if inspect.isclass(agent) else agent, name))
    except (Exception, SystemExit) as error:
        raise InputError.of(f"{name}: running it failed: {_told(error)}") from None


def _blame(error: BaseException, prefix: str = "") -> AgentError:
    """Make the agent's error of whatever its code raised, which may not even let itself be described."""
    try:
        return _described(error, prefix)
    except BaseException:  # foreign code, to the last
        return AgentError(f"{prefix}an exception that cannot be described")


def _with_output(error: AgentError, output: AgentOutput) -> AgentError:
    """Add what was printed to the traceback, where there is no agent to keep it."""
    text = output.text()
    return AgentError(str(error), f"{error.trace}\nIt had printed:\n{text}") if text else error


def _described(error: BaseException, prefix: str) -> AgentError:
    first = error.__traceback__
    while first is not None and is_library(first.tb_frame.f_code.co_filename):
        first = first.tb_next  # how we came to call it is of no interest
    trace = "".join(traceback.format_exception(type(error), error, first or error.__traceback__))[-MAX_TRACEBACK:]
    return AgentError(prefix + _told(error), writable(trace))


def _told(error: BaseException) -> str:
    """The error with the agent's own line: not ours, and not one deep in a library."""
    frames = traceback.extract_tb(error.__traceback__)
    own = [frame for frame in frames if not is_library(frame.filename)]
    place = f" ({Path(own[-1].filename).name}:{own[-1].lineno})" if own else ""
    return writable(f"{type(error).__name__}: {_words(error)}{_server_reason(error)}{place}")


def _server_reason(error: BaseException) -> str:
    """Return what a server replied, where an HTTP client's error holds the reply and does not show its body.

    `httpx` and `requests` keep it as `response`, `urllib` is the reply itself.
    """
    try:
        response = getattr(error, "response", None)
        body = response.text if response is not None else error.read() if isinstance(error, HTTPError) else ""
        text = body.decode(errors="replace") if isinstance(body, bytes) else str(body)
    except Exception:  # the body was never read, or the connection is closed
        return ""
    text = " ".join(text.split())[:MAX_REASON]
    return f"; the server replied: {text}" if text and text not in _words(error) else ""


def _words(error: BaseException) -> str:
    try:
        return str(error)[:2000]
    except BaseException:  # foreign code, to the last
        return "(it cannot be described)"
