"""An MCP server for coding assistants that write suites. Its tools run commands of Clerkship, and read its pages.

Each command runs in a process of its own, so that it sees agents and solutions as they are now.
"""

import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import orjson

from clerkship import __version__
from clerkship.by_name import load
from clerkship.mcp.server import McpResource, McpTool, ToolOutcome, UnknownTool
from clerkship.model.errors import InputError
from clerkship.service.doc_pages import find_page, find_pages, read_page, read_title

PROGRAM = (sys.executable, "-m", "clerkship")
DEFAULT_TIMEOUT = 900.0
"""Seconds that a command may take."""
MAX_RESULT_LENGTH = 40_000
"""Characters of a result: about 10,000 tokens."""
MAX_EXPLAINED_EVENTS = 150
SCHEME = "clerkship-docs:"
FIRST_PAGE = "write_tasks_with_a_model"
INSTRUCTIONS = (
    f"Write suites of tasks as YAML files with your own tools for files, and check them with these. Read the page "
    f"`{FIRST_PAGE}` first (tool `read_docs`). Then: validate, run with the agent `oracle` (all must pass) and `nop` "
    f"(none may pass), attack, and explain each failure."
)
_ASSERTIONS = "reference/assertions"
_SECTION = re.compile(r"^## (.+)$", re.MULTILINE)
_READS: Mapping[str, Any] = {"readOnlyHint": True}

Arguments = Mapping[str, Any]
Command = Sequence[str]


class CommandFailed(Exception):
    """A command could not be started, or took too long and was ended."""


class AuthoringTool(NamedTuple):
    """A tool, and the method of the server that it calls."""

    description: str
    call: Callable[["AuthoringServer", Arguments], str]
    properties: Mapping[str, Any]
    required: tuple[str, ...] = ()
    only_reads: bool = True

    @property
    def parameters(self) -> dict[str, Any]:
        """The JSON Schema of its arguments."""
        fields = {"properties": dict(self.properties), "required": [*self.required], "additionalProperties": False}
        return {"type": "object", **fields}


class AuthoringServer:
    """The tools, which work in one folder."""

    name, version, instructions = "clerkship", __version__, INSTRUCTIONS

    def __init__(self, folder: Path, timeout: float = DEFAULT_TIMEOUT, program: Command = PROGRAM) -> None:
        self._folder, self._timeout, self._program = folder, timeout, program

    def list_tools(self) -> Sequence[McpTool]:
        """Return all tools."""
        return [
            McpTool(
                name=name,
                description=tool.description,
                parameters=tool.parameters,
                annotations=_READS if tool.only_reads else {},
            )
            for name, tool in TOOLS.items()
        ]

    def call_tool(self, name: str, arguments: Arguments) -> ToolOutcome:
        """Check the arguments, and run the command of a tool."""
        tool = TOOLS.get(name)
        if tool is None:
            raise UnknownTool(f"unknown tool {name[:100]!r} (expected one of {', '.join(TOOLS)})")
        violation = load("clerkship.sandbox.json_schema:find_violation")(tool.parameters, arguments)
        if violation is not None:
            return ToolOutcome(str(violation), is_error=True)
        try:
            return ToolOutcome(_cut_result(tool.call(self, arguments)))
        except (CommandFailed, InputError) as error:
            return ToolOutcome(str(error), is_error=True)

    def list_resources(self) -> Sequence[McpResource]:
        """Return the pages of the documentation."""
        return [
            McpResource(uri=f"{SCHEME}{name}", name=read_title(path), media="text/markdown")
            for name, path in find_pages().items()
        ]

    def read_resource(self, uri: str) -> str | None:
        """Return the text of a page; None if there is none of that URI."""
        path = find_pages().get(uri.removeprefix(SCHEME)) if uri.startswith(SCHEME) else None
        return None if path is None else read_page(path)

    def run_command(self, command: Command) -> str:
        """Run a command of Clerkship; return what it prints, and its exit code. Raise CommandFailed."""
        try:
            process = subprocess.Popen(
                [*self._program, *command],
                cwd=self._folder,
                stdin=subprocess.DEVNULL,  # the client's messages come in on ours
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                start_new_session=True,
            )
        except (OSError, ValueError) as error:  # the folder was deleted; a value has a NUL
            raise CommandFailed(f"the command cannot be started: {error}") from None
        try:
            printed, errors = process.communicate(timeout=self._timeout)
        except subprocess.TimeoutExpired:
            what = f"`clerkship {' '.join(command)}` took longer than {self._timeout:g} s and was ended"
            raise CommandFailed(f"{what}; choose fewer tasks or trials, or start the server with --timeout") from None
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)  # the agents that it started, too
                process.communicate()
        parts = [printed.decode(errors="replace"), errors.decode(errors="replace"), f"exit code {process.returncode}"]
        return "\n".join(part.rstrip() for part in parts if part)

    def validate(self, arguments: Arguments) -> str:
        """Check the files of a suite."""
        return self.run_command(["validate", "--", arguments["path"]])

    def run(self, arguments: Arguments) -> str:
        """Run tasks with an agent."""
        options = [f"--agent={arguments['agent']}", f"--trials={arguments.get('trials', 1)}"]
        options += [f"--task={name}" for name in arguments.get("tasks", ())]
        options += ["--no-judge"] if arguments.get("no_judge") else []
        return self.run_command(["run", *options, "--", arguments["path"]])

    def attack(self, arguments: Arguments) -> str:
        """Run the agents that must not pass."""
        options = [f"--task={name}" for name in arguments.get("tasks", ())]
        options += [f"--only={name}" for name in arguments.get("only", ())]
        return self.run_command(["suite", "attack", *options, "--", arguments["path"]])

    def show(self, arguments: Arguments) -> str:
        """Show a run, or one task of it."""
        options = [f"--trial={arguments['trial']}"] if "trial" in arguments else []
        return self.run_command(["show", *options, "--", arguments.get("run", "latest"), *_list_task(arguments)])

    def compare(self, arguments: Arguments) -> str:
        """Compare two runs."""
        return self.run_command(["compare", "--", arguments["before"], arguments.get("after", "latest")])

    def explain_failure(self, arguments: Arguments) -> str:
        """Show the criteria of a task with all evidence, and its log. Without a task: the first that did not pass."""
        run, task = arguments.get("run", "latest"), _list_task(arguments) or self._find_failure(arguments)
        if not task:
            return f"every task of {run} passed"
        options = ["--criteria", "--events", f"--limit={MAX_EXPLAINED_EVENTS}"]
        options += [f"--trial={arguments['trial']}"] if "trial" in arguments else []
        return self.run_command(["show", *options, "--", run, *task])

    def _find_failure(self, arguments: Arguments) -> list[str]:
        """Return the name of the first task of a run that did not pass, if there is one."""
        printed = self.run_command(["show", "--failed", "--json", "--", arguments.get("run", "latest")])
        try:
            tasks = orjson.loads(printed.rpartition("\nexit code")[0])["tasks"]
        except (orjson.JSONDecodeError, KeyError):
            raise CommandFailed(printed) from None  # there is no such run
        return [tasks[0]["task"]] if tasks else []

    def new_task(self, arguments: Arguments) -> str:
        """Write a task of a kind, with its solution."""
        options = [f"--in={arguments['folder']}"] if "folder" in arguments else []
        options += [f"--kind={arguments['kind']}"] if "kind" in arguments else []
        return self.run_command(["new", "task", *options, "--", arguments["name"]])

    def list_assertions(self, arguments: Arguments) -> str:
        """List the assertions, or describe some of them with an example and their keys."""
        sections = _read_sections(_ASSERTIONS)
        known = {name: text for name, text in sections.items() if " " not in name}
        names = arguments.get("names", ())
        unknown = [name for name in names if name not in known]
        if unknown:
            raise InputError.of(f"unknown assertion `{unknown[0][:60]}`", hint="call without `names` to list them")
        if names:
            return "\n\n".join(f"## {name}\n\n{known[name]}" for name in names)
        return "\n".join(f"- `{name}`: {_first_sentence(text)}" for name, text in known.items())

    def read_docs(self, arguments: Arguments) -> str:
        """Return a page, or one section of it; without a page, list all pages."""
        if "page" not in arguments:
            return "\n".join(f"- `{name}`: {read_title(path)}" for name, path in find_pages().items())
        if "section" not in arguments:
            return read_page(find_page(arguments["page"]))
        sections = _read_sections(arguments["page"])
        if arguments["section"] not in sections:
            known = ", ".join(f"`{name}`" for name in sections)
            raise InputError.of(f"the page has no section `{arguments['section'][:60]}`", hint=f"it has {known}")
        return sections[arguments["section"]]


def _list_task(arguments: Arguments) -> list[str]:
    return [arguments["task"]] if "task" in arguments else []


def _read_sections(page: str) -> dict[str, str]:
    """Return the texts of the sections of a page by their headings."""
    _, *parts = _SECTION.split(read_page(find_page(page)))
    return {title.strip(): text.strip() for title, text in zip(parts[::2], parts[1::2], strict=True)}


def _first_sentence(text: str) -> str:
    paragraph = " ".join(text.partition("\n\n")[0].split())
    return paragraph.partition(". ")[0].rstrip(".")


def _cut_result(text: str) -> str:
    """Cut the middle of a long result: the beginning says what it is, and the end how it went."""
    if len(text) <= MAX_RESULT_LENGTH:
        return text
    half, left_out = MAX_RESULT_LENGTH // 2, len(text) - MAX_RESULT_LENGTH
    return f"{text[:half]}\n[… {left_out:,} characters left out; ask for one task, or a section …]\n{text[-half:]}"


def _text(description: str) -> dict[str, Any]:
    return {"type": "string", "minLength": 1, "maxLength": 1000, "description": description}


def _texts(description: str) -> dict[str, Any]:
    return {"type": "array", "maxItems": 50, "items": _text("a name"), "description": description}


_PATH = _text("folder of the suite, or a file of it")
_RUN = _text("id of a run, or latest, latest~1; default: latest")
_TASK = _text("name of a task, or a part of it")
_TRIAL = {"type": "integer", "minimum": 1, "description": "trial of the task; default: the first that failed"}
TOOLS: Mapping[str, AuthoringTool] = {
    "read_docs": AuthoringTool(
        f"Read a page of the documentation, such as {FIRST_PAGE} or reference/steps, or a section of it. Without a "
        "page: list all pages.",
        AuthoringServer.read_docs,
        {"page": _text("name of the page"), "section": _text("heading of a section, such as fax.receive")},
    ),
    "list_assertions": AuthoringTool(
        "List the assertions that criteria can use; with names, each with an example and its keys.",
        AuthoringServer.list_assertions,
        {"names": _texts("assertions to describe")},
    ),
    "new_task": AuthoringTool(
        "Write a commented task that works, with its solution, to change afterwards. Without an environment in the "
        "folder, it writes one.",
        AuthoringServer.new_task,
        {
            "name": _text("name of the task"),
            "folder": _text("folder to write to; default: practice"),
            "kind": _text("what it is about: fhir, hl7, files, portal, payer, phone, fax, messages or chat"),
        },
        ("name",),
        only_reads=False,
    ),
    "validate": AuthoringTool(
        "Check the files of a suite: every mistake with file, line and what is meant.",
        AuthoringServer.validate,
        {"path": _PATH},
        ("path",),
    ),
    "run": AuthoringTool(
        "Run tasks with an agent, grade them, and store the run. `oracle` runs the reference solutions, `nop` does "
        "nothing.",
        AuthoringServer.run,
        {
            "path": _PATH,
            "agent": _text("oracle, nop, python:module:name, command:…, https://…, openai:model"),
            "tasks": _texts("only tasks whose names contain one of these"),
            "trials": {"type": "integer", "minimum": 1, "maximum": 1000, "description": "trials of each task"},
            "no_judge": {"type": "boolean", "description": "skip criteria that a model judges"},
        },
        ("path", "agent"),
        only_reads=False,
    ),
    "attack": AuthoringTool(
        "Run agents that must not pass, and the wrong solutions and other ways of the tasks; says how to close gaps.",
        AuthoringServer.attack,
        {"path": _PATH, "tasks": _texts("only these tasks"), "only": _texts("only these strategies")},
        ("path",),
        only_reads=False,
    ),
    "show": AuthoringTool(
        "Show a stored run, or one task of it with its conversation.",
        AuthoringServer.show,
        {"run": _RUN, "task": _TASK, "trial": _TRIAL},
    ),
    "explain_failure": AuthoringTool(
        "Explain why a task did not pass: each criterion with all its evidence, and what happened. Without a task: the "
        "first of the run that did not pass.",
        AuthoringServer.explain_failure,
        {"run": _RUN, "task": _TASK, "trial": _TRIAL},
    ),
    "compare": AuthoringTool(
        "Compare two runs by task, criterion and axis.",
        AuthoringServer.compare,
        {"before": _text("id of a run, or latest~1"), "after": _RUN},
        ("before",),
    ),
}
