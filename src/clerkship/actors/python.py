"""`python:module:name`: an agent written in Python, in this process.

The name may be a class (a fresh instance per trial), an object or a module with `on_turn` and/or `on_task`,
or one function whose first parameter is `message` or `task_item`. Sync or async.
"""

import importlib
import inspect
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

from pydantic import JsonValue

from clerkship.actors.contract import Agent, AgentError, Entry, Message, Say
from clerkship.actors.reply import parse_answer, parse_replies
from clerkship.model.names import did_you_mean
from clerkship.model.problem import InputError, PlatformError
from clerkship.sandbox.door import Sandboxes

_ENTRIES: dict[str, Entry] = {"message": "on_turn", "task_item": "on_task"}


class PythonAgent:
    """Adapts functions of either kind to the two entry points."""

    def __init__(self, functions: Mapping[Entry, Callable[..., Any]]) -> None:
        self.entries: frozenset[Entry] = frozenset(functions)
        self._functions = functions

    async def on_turn(self, message: Message, sandboxes: Sandboxes) -> list[Say]:
        """Hand the message over."""
        return parse_replies(await self._call("on_turn", message, sandboxes))

    async def on_task(self, task_item: Mapping[str, JsonValue], sandboxes: Sandboxes) -> JsonValue:
        """Hand the work over."""
        return parse_answer(await self._call("on_task", dict(task_item), sandboxes))

    async def _call(self, entry: Entry, *arguments: Any) -> Any:
        function = self._functions[entry]
        try:
            result = function(*arguments[: _arity(function)])
            return await result if hasattr(result, "__await__") else result
        except PlatformError:
            raise
        except (Exception, SystemExit) as error:  # foreign code: whatever it raises is its own failure
            raise AgentError(_told(error)) from error


class PythonSolver:
    """A name in a module, opened anew for each trial."""

    def __init__(self, name: str, target: Any) -> None:
        self.name = name
        self._target = target
        self._functions = functions(target, name)

    def open(self, solution: str | None) -> Agent:
        """A fresh instance where the target is a class."""
        if not inspect.isclass(self._target):
            return PythonAgent(self._functions)
        try:
            made = self._target()
        except Exception as error:
            raise AgentError(f"it could not be made: {_told(error)}") from error
        return PythonAgent({entry: getattr(made, entry) for entry in self._functions})


def functions(target: Any, name: str) -> dict[Entry, Callable[..., Any]]:
    """The entry points something has."""
    if inspect.isfunction(target):
        first = next(iter(inspect.signature(target).parameters), "")
        if first not in _ENTRIES:
            raise InputError.of(f"agent {name}: the first parameter of a function is `message` or `task_item`")
        return {_ENTRIES[first]: target}
    found: dict[Entry, Callable[..., Any]] = {
        entry: getattr(target, entry) for entry in _ENTRIES.values() if callable(getattr(target, entry, None))
    }
    if not found:
        raise InputError.of(f"agent {name}: it has neither on_turn nor on_task")
    return found


def _arity(function: Callable[..., Any]) -> int:
    """How many of the two arguments it takes; a plain function's count is cached by Python's own code object."""
    code = getattr(function, "__code__", None)
    if code is None or code.co_flags & inspect.CO_VARARGS:
        return 2
    return min(2, int(code.co_argcount) - inspect.ismethod(function))


def load_python(reference: str) -> PythonSolver:
    """`module:name`, the module found from the working folder too."""
    module_name, _, name = reference.partition(":")
    name = name or "agent"
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.insert(0, here)
    try:
        module = importlib.import_module(module_name)
    except ModuleNotFoundError as error:
        raise InputError.of(f"agent python:{reference}: no module `{error.name}`") from None
    except Exception as error:
        raise InputError.of(f"agent python:{reference}: importing it failed: {_told(error)}") from None
    if not hasattr(module, name):
        known = [known for known in vars(module) if not known.startswith("_")]
        raise InputError.of(f"agent python:{reference}: no `{name}` in {module_name}", hint=did_you_mean(name, known))
    return PythonSolver(f"python:{reference}", getattr(module, name))


def load_source(source: str, name: str) -> PythonAgent:
    """An agent from the text of a file, such as a reference solution kept in a snapshot."""
    module = ModuleType("solution")
    try:
        exec(compile(source, name, "exec"), module.__dict__)
    except Exception as error:
        raise InputError.of(f"{name}: running it failed: {_told(error)}") from None
    agent = getattr(module, "Agent", module)
    return PythonAgent(functions(agent() if inspect.isclass(agent) else agent, name))


def _told(error: BaseException) -> str:
    """The error with the agent's own line, not ours."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    place = f" ({Path(trace.tb_frame.f_code.co_filename).name}:{trace.tb_lineno})" if trace is not None else ""
    return f"{type(error).__name__}: {str(error)[:2000]}{place}".encode(errors="replace").decode()
