"""The process of an agent written in Python: `python -m clerkship.actors.python_host`.

It imports the agent, then calls its entry points on request. The pipes to the platform are moved away from
descriptors 0 and 1 before the agent is imported, so that whatever the agent or a child prints goes to standard
error. Imports are few, because every trial waits for them.
"""

import contextvars
import faulthandler
import inspect
import math
import os
import signal
import sys
from typing import Any

from clerkship.actors.agent_data import AgentError, EntryPointName, History, Message, Say, Start, Turn
from clerkship.actors.host_link import HostLink
from clerkship.actors.python_target import (
    EntryPoint,
    NotAnAgent,
    agent_error,
    check_class,
    find_entry_points,
    find_target,
    import_from_here,
)
from clerkship.by_name import load
from clerkship.kit.text import replace_surrogates

MAX_PLAIN_TEXT = 100_000
MAX_PLAIN_DEPTH = 20
_INTEGERS = range(-(2**63), 2**64)


class Host:
    """One agent, and the calls of its entry points."""

    def __init__(self, link: HostLink) -> None:
        self._link = link
        self._context = contextvars.copy_context()
        self._entrances: dict[EntryPointName, EntryPoint] = {}
        self._places: dict[str, dict[str, str]] = {}
        self._models: dict[str, dict[str, str]] = {}
        self._traces: dict[str, str] | None = None
        self._sandboxes: Any = None
        self._loop: Any = None

    def serve(self) -> None:
        """Answer calls until the platform closes the connection."""
        while (call := self._link.next_call()) is not None:
            self._places = call.get("sandboxes", self._places)
            self._models = call.get("models", self._models)
            self._traces = call.get("traces", self._traces)
            result = self._load(call) if call["call"] == "load" else self._call(call["call"], call["argument"])
            self._link.send(result)

    def _load(self, call: dict[str, Any]) -> dict[str, Any]:
        """Import the agent; create an instance if it is a class and one is requested."""
        sys.path[:] = call["path"]
        try:
            target = import_from_here(call["module"]) if "module" in call else find_target(call["reference"])
            emits = _declared(getattr(target, "reported_events", None))
            if inspect.isclass(target):
                check_class(target, call["name"])
            if not inspect.isclass(target):
                self._entrances = find_entry_points(target, call["name"])
            elif call["make"]:
                self._entrances = find_entry_points(self._make(target), call["name"])
        except NotAnAgent as error:
            return {"refused": {"message": error.message, "hint": error.hint}}
        except AgentError as error:
            return _failed(error)
        return {"value": {"entries": sorted(self._entrances), "emits": emits}}

    def _make(self, target: Any) -> Any:
        try:
            return self._context.run(target)
        except BaseException as error:  # the agent's code may raise anything
            raise agent_error(error, "its constructor failed: ") from error

    def _call(self, entry: EntryPointName, argument: Any) -> dict[str, Any]:
        function, arity, _ = self._entrances[entry]
        try:
            arguments = [_decode(entry, argument), self._get_sandboxes() if arity > 1 else None]
            result = self._context.run(function, *arguments[:arity])
            if hasattr(result, "__await__"):
                result = self._await(result)
            return {"value": _encode(entry, result)}
        except AgentError as error:
            return _failed(error)
        except BaseException as error:  # the agent's code may raise anything
            return _failed(agent_error(error))

    def _get_sandboxes(self) -> Any:
        if self._sandboxes is None:
            open_sandboxes = load("clerkship.actors.host_sandboxes:open_host_sandboxes")
            self._sandboxes = open_sandboxes(self._link, self._places, models=self._models, traces=self._traces)
        return self._sandboxes

    def _await(self, awaitable: Any) -> Any:
        """Run a coroutine on the agent's event loop, which lives as long as the process."""
        if self._loop is None:
            self._loop = load("asyncio:new_event_loop")()
        return self._loop.run_until_complete(self._loop.create_task(_awaited(awaitable), context=self._context))


async def _awaited(awaitable: Any) -> Any:
    return await awaitable


def _failed(error: AgentError) -> dict[str, Any]:
    trace = getattr(error, "trace", "")  # an agent may raise its own subclass
    return {
        "failed": {
            "message": replace_surrogates(str(error)),
            "trace": replace_surrogates(trace) if isinstance(trace, str) else "",
        }
    }


def _declared(events: Any) -> Any:
    """Return `reported_events` as JSON; false if it is not a list."""
    if events is None or not isinstance(events, list | tuple | set | frozenset):
        return None if events is None else False
    return [str(kind) for kind in events]


def _decode(entry: EntryPointName, argument: Any) -> Any:
    if entry == "on_turn":
        return Message(**argument)
    if entry == "on_start":
        return Start(**argument)
    if entry == "on_history":
        turns = (Turn(**{**turn, "answer": tuple(map(_said, turn["answer"]))}) for turn in argument["turns"])
        return History(**{**argument, "turns": tuple(turns)})
    return argument


def _said(part: dict[str, Any]) -> Any:
    if "kind" in part:
        return load("clerkship.actors.reply:parse_report")(part)
    return Say(**{**part, "buttons": tuple(part["buttons"])})


def _encode(entry: EntryPointName, value: Any) -> Any:
    """Return a result as JSON. Values that are not plain are validated here as in the platform's process."""
    if entry == "on_history":
        return None
    if entry == "on_task":
        return value if _is_plain(value) else load("clerkship.actors.reply:parse_answer")(value)
    items = [_fields(item) for item in value] if type(value) is list else _fields(value)
    if _is_plain(items):
        return items
    parts = load("clerkship.actors.reply:parse_replies")(value, None)
    return [_part(part) for part in parts]


def _fields(item: Any) -> Any:
    if type(item) is not Say or type(item.text) is not str:
        return item
    buttons = list(item.buttons) if type(item.buttons) is tuple else item.buttons
    return {**item.fields(), "buttons": buttons}


def _part(part: Any) -> Any:
    if isinstance(part, Say):
        return _fields(part)
    return load("clerkship.actors.reply:report_fields")(part)


def _is_plain(value: Any, depth: int = 0) -> bool:
    """Return whether JSON represents a value exactly, and it is too small for a limit to apply."""
    kind = type(value)
    if kind is str:
        return len(value) <= MAX_PLAIN_TEXT and (value.isascii() or _is_unicode(value))
    if kind is int:
        return value in _INTEGERS
    if kind is float:
        return math.isfinite(value)
    if depth > MAX_PLAIN_DEPTH:
        return False
    if kind is list:
        return all(_is_plain(item, depth + 1) for item in value)
    if kind is dict:
        return all(type(key) is str and _is_plain(key) and _is_plain(item, depth + 1) for key, item in value.items())
    return value is None or kind is bool


def _is_unicode(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:  # a lone surrogate
        return False
    return True


def main() -> None:
    """Run the agent's process: import the agent, and answer messages until standard input is closed."""
    reading, writing = os.dup(0), os.dup(1)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.dup2(2, 1)
    os.close(nothing)
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(line_buffering=True)  # type: ignore[union-attr]
    faulthandler.register(signal.SIGUSR1)  # the platform sends it before it ends a process that hangs
    os.write(writing, b"\n")  # the platform answers with the same, see `isolation.contract.READY`
    if os.read(reading, 1) != b"\n":
        return
    Host(HostLink(reading, writing)).serve()


if __name__ == "__main__":
    main()
