"""The kinds of agents, by the first word of `--agent`."""

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import cast

from clerkship.actors.command import load_command
from clerkship.actors.contract import Solver
from clerkship.actors.nop import Nop
from clerkship.actors.openai_chat import load_openai
from clerkship.actors.oracle import Oracle
from clerkship.actors.python import load_python
from clerkship.actors.python_process import load_python_process
from clerkship.actors.recorded import RECORDED, load_recorded
from clerkship.actors.webhook import load_http, load_https
from clerkship.model.errors import InputError
from clerkship.settings import Settings

LoadSolver = Callable[[str, Settings], Solver]
"""Takes what follows the sort and its colon, and the settings."""


def _built_in(solver: type[Nop | Oracle]) -> LoadSolver:
    """Return a loader for an agent without parameters."""

    def load(rest: str, settings: Settings) -> Solver:
        if rest:
            name = solver.name
            raise InputError.of(f"agent `{name}:{rest}`: {name} takes nothing more", hint=f"write `{name}`")
        return solver()

    return load


def _python(rest: str, settings: Settings) -> Solver:
    if not rest:
        raise InputError.of("agent `python:`: no module", hint="write `python:module:name`")
    return load_python_process(rest) if settings.agent_process == "on" else load_python(rest)


def _rasa(rest: str, settings: Settings) -> Solver:
    return cast(Solver, import_module("clerkship.rasa.agent").load_rasa(rest, settings))


AGENTS: Mapping[str, LoadSolver] = {
    "nop": _built_in(Nop),
    "oracle": _built_in(Oracle),
    "python": _python,
    "command": load_command,
    "http": load_http,
    "https": load_https,
    "openai": load_openai,
    "rasa": _rasa,
    RECORDED: load_recorded,
}
