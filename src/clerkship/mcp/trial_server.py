"""The sandboxes of a trial as an MCP server: tools, and the task and documents as resources."""

from collections.abc import Mapping, Sequence
from typing import Any

import orjson

from clerkship import __version__
from clerkship.actors.contract import AgentError
from clerkship.actors.reply import parse_answer
from clerkship.actors.toolbox import OwnTool, TaskFinished, Toolbox, ToolOptions
from clerkship.events.agent import ActionExecuted
from clerkship.mcp.messages import INVALID_PARAMS, INVALID_REQUEST, PARSE_ERROR, McpMessage
from clerkship.mcp.server import McpAnswer, McpResource, McpTool, ToolOutcome, UnknownTool, answer_message
from clerkship.mcp.task import TaskHost
from clerkship.providers.contract import ModelTool, ModelToolCall
from clerkship.sandbox.handle import Sandboxes
from clerkship.sandbox.request import JSON
from clerkship.sandbox.tools import BadArguments, Tool

MAX_RESULT_LENGTH = 40_000
"""Characters of a result that a client gets at once, against a broken agent: 10,000 tokens, less than clients cut."""
SCHEME = "clerkship://"
TASK_URI = f"{SCHEME}task"
READ_RESOURCE = "read_resource"
"""The action that is logged when a document is read."""
FINISHED = "error: the task is finished; no further calls are executed"
_ALWAYS_LOAD = {"anthropic/alwaysLoad": True}
"""Has Claude Code load a tool at once, instead of hiding it behind a search."""
_MALFORMED = (PARSE_ERROR, INVALID_REQUEST, INVALID_PARAMS)


class TrialServer:
    """What an agent finds at the MCP endpoint of its trial."""

    name, version = "clerkship", __version__

    def __init__(self, sandboxes: Sandboxes, host: TaskHost) -> None:
        self._sandboxes, self._host = sandboxes, host
        own: tuple[OwnTool, ...] = ("wait", "read_more")
        own = ("finish", *own) if host.served.takes_answer else own
        self._toolbox = Toolbox(sandboxes, ToolOptions(own, host.served.besides, MAX_RESULT_LENGTH))
        self._names = frozenset(tool.name for tool in self._toolbox.definitions)
        self._tools = [self._describe_tool(definition) for definition in self._toolbox.definitions]
        self.instructions = _write_instructions(sandboxes, host)

    def answer(self, data: bytes, headers: Mapping[str, str]) -> McpAnswer:
        """Answer one message. A tool call that is not executed because it is malformed is logged."""
        answer = answer_message(self, data, headers)
        message, error = answer.message, answer.error
        is_call = message is None or message.method == "tools/call"
        if error is not None and is_call and error.code in _MALFORMED:
            self._report_malformed(message, str(error))
        return answer

    def list_tools(self) -> Sequence[McpTool]:
        """Return the tools of the sandboxes, then those that every agent has."""
        return self._tools

    def call_tool(self, name: str, arguments: Mapping[str, Any]) -> ToolOutcome:
        """Execute a tool call as that of any model: it is logged, and a wrong one is refused with the reason."""
        if name not in self._names:
            raise UnknownTool(self._explain_unknown(name))
        if self._host.answers:
            return ToolOutcome(FINISHED, is_error=True)
        try:
            result = self._toolbox.call(ModelToolCall("", name, dict(arguments)))
        except TaskFinished as finished:
            return self._finish(finished.answer)
        except AgentError as error:
            return ToolOutcome(f"error: {error}", is_error=True)
        return ToolOutcome(result.content, result.is_error)

    def list_resources(self) -> Sequence[McpResource]:
        """Return the task and the public documents."""
        task = McpResource(uri=TASK_URI, name="task", description="What there is to do.", media=JSON)
        documents = self._host.list_documents().items()
        tasks = [] if self._host.served.task_item is None else [task]
        return [*tasks, *(McpResource(uri=f"{SCHEME}{path}", name=document.title) for path, document in documents)]

    def read_resource(self, uri: str) -> str | None:
        """Return the text of a resource. Reading a document is logged as an action."""
        task_item = self._host.served.task_item
        if uri == TASK_URI:
            return None if task_item is None else orjson.dumps(task_item, option=orjson.OPT_INDENT_2).decode()
        document = self._host.list_documents().get(uri.removeprefix(SCHEME))
        if document is None or not uri.startswith(SCHEME):
            return None
        self._sandboxes.report(ActionExecuted(name=READ_RESOURCE, arguments={"uri": uri}))
        return document.render()

    def _describe_tool(self, definition: ModelTool) -> McpTool:
        tool = self._toolbox.tools.get(definition.name)
        return McpTool(
            name=definition.name,
            description=definition.description,
            parameters=definition.parameters,
            annotations={"readOnlyHint": True} if tool is not None and _only_reads(tool) else {},
            meta=_ALWAYS_LOAD if tool is None or tool.operation.essential else {},
        )

    def _explain_unknown(self, name: str) -> str:
        try:
            self._toolbox.check_name(name)
        except BadArguments as error:
            return str(error)
        return ""

    def _finish(self, answer: Any) -> ToolOutcome:
        try:
            self._host.finish(parse_answer(answer))
        except AgentError as error:
            return ToolOutcome(f"error: {error}", is_error=True)
        return ToolOutcome("The task is finished.")

    def _report_malformed(self, message: McpMessage | None, reason: str) -> None:
        params = {} if message is None else message.params
        name = params.get("name")
        self._toolbox.report_rejected(name if isinstance(name, str) else "", reason, params.get("arguments"))


def _only_reads(tool: Tool) -> bool:
    return tool.route is not None and tool.route.method == "GET"


def _write_instructions(sandboxes: Sandboxes, host: TaskHost) -> str:
    """Return what a model should know of the tools."""
    kinds = ", ".join(
        f"{name} ({handle.kind})" for name, handle in sandboxes.items() if name not in host.served.besides
    )
    parts = [
        f"The tools act on simulated systems: {kinds or 'none'}.",
        "Simulated time does not pass by itself while you think: to let something happen, call `wait`.",
        "A long result is cut, and says how to read on.",
    ]
    if host.served.task_item is not None:
        parts.append(f"The task is the resource {TASK_URI}.")
    if host.served.takes_answer:
        parts.append("When the work is done, call `finish` with the answer to the task, or null if none is asked for.")
    return " ".join(parts)
