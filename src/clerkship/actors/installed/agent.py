"""An installed program as an agent: one process per trial, which gets the task as prompt and the sandboxes as tools.

See docs/decisions/0042-installed-agents.md.
"""

import os
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path

import orjson
from pydantic import JsonValue

from clerkship.actors.command import TASK_FILE, CommandAgent, CommandSolver
from clerkship.actors.contract import Agent, AgentError, EntryPointName
from clerkship.actors.installed.claude_code import ClaudeCode
from clerkship.actors.installed.codex import Codex
from clerkship.actors.installed.program import (
    CodingProgram,
    InstalledProgram,
    Launch,
    find_program,
    is_logged_in,
)
from clerkship.actors.isolation.contract import Isolation
from clerkship.actors.messages import MAX_REPLY_BYTES, render_task_item, task_message
from clerkship.actors.reply import parse_answer
from clerkship.model.errors import InputError
from clerkship.model.usage import MODEL_USAGE
from clerkship.sandbox.handle import Sandboxes
from clerkship.sandbox.mcp_access import SERVER_NAME
from clerkship.sandbox.model_access import ModelAddress, list_variables
from clerkship.sandbox.trace_access import list_trace_variables
from clerkship.settings import Settings, get_program_environment

PROGRAMS: Mapping[str, CodingProgram] = {program.name: program for program in (ClaudeCode(), Codex())}
"""The programs by the kind of agent."""
_NESTED = ("CLAUDECODE", "CLAUDE_CODE_ENTRYPOINT")
"""Variables that a program has set if it started this process; with them it refuses to start again."""
_ANSWER = (
    "Your last message is your answer. If it is valid JSON, it is read as JSON; write a text that looks like a number "
    "in double quotes. Do not ask questions: there is no one to reply."
)
_FENCE = "```"


class InstalledAgent(CommandAgent):
    """A program in one trial, started with its task. It holds no conversations."""

    entries: frozenset[EntryPointName] = frozenset({"on_task"})

    def __init__(self, solver: "InstalledSolver", words: Sequence[str], isolation: Isolation) -> None:
        super().__init__(words, None, isolation)
        self._solver = solver
        self._facts: dict[str, JsonValue] = {"agent_version": solver.installed.version_text}

    async def on_task(self, task_item: Mapping[str, JsonValue], sandboxes: Sandboxes) -> JsonValue:
        """Start the program with the task as its input, and return its last message."""
        program, process = self._solver.program, self._process
        address = self._solver.find_models(sandboxes)
        launch = Launch(process.open_private_folder(), sandboxes.mcp, *address)
        words, variables = program.prepare(launch)
        inherited = {name: value for name, value in get_program_environment().items() if name not in _NESTED}
        message = orjson.dumps(task_message(task_item, sandboxes))
        addresses = list_variables(sandboxes.models) | list_trace_variables(sandboxes.traces)
        environ = inherited | addresses | variables
        process.start(environ, {TASK_FILE: message}, [*words, *self._solver.options])
        process.send(render_prompt(task_item, sandboxes).encode(), is_last=True)
        try:
            output = await self._read_output()
            code = await process.exit_code()
            if not sandboxes.models and (usage := program.read_usage(output)):
                self._facts[MODEL_USAGE] = {**usage}
            answer = parse_answer(_read_json(program.read_answer(output, launch.folder)))
            if code:
                raise AgentError(f"it ended with exit code {code}")
            return answer
        except AgentError as error:
            raise process.error(str(error)) from None

    def close(self) -> Mapping[str, JsonValue]:
        """End the program and all processes it started; return its version, its usage and its standard error."""
        return self._facts | dict(super().close())

    async def _read_output(self) -> bytes:
        """Return the end of what it prints."""
        output = bytearray()
        while (line := await self._process.receive()) is not None:
            output += line + b"\n"
            del output[:-MAX_REPLY_BYTES]
        return bytes(output)


def render_prompt(task_item: Mapping[str, JsonValue], sandboxes: Sandboxes) -> str:
    """Return the task, with the systems that it is about and the time there."""
    systems = ", ".join(f"{name} ({handle.kind})" for name, handle in sandboxes.items())
    way = f"Use the tools of the MCP server `{SERVER_NAME}`."
    told = [f"You work with these systems: {systems}. {way}"] if systems else []
    time = f"It is {sandboxes.now:%A %Y-%m-%d %H:%M %Z}."
    return "\n\n".join([render_task_item(task_item), *told, time, _ANSWER])


def _read_json(text: str) -> JsonValue:
    """Return the value of a message that is JSON, also within a fence of Markdown; else the text, or None if empty."""
    stripped = text.strip()
    if stripped.startswith(_FENCE) and stripped.endswith(_FENCE) and "\n" in stripped:
        stripped = stripped.partition("\n")[2][: -len(_FENCE)].strip()
    try:
        value: JsonValue = orjson.loads(stripped)
    except orjson.JSONDecodeError:
        return text.strip() or None
    return value


class InstalledSolver(CommandSolver):
    """A program that was found on this machine, with the options of the user."""

    needs_no_key_in_replay = True

    def __init__(self, name: str, program: CodingProgram, options: Sequence[str], settings: Settings) -> None:
        self.installed: InstalledProgram = find_program(program)
        super().__init__(name, [self.installed.path], Path.cwd())
        self.program, self.options = program, tuple(options)
        self._settings, self._is_logged_in = settings, False

    def paths(self) -> tuple[Path, ...]:
        """Return the program, and the folder that a link leads to."""
        path = Path(self.installed.path)
        return path, path.resolve().parent

    def open(self, solution: str | None, trial: int = 1) -> Agent:
        """Return an agent; its program is started with its task."""
        return InstalledAgent(self, self._words, self._isolation)

    def preflight(self) -> None:
        """Check that the program has a key or a login."""
        if not self._find_key():
            self._check_login()

    def find_models(self, sandboxes: Sandboxes) -> ModelAddress:
        """Return the address and key of its models: of the run, else of the settings, else empty for its own login.

        Raise InputError if it has none of these.
        """
        provider = self.program.provider
        if provider in sandboxes.models:
            return sandboxes.models[provider]
        if key := self._find_key():
            return ModelAddress(getattr(self._settings, f"{provider}_base_url"), key)
        self._check_login()
        return ModelAddress("", "")

    def _find_key(self) -> str:
        key: str = getattr(self._settings, f"{self.program.provider}_api_key")
        return key

    def _check_login(self) -> None:
        self._is_logged_in = self._is_logged_in or is_logged_in(self.program, self.installed.path)
        if not self._is_logged_in:
            variable = f"{self.program.provider.upper()}_API_KEY"
            hint = f"set {variable}, so that the run logs its model calls, or log in with `{self.program.login}`"
            raise InputError.of(f"agent {self.name}: {self.program.title} has no key and is not logged in", hint=hint)


def load_installed(kind: str, rest: str, settings: Settings) -> InstalledSolver:
    """Build a solver from `claude-code`, or from `claude-code:--model opus` with options of the program."""
    name = f"{kind}:{rest}" if rest else kind
    if os.name != "posix":
        raise InputError.of(f"agent {name}: programs run only on Linux and macOS", hint="use `http:`")
    try:
        options = shlex.split(rest)
    except ValueError as error:
        raise InputError.of(f"agent {name}: {str(error).lower()}") from None
    return InstalledSolver(name, PROGRAMS[kind], options, settings)


def load_claude_code(rest: str, settings: Settings) -> InstalledSolver:
    """Build the solver of `claude-code`."""
    return load_installed(ClaudeCode.name, rest, settings)


def load_codex(rest: str, settings: Settings) -> InstalledSolver:
    """Build the solver of `codex`."""
    return load_installed(Codex.name, rest, settings)
