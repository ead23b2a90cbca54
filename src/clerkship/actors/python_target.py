"""Find a Python agent by name, list its entry points, and describe errors of its code.

Used by agents in this process and in their own process. The latter imports this module first, so it needs little
more than the standard library.
"""

import importlib
import inspect
import sys
import sysconfig
import traceback
from collections.abc import Callable, Mapping
from operator import attrgetter
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

from clerkship.actors.agent_data import AgentError, EntryPointName
from clerkship.actors.agent_file import suggest_names, suggest_python
from clerkship.kit.extras import describe_install, find_extra
from clerkship.kit.text import error_message, replace_surrogates
from clerkship.model.names import did_you_mean

_ENTRIES: dict[str, EntryPointName] = {"message": "on_turn", "task_item": "on_task"}
_OPTIONAL_ENTRIES: tuple[EntryPointName, ...] = ("on_start", "on_history")
"""Entry points that an agent may have together with on_turn."""
_PACKAGE = Path(__file__).parents[1]
_LIBRARIES = tuple(
    str(place) for place in (*(Path(sysconfig.get_path(name)) for name in ("stdlib", "purelib", "platlib")), _PACKAGE)
)
INSTALL_HINT = "install it in the environment of clerkship, such as with `uv tool install --with PACKAGE …`"
"""What to do if an agent imports a package that is of no extra."""
MAX_TRACE = 20_000
"""Characters of a traceback that are stored, from its end."""
MAX_MESSAGE = 2_000
MAX_REASON = 1_000
"""Characters of a server's error response that are shown."""


class NotAnAgent(Exception):
    """A name cannot be imported, or an object is not an agent."""

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.message, self.hint = message, hint


class EntryPoint(NamedTuple):
    """A function to call, and how many of the two arguments it takes."""

    function: Callable[..., Any]
    arity: int
    is_async: bool


def find_target(reference: str) -> Any:
    """Import the object that `module:name` refers to, also from the working folder; raise NotAnAgent."""
    module_name, _, written_name = reference.partition(":")
    name = written_name or "agent"
    if module_name.endswith(".py") or "/" in module_name:
        raise NotAnAgent(f"agent python:{reference}: not a module", suggest_python(module_name, written_name))
    try:
        module = import_from_here(module_name)
    except ModuleNotFoundError as error:
        missing = (error.name or "").partition(".")[0]
        is_agent = missing == module_name.partition(".")[0]
        hint = "run clerkship in the folder that has the module" if is_agent else _describe_install(missing)
        raise NotAnAgent(f"agent python:{reference}: no module `{error.name}`", hint) from None
    except (Exception, SystemExit) as error:
        raise NotAnAgent(f"agent python:{reference}: importing it failed: {describe_error(error)}") from None
    try:
        return attrgetter(name)(module)
    except AttributeError:
        known = [known for known in vars(module) if not known.startswith("_")]
        hint = did_you_mean(name, known)
        if not written_name or not hint.startswith("did you mean"):
            hint = suggest_names(module_name, getattr(module, "__file__", None)) or hint
        raise NotAnAgent(f"agent python:{reference}: no `{name}` in {module_name}", hint) from None


def _describe_install(package: str) -> str:
    """Return what to do if an agent imports a package that is not installed."""
    extra = find_extra(package)
    if extra is None:
        return INSTALL_HINT
    return f"install the extra `{extra}` in the environment of clerkship, with {describe_install(extra)}"


def import_from_here(name: str) -> ModuleType:
    """Import a module; one in the working folder takes precedence over others of its name, even imported ones."""
    here = Path.cwd()
    if sys.path[:1] != [str(here)]:
        sys.path.insert(0, str(here))
    known, mine = sys.modules.get(name), here.joinpath(*name.split(".")).with_suffix(".py")
    if known is not None and mine.is_file() and getattr(known, "__file__", None) != str(mine):
        del sys.modules[name]
    return importlib.import_module(name)


def find_entry_points(target: Any, name: str) -> dict[EntryPointName, EntryPoint]:
    """Return the entry points of an object; raise NotAnAgent if it has none."""
    entries: dict[EntryPointName, Callable[..., Any]] = {
        entry: getattr(target, entry) for entry in _ENTRIES.values() if callable(getattr(target, entry, None))
    }
    for entry in _OPTIONAL_ENTRIES:
        if "on_turn" in entries and callable(getattr(target, entry, None)):
            entries[entry] = getattr(target, entry)
    if not entries and callable(target):
        first = next(iter(_parameters(target)), "")
        if first not in _ENTRIES:
            raise NotAnAgent(f"agent {name}: the first parameter of the function must be `message` or `task_item`")
        entries = {_ENTRIES[first]: target}
    if not entries:
        raise NotAnAgent(f"agent {name}: it has neither on_turn nor on_task")
    return {
        entry: EntryPoint(function, _arity(function), inspect.iscoroutinefunction(function))
        for entry, function in entries.items()
    }


def check_class(target: type, name: str) -> None:
    """Raise NotAnAgent if no instance of a class can have an entry point.

    A class that makes its attributes itself, in a constructor or on access, may have one.
    """
    own = {attribute for each in target.__mro__ if each is not object for attribute in vars(each)}
    if own.isdisjoint((*_ENTRIES.values(), "__init__", "__new__", "__getattr__", "__getattribute__")):
        raise NotAnAgent(f"agent {name}: it has neither on_turn nor on_task")


def _parameters(function: Callable[..., Any]) -> Mapping[str, inspect.Parameter]:
    try:
        return inspect.signature(function).parameters
    except ValueError:  # functions written in C may have no signature
        return {}


def _arity(function: Callable[..., Any]) -> int:
    kinds = [parameter.kind for parameter in _parameters(function).values()]
    if inspect.Parameter.VAR_POSITIONAL in kinds or not kinds:
        return 2
    named = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return min(2, sum(kind in named for kind in kinds))


def agent_error(error: BaseException, prefix: str = "") -> AgentError:
    """Return an AgentError for an exception of the agent's code, whose `str()` may fail."""
    try:
        return _with_trace(error, prefix)
    except BaseException:  # foreign code
        return AgentError(f"{prefix}an exception without a description")


def _with_trace(error: BaseException, prefix: str) -> AgentError:
    first = error.__traceback__
    while first is not None and is_library(first.tb_frame.f_code.co_filename):
        first = first.tb_next  # leave out our own frames, down to the agent's first
    trace = "".join(traceback.format_exception(type(error), error, first or error.__traceback__))[-MAX_TRACE:]
    return AgentError(prefix + describe_error(error), replace_surrogates(trace))


def describe_error(error: BaseException) -> str:
    """Return type and message of an error with the innermost line of the agent's own code."""
    frames = traceback.extract_tb(error.__traceback__)
    own = [frame for frame in frames if not is_library(frame.filename)]
    place = f" ({Path(own[-1].filename).name}:{own[-1].lineno})" if own else ""
    return replace_surrogates(
        f"{type(error).__name__}: {error_message(error)[:MAX_MESSAGE]}{_server_reason(error)}{place}"
    )


def _server_reason(error: BaseException) -> str:
    """Return a server's response, if an HTTP client's error holds it and does not show it.

    `httpx` and `requests` have it as `response`; the `HTTPError` of `urllib` is the response itself.
    """
    try:
        response = getattr(error, "response", None)
        is_reply = type(error).__module__ == "urllib.error" and hasattr(error, "read")
        body = response.text if response is not None else error.read() if is_reply else ""  # type: ignore[attr-defined]
        text = body.decode(errors="replace") if isinstance(body, bytes) else str(body)
    except Exception:  # the body was never read, or the connection is closed
        return ""
    text = " ".join(text.split())[:MAX_REASON]
    return f"; the server replied: {text}" if text and text not in error_message(error) else ""


def is_library(file: str) -> bool:
    """Return whether a file belongs to Python, an installed package or Clerkship, and not to the agent."""
    return file.startswith("<") or (file.startswith(_LIBRARIES) and not Path(file).is_relative_to(_PACKAGE / "demo"))
