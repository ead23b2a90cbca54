"""`command:<words>`: an agent that is a program in any language and exchanges lines of JSON.

One process per trial. Each message goes to its standard input as one line. It replies on standard output with
`{"say": …}` or `{"answer": …}`, after any number of `{"report": …}` lines.
"""

import os
import re
import shlex
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import orjson
from pydantic import JsonValue

from clerkship.actors.contract import Agent, AgentError, Message, ReplyPart
from clerkship.actors.isolation.contract import NOT_ISOLATED, Isolation
from clerkship.actors.messages import (
    MessageAgent,
    excerpt,
    parse_object,
    parse_say,
    parse_task_answer,
    task_message,
)
from clerkship.actors.process import Process
from clerkship.actors.reply import MAX_ANSWER_LENGTH, parse_answer
from clerkship.model.errors import InputError
from clerkship.sandbox.handle import Sandboxes
from clerkship.sandbox.mcp_access import list_mcp_variables
from clerkship.sandbox.model_access import list_variables
from clerkship.sandbox.trace_access import list_trace_variables
from clerkship.settings import Settings, get_program_environment

TASK_FILE = "CLERKSHIP_TASK_FILE"
EXIT_TIMEOUT = 1.0
"""Seconds to wait for the exit code of a program that closed its output during a conversation."""
_LINE_NAME = "a line it wrote"
_MESSAGE_KEYS = frozenset({"say", "answer", "report"})
_MESSAGE_START = re.compile(rb'\s*\{\s*"(say|answer|report)"\s*:')
_FIRST_ARGUMENT = re.compile(r"(python|pypy)[\d.]*|(ba|da|z|k)?sh")
"""Programs whose first argument is a file, whatever its name, unless it is an option."""
_BY_SUFFIX = re.compile(r"node|deno|tsx|ts-node|ruby|perl|php|lua|Rscript|java")
_SUFFIXES = (".py", ".pyz", ".js", ".mjs", ".cjs", ".ts", ".mts", ".rb", ".pl", ".php", ".lua", ".R", ".jar", ".sh")
_NO_SCRIPT = ("-c", "-m", "-e", "-E", "-p", "-r", "-C", "--eval", "--print")
"""Options with code in the argument or in a module, so that there is no script."""
_MAX_SHEBANG = 512


class CommandAgent(MessageAgent):
    """One program in one trial, started with the first message."""

    def __init__(self, words: Sequence[str], folder: Path | None, isolation: Isolation = NOT_ISOLATED) -> None:
        super().__init__()
        self._process = Process(words, folder, isolation)

    async def on_turn(self, message: Message, sandboxes: Sandboxes) -> list[ReplyPart]:
        """Send a message and wait for `say`."""
        self._send(self.turn_message(message, sandboxes), sandboxes)
        try:
            while (line := await self._process.receive()) is not None:
                reply = self._take(line, "say", sandboxes)
                if reply is not None:
                    return parse_say(reply, _LINE_NAME, sandboxes)
            code = await self._process.exit_code(EXIT_TIMEOUT)
            end = "closed its output" if code is None else f"ended with exit code {code}"
            raise AgentError(
                f"it {end} during the conversation, in turn {message.turn}; "
                "a program in a conversation must read one message after another from standard input"
            )
        except AgentError as error:
            raise self._process.error(str(error)) from None

    async def on_task(self, task_item: Mapping[str, JsonValue], sandboxes: Sandboxes) -> JsonValue:
        """Send the task and wait for `answer`, or for the end of the program."""
        self._send(task_message(task_item, sandboxes), sandboxes)
        try:
            line = await self._process.receive()
            while line is not None and not line.strip():
                line = await self._process.receive()
            if line is not None and not line.lstrip().startswith(b'{"') and not _MESSAGE_START.match(line):
                return await self._plain(line, sandboxes)
            while line is not None:
                reply = self._take(line, "answer", sandboxes)
                if reply is not None:
                    return parse_task_answer(reply, _LINE_NAME)
                line = await self._process.receive()
            await self._good_end()
        except AgentError as error:
            raise self._process.error(str(error)) from None
        return None

    async def check_end(self) -> None:
        """Raise AgentError if the program ends by itself, with another exit code than 0."""
        code = await self._process.own_exit_code() if self._process.started else None
        if code:
            raise self._process.error(f"it ended with exit code {code} after its last message")

    def program_seconds(self) -> float | None:
        """Return the processor time of the program."""
        return self._process.program_seconds()

    def close(self) -> Mapping[str, JsonValue]:
        """End the program and all processes it started; return its standard error."""
        return self._process.close()

    def _send(self, message: dict[str, Any], sandboxes: Sandboxes) -> None:
        line = orjson.dumps(message)
        if not self._process.started:
            addresses = list_variables(sandboxes.models) | list_mcp_variables(sandboxes.mcp)
            addresses |= list_trace_variables(sandboxes.traces)
            variables = get_program_environment() | addresses
            self._process.start(variables, {TASK_FILE: line})  # not in variables, which other processes may read
        self._process.send(line)

    def _take(self, line: bytes, key: str, sandboxes: Sandboxes) -> dict[str, Any] | None:
        """Return a reply, which should have this key; None if the line is empty or only reports."""
        if not line.strip():
            return None
        reply = _parse_message(line, key)
        self.take_reports(reply, sandboxes)
        return None if reply.keys() == {"report"} else reply

    async def _plain(self, first: bytes, sandboxes: Sandboxes) -> JsonValue:
        """Return everything that a program prints as its answer, if it does not use messages and exits with code 0.

        Messages still count, because a program may print a log line before its first message.
        """
        text = bytearray(first)
        has_reported = False
        while (line := await self._process.receive()) is not None:
            if _MESSAGE_START.match(line):
                reply = self._take(line, "answer", sandboxes)
                if reply is not None:
                    return parse_task_answer(reply, _LINE_NAME)
                has_reported = True
                continue
            text += b"\n" + line
            if len(text) > 4 * MAX_ANSWER_LENGTH:
                raise AgentError(f"it printed more than {MAX_ANSWER_LENGTH:,} characters without a message")
        await self._good_end()
        if has_reported:  # it uses messages, so the other lines are logs
            return None
        return parse_answer(text.decode(errors="replace").strip())

    async def _good_end(self) -> None:
        code = await self._process.exit_code()
        if code:
            raise AgentError(f"it ended with exit code {code}")


def _parse_message(line: bytes, key: str) -> dict[str, Any]:
    """Return a line as a message; raise AgentError, which says where to print logs if the line may be one."""
    expected = f'expected {{"{key}": …}}; print logs to standard error'
    start = line.lstrip()
    try:
        message = parse_object(line, _LINE_NAME)
    except AgentError as error:
        if start.startswith(b'{"'):
            raise
        hint = "write it with json.dumps" if start.startswith(b"{'") else expected
        raise AgentError(f"{error}; {hint}") from None
    if message and not message.keys() & _MESSAGE_KEYS:
        raise AgentError(f"{_LINE_NAME} is not a message: {excerpt(line)}; {expected}")
    return message


class CommandSolver:
    """A command line, run for each trial in the folder where it was given."""

    uses_protocols = True

    def __init__(self, name: str, words: Sequence[str], folder: Path) -> None:
        self.name = name
        self._words, self._folder = words, folder
        self._isolation = NOT_ISOLATED

    def isolate(self, isolation: Isolation) -> None:
        """Start the programs of later trials under this isolation."""
        self._isolation = isolation

    def paths(self) -> tuple[Path, ...]:
        """Return the working folder, the program, and every file or folder that the command line names."""
        program = shutil.which(self._words[0]) or self._words[0]
        named = (self._folder / word for word in (program, *self._words[1:]))
        return (self._folder, *(path for path in named if os.path.exists(path)))  # noqa: PTH110  (a word may be too long)

    def open(self, solution: str | None, trial: int = 1) -> Agent:
        """Return an agent; its program is started with the first message."""
        return CommandAgent(self._words, self._folder, self._isolation)

    def preflight(self) -> None:
        """Check that the script and the interpreter of the command line exist; do not start the program."""
        script = _find_script(self._words)
        if script is not None and not (self._folder / script).exists():
            message = f"agent {self.name}: no file `{script}` in {self._folder}"
            raise InputError.of(message, hint="start from the folder that contains it")
        interpreter = _find_interpreter(self._folder, self._words[0])
        if interpreter is not None and shutil.which(interpreter) is None:
            raise InputError.of(
                f"agent {self.name}: its first line names the interpreter `{interpreter}`, which is not installed",
                hint="install it, or change the first line",
            )


def _find_script(words: Sequence[str]) -> str | None:
    """Return the script that an interpreter runs; None if that is not certain."""
    program, arguments = Path(words[0]).name, words[1:]
    named = bool(_FIRST_ARGUMENT.fullmatch(program))
    if not named and not _BY_SUFFIX.fullmatch(program):
        return None
    for number, word in enumerate(arguments):
        if word in _NO_SCRIPT or "://" in word:
            return None
        if not word.startswith("-") and (word.endswith(_SUFFIXES) or (named and number == 0)):
            return word
    return None


def _find_interpreter(folder: Path, program: str) -> str | None:
    """Return the interpreter in the first line of a script; None if there is none."""
    try:
        with (folder / (shutil.which(program) or program)).open("rb") as file:
            first = file.readline(_MAX_SHEBANG)
    except OSError:  # a program may be executable and not readable
        return None
    words = first.removeprefix(b"#!").decode(errors="replace").split() if first.startswith(b"#!") else []
    if words and Path(words[0]).name == "env":
        words = [word for word in words[1:] if not word.startswith("-") and "=" not in word]
    return words[0] if words else None


def load_command(rest: str, settings: Settings) -> CommandSolver:
    """Build a solver from a command line in shell syntax; no shell is used."""
    name = f"command:{rest}"
    if os.name != "posix":
        raise InputError.of(f"agent {name}: programs run only on Linux and macOS", hint="use `http:`")
    try:
        words = shlex.split(rest)
    except ValueError as error:
        raise InputError.of(f"agent {name}: {str(error).lower()}") from None
    if not words:
        raise InputError.of("agent `command:`: no command", hint='write `--agent "command:node agent.mjs"`')
    if shutil.which(words[0]) is None:
        there = Path(words[0]).exists()
        raise InputError.of(
            f"agent {name}: {'not a program' if there else 'no program'} `{words[0]}`",
            hint="make it executable, or start with its interpreter" if there else "install it, or add it to the PATH",
        )
    return CommandSolver(name, words, Path.cwd())
