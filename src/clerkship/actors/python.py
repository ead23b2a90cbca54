"""`python:module:name`: an agent written in Python, in this process.

The name may be a class (a new instance per trial), an object or a module with `on_turn` and/or `on_task`, or a
function whose first parameter is `message` or `task_item`; sync or async. With `on_turn` it may also have
`on_start`, called before the person's first message with the slots of the scenario, and `on_history`, to continue a
conversation. `reported_events` may list the kinds of events that it reports.
"""

import asyncio
import contextlib
import hashlib
import inspect
import sys
from collections.abc import Callable, Iterator, Mapping
from types import ModuleType
from typing import Any, TypeVar

from pydantic import JsonValue

from clerkship.actors.agent_output import AgentOutput, wrap_streams
from clerkship.actors.contract import (
    NO_FACTS,
    Agent,
    AgentError,
    AgentStopped,
    EntryPointName,
    History,
    Message,
    ReplyPart,
    Start,
)
from clerkship.actors.python_target import (
    EntryPoint,
    NotAnAgent,
    agent_error,
    check_class,
    describe_error,
    find_entry_points,
    find_target,
)
from clerkship.actors.reply import parse_answer, parse_replies
from clerkship.events.agent import BUILT_IN_EVENTS
from clerkship.model.agent_domain import AgentCapabilities
from clerkship.model.errors import InputError
from clerkship.model.names import did_you_mean
from clerkship.sandbox.handle import Sandboxes

T = TypeVar("T")


class PythonAgent:
    """Adapts sync and async functions to the entry points."""

    def __init__(self, entrances: Mapping[EntryPointName, EntryPoint], output: AgentOutput | None = None) -> None:
        self.entries: frozenset[EntryPointName] = frozenset(entrances)
        self._entrances = entrances
        self._output = output or AgentOutput()
        self._context = self._output.context  # context variables of the agent end with it

    @classmethod
    def of(cls, target: Any, name: str) -> "PythonAgent":
        """Return the agent that an object or a function is; raise InputError if it is none."""
        with as_input_error():
            return cls(find_entry_points(target, name))

    def replaced_by(self, other: "PythonAgent") -> "PythonAgent":
        """Return the agent with the entry points of another in place of its own."""
        return PythonAgent({**self._entrances, **other._entrances})

    def get_function(self, entry: EntryPointName) -> Callable[..., Any]:
        """Return the function of an entry point, to be called with both arguments."""
        function, arity, _ = self._entrances[entry]
        return lambda *arguments: function(*arguments[:arity])

    async def on_start(self, start: Start, sandboxes: Sandboxes) -> list[ReplyPart]:
        """Call `on_start`."""
        return await self._call("on_start", (start, sandboxes), _replies_for(sandboxes))

    async def on_history(self, history: History, sandboxes: Sandboxes) -> None:
        """Call `on_history`."""
        await self._call("on_history", (history, sandboxes), lambda returned: None)

    async def on_turn(self, message: Message, sandboxes: Sandboxes) -> list[ReplyPart]:
        """Call `on_turn`."""
        return await self._call("on_turn", (message, sandboxes), _replies_for(sandboxes))

    async def on_task(self, task_item: Mapping[str, JsonValue], sandboxes: Sandboxes) -> JsonValue:
        """Call `on_task`."""
        return await self._call("on_task", (task_item, sandboxes), parse_answer)

    def close(self) -> Mapping[str, JsonValue]:
        """Return its output."""
        text = self._output.text()
        return {"agent_output": text} if text else NO_FACTS

    async def _call(self, entry: EntryPointName, arguments: tuple[Any, ...], parse: Callable[[Any], T]) -> T:
        function, arity, is_async = self._entrances[entry]
        wrap_streams()
        try:
            if is_async:
                result = function(*arguments[:arity])
            else:
                result = self._context.run(call_sync, function, arguments[:arity])
            if hasattr(result, "__await__"):
                result = await asyncio.create_task(_awaited(result), context=self._context)
            return parse(result)
        except (AgentStopped, AgentError):
            raise
        except asyncio.CancelledError as error:
            task = asyncio.current_task()
            if task is not None and task.cancelling():
                raise  # the time is over, or the run was stopped
            raise agent_error(error) from error
        except BaseException as error:  # any exception of the agent's code is the agent's failure
            raise agent_error(error) from error


async def _awaited(result: Any) -> Any:
    """Await a result. SystemExit becomes the agent's error here, because asyncio would end the loop and the thread."""
    try:
        return await result
    except (SystemExit, KeyboardInterrupt) as error:
        raise agent_error(error) from error


def call_sync(function: Callable[..., Any], arguments: tuple[Any, ...]) -> Any:
    """Call a sync function as if this thread had no event loop, because it may use `asyncio.run` itself."""
    loop = asyncio._get_running_loop()
    asyncio._set_running_loop(None)
    try:
        return function(*arguments)
    finally:
        asyncio._set_running_loop(loop)


class PythonSolver:
    """A name in a module; each trial gets a new instance if it is a class."""

    uses_protocols = True

    def __init__(self, name: str, target: Any) -> None:
        self.name = name
        self._target = target
        self._is_class = inspect.isclass(target)
        with as_input_error():
            if self._is_class:
                check_class(target, name)
            self._entrances = find_entry_points(target, name) if not self._is_class else None

    @property
    def target(self) -> Any:
        """The class, function, object or module that is the agent."""
        return self._target

    def capabilities(self) -> AgentCapabilities:
        """Which kinds of its own events it reports, where `reported_events` says so."""
        return AgentCapabilities(
            engine=self.name, emits=reported_events(getattr(self._target, "reported_events", None), self.name)
        )

    def open(self, solution: str | None, trial: int = 1) -> Agent:
        """Return an agent; a new instance if the target is a class."""
        if self._entrances is not None and not self._is_class:
            return PythonAgent(self._entrances)
        output = AgentOutput()
        try:
            made = output.context.run(call_sync, self._target, ())
            if self._entrances is None:
                with as_input_error():
                    self._entrances = find_entry_points(made, self.name)  # only once: reading signatures is slow
            bound = {entry: known._replace(function=getattr(made, entry)) for entry, known in self._entrances.items()}
        except (AgentStopped, InputError):
            raise
        except BaseException as error:  # any exception of the agent's code is the agent's failure
            raise _with_output(agent_error(error, "its constructor failed: "), output) from error
        return PythonAgent(bound, output)


def _replies_for(sandboxes: Sandboxes) -> Callable[[Any], list[ReplyPart]]:
    return lambda value: parse_replies(value, sandboxes.agent_events)


def reported_events(declared: Any, name: str) -> frozenset[str] | None:
    """Validate an agent's `reported_events`; raise InputError for unknown kinds."""
    if declared is None:
        return None
    if not isinstance(declared, list | tuple | set | frozenset):
        raise InputError.of(
            f"agent {name}: `reported_events` is not a list", hint='write ["agent.flow.started"], or []'
        )
    for kind in declared:
        # Plug-ins are not known here, so only the form of other kinds is checked.
        if kind not in BUILT_IN_EVENTS and (str(kind).startswith("agent.") or "." not in str(kind)):
            hint = did_you_mean(str(kind), BUILT_IN_EVENTS)
            raise InputError.of(f"agent {name}: unknown event kind `{kind}` in `reported_events`", hint=hint)
    return frozenset(declared)


def load_python(reference: str) -> PythonSolver:
    """Import `module:name`, also from the working folder; raise InputError if that fails."""
    wrap_streams()  # so that logging handlers of the module write to them
    with as_input_error():
        target = find_target(reference)
    return PythonSolver(f"python:{reference}", target)


@contextlib.contextmanager
def as_input_error() -> Iterator[None]:
    """Raise InputError in place of NotAnAgent."""
    try:
        yield
    except NotAnAgent as error:
        raise InputError.of(error.message, hint=error.hint) from None


def load_source(source: str, name: str) -> PythonAgent:
    """Return an agent from source code, such as a reference solution in a snapshot."""
    with _as_failed_source(name):
        module = load_module(source, name)
        agent = getattr(module, "Agent", module)
        return PythonAgent.of(agent() if inspect.isclass(agent) else agent, name)


def load_module(source: str, name: str) -> ModuleType:
    """Return a module from source code."""
    module = ModuleType(f"clerkship_solution_{hashlib.sha256(source.encode()).hexdigest()[:16]}")
    sys.modules[module.__name__] = module  # dataclasses look up their module there
    with _as_failed_source(name):
        exec(compile(source, name, "exec"), module.__dict__)
    return module


@contextlib.contextmanager
def _as_failed_source(name: str) -> Iterator[None]:
    try:
        yield
    except InputError:
        raise
    except (Exception, SystemExit) as error:
        raise InputError.of(f"{name}: running it failed: {describe_error(error)}") from None


def _with_output(error: AgentError, output: AgentOutput) -> AgentError:
    """Add the output to the traceback, because there is no agent that could return it."""
    text = output.text()
    return AgentError(str(error), f"{error.trace}\nIt had printed:\n{text}") if text else error
