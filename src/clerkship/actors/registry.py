"""The kinds of agents, by the first word of `--agent`, whose module is imported when an agent is named."""

from collections.abc import Callable, Mapping
from typing import cast

from clerkship.actors.contract import Agent, AgentError, Solver
from clerkship.by_name import load
from clerkship.model.errors import InputError
from clerkship.model.run import IsolationLevel
from clerkship.settings import Settings

RECORDED = "recorded"
LoadSolver = Callable[[str, Settings], Solver]
"""Builds a solver from the text after `kind:`, and the settings."""


class RecordedSolver:
    """The agent that was recorded under a name; without a name, the only recorded one."""

    isolation: IsolationLevel = "built-in"

    def __init__(self, whose: str = "") -> None:
        self.whose = whose
        self.name = f"{RECORDED}:{whose}" if whose else RECORDED

    def open(self, solution: str | None, trial: int = 1) -> Agent:
        """Raise AgentError: the engine builds the agent, because turns are found by the task."""
        raise AgentError("a recorded agent can only be used in a replay")


def load_recorded(rest: str, settings: Settings) -> RecordedSolver:
    """Build a solver from `recorded` or `recorded:python:my_agent:Agent`."""
    return RecordedSolver(rest)


def _built_in(name: str, target: str) -> LoadSolver:
    """Return a loader for an agent without parameters."""

    def load_built_in(rest: str, settings: Settings) -> Solver:
        if rest:
            raise InputError.of(f"agent `{name}:{rest}`: {name} takes no arguments", hint=f"write `{name}`")
        return cast(Solver, load(target)())

    return load_built_in


def _loaded_by(target: str) -> LoadSolver:
    """Return a loader that imports a function and calls it."""

    def load_agent(rest: str, settings: Settings) -> Solver:
        return cast(Solver, load(target)(rest, settings))

    return load_agent


def _python(rest: str, settings: Settings) -> Solver:
    if not rest:
        raise InputError.of("agent `python:`: no module", hint="write `python:module:name`")
    has_process = settings.agent_process == "on"
    target = "python_process:load_python_process" if has_process else "python:load_python"
    return cast(Solver, load(f"clerkship.actors.{target}")(rest))


AGENTS: Mapping[str, LoadSolver] = {
    "nop": _built_in("nop", "clerkship.actors.nop:Nop"),
    "oracle": _built_in("oracle", "clerkship.actors.oracle:Oracle"),
    "python": _python,
    "command": _loaded_by("clerkship.actors.command:load_command"),
    "claude-code": _loaded_by("clerkship.actors.installed.agent:load_claude_code"),
    "codex": _loaded_by("clerkship.actors.installed.agent:load_codex"),
    "http": _loaded_by("clerkship.actors.http_bot_loading:load_http_agent"),
    "https": _loaded_by("clerkship.actors.http_bot_loading:load_https_agent"),
    **{name: _loaded_by(f"clerkship.actors.model_agent:load_{name}") for name in ("openai", "anthropic", "gemini")},
    "human": _loaded_by("clerkship.actors.human:load_human"),
    "rasa": _loaded_by("clerkship.rasa.agent:load_rasa"),
    RECORDED: load_recorded,
}
