"""The sandboxes as tools of a model, and the calls that it makes."""

import re
from collections.abc import Collection, Iterable, Mapping
from contextlib import suppress
from itertools import chain
from typing import Any

import orjson

from clerkship.events.agent import MODEL_ANSWER_CUT_OFF, TOOL_CALL_AS_TEXT, ActionExecuted, Noted, ToolCallRejected
from clerkship.model.names import did_you_mean
from clerkship.providers.contract import ModelTool, ModelToolCall, ModelToolResult
from clerkship.sandbox.handle import Dropped, Incomplete, Refused, Sandboxes
from clerkship.sandbox.json_schema import build_any_schema
from clerkship.sandbox.request import JSON, Reply, Request
from clerkship.sandbox.tools import BadArguments, Tool, build_tools, index_by_name

CUT_OFF = "cut off at the limit of tokens"
_JSON_BLOCK = re.compile(r"(?s)(?:```\w*|<tool_calls?>|<function_call>)\s*([\[{].*?[\]}])\s*(?:```|</\w+>|\Z)")
_CALL_IN_WORDS = re.compile(r"\s*(?:```\w*\s*)?([A-Za-z_]\w*)\s*\(")
_NAME_KEYS = ("name", "tool", "function", "tool_name", "action")
_ARGUMENT_KEYS = frozenset({"arguments", "parameters", "args", "action_input", "tool_input"})
MAX_RESULT_LENGTH = 100_000
"""Characters of a tool's result that the model sees; a page of fifty resources has about 70,000."""
MAX_REPORTED_ARGUMENTS = 2_000
"""Characters of a malformed call's arguments that are logged."""
MAX_REPORTED_NAME = 80
"""Characters of the name of a tool or argument in a malformed call that are logged."""
MAX_LISTED_TOOLS = 40
"""Names of tools that a model is told after a call of an unknown one."""
FINISH_TOOL = ModelTool(
    "finish",
    "Say that the work is done, with its answer: whatever the instruction asks for, as JSON.",
    {
        "type": "object",
        "properties": {"answer": {"description": "the answer; null if none is asked for", **build_any_schema()}},
        "required": ["answer"],
        "additionalProperties": False,
    },
)
WAIT_TOOL = ModelTool(
    "wait",
    "Let time pass: this long, or without a duration until the next thing happens.",
    {
        "type": "object",
        "properties": {"duration": {"type": "string", "description": "such as 90s, 10m, 2h"}},
        "required": [],
        "additionalProperties": False,
    },
)


class TaskFinished(Exception):
    """The model called `finish`."""

    def __init__(self, answer: Any) -> None:
        super().__init__()
        self.answer = answer


class Toolbox:
    """The tools of a model, and their execution."""

    def __init__(self, sandboxes: Sandboxes, *, besides: str | None = None, works: bool = False) -> None:
        self._sandboxes = sandboxes
        others = [(name, handle) for name, handle in sandboxes.items() if name != besides]
        is_only = len(others) == 1
        tools = [build_tools(name, box.routes, box.operations, is_only=is_only) for name, box in others]
        self._tools = index_by_name(chain.from_iterable(tools))
        self._own = {"finish": self._finish, "wait": self._wait} if works else {}
        self.definitions = [
            *(ModelTool(name, tool.description, tool.parameters) for name, tool in self._tools.items()),
            *((FINISH_TOOL, WAIT_TOOL) if works else ()),
        ]

    def report_cut_off(self) -> None:
        """Report that an answer of the model ended at the limit of tokens."""
        self._sandboxes.report(Noted(what=MODEL_ANSWER_CUT_OFF))

    def report_call_in_text(self, text: str | None) -> None:
        """Report that the model wrote a tool call as text: its server did not read it as one, and nothing is called."""
        tool = find_tool_in_text(text or "", {*self._tools, *self._own})
        if tool is not None:
            self._sandboxes.report(Noted(what=TOOL_CALL_AS_TEXT, data={"tool": tool[:MAX_REPORTED_NAME]}))

    def report_malformed_call(self) -> str:
        """Report a call that the provider could not read and left out; return what to tell the model."""
        self._sandboxes.report(ToolCallRejected(tool_name="", reason="the provider could not read the call"))
        return "Your tool call could not be read. Call the tool again, with valid arguments."

    def call(self, call: ModelToolCall, *, is_cut_off: bool = False) -> ModelToolResult:
        """Execute a tool call; return its result. A malformed call is reported and not executed."""
        name, written = call.name, call.arguments
        try:
            if not name:
                raise BadArguments("not a function call", expected="a function with a name and arguments")
            self._check_name(name)
            result = self._do(name, self._parse_arguments(name, written))
            is_error = False
        except BadArguments as error:
            is_error = True
            reason = f"{error}; the call was {CUT_OFF}" if is_cut_off else str(error)
            result = f"error: {reason}"
            self._sandboxes.report(
                ToolCallRejected(
                    tool_name=name[:MAX_REPORTED_NAME],
                    argument=error.argument[:MAX_REPORTED_NAME] or None,
                    reason=reason[:MAX_REPORTED_ARGUMENTS],
                    arguments=_shorten(written),
                )
            )
        return ModelToolResult(call.id, name, result, is_error)

    def _check_name(self, name: str) -> None:
        """Raise BadArguments for an unknown tool."""
        names = [*self._tools, *self._own]
        if name not in names:
            listed = ", ".join(names[:MAX_LISTED_TOOLS]) + (", …" if len(names) > MAX_LISTED_TOOLS else "")
            raise BadArguments(f"no tool `{name[:80]}`; {did_you_mean(name[:80], names) or f'known: {listed}'}")

    def _parse_arguments(self, name: str, written: Any) -> dict[str, Any]:
        if written in (None, ""):
            return {}
        try:
            arguments = orjson.loads(written) if isinstance(written, str) else written
        except orjson.JSONDecodeError as error:
            wrong = f"the arguments are not JSON: {error}"
        else:
            if isinstance(arguments, dict):
                return arguments
            wrong = "the arguments are not a JSON object"
        raise BadArguments(wrong, expected=f"a JSON object with {', '.join(self._find_names(name)) or 'no fields'}")

    def _find_names(self, name: str) -> Iterable[str]:
        """Return the names of a tool's arguments."""
        own = {tool.name: tool for tool in (FINISH_TOOL, WAIT_TOOL)} if name in self._own else self._tools
        properties: Mapping[str, Any] = own[name].parameters["properties"]
        return properties

    def _do(self, name: str, arguments: dict[str, Any]) -> str:
        if name in self._own:
            return self._own[name](arguments)
        tool = self._tools[name]
        request = tool.parse_arguments(arguments) if tool.route is None else tool.build_request(arguments)
        self._sandboxes.report(ActionExecuted(name=name, arguments=arguments))
        return _cut_result(self._use_tool(tool, request), tool.operation.shorter_hint)

    def _use_tool(self, tool: Tool, request: Request | dict[str, Any]) -> str:
        try:
            handle = self._sandboxes[tool.sandbox]
            if not isinstance(request, Request):
                return _render_reply(handle.call(tool.operation.name, request))
            media = request.headers.get("content-type", JSON)
            reply = handle.request(request.method, request.path, query=request.query, body=request.body, media=media)
        except Refused as refused:
            reply = refused.reply
        except Incomplete as incomplete:
            return f"error: {incomplete}; what came: {_render_reply(incomplete.reply)}"
        except Dropped as dropped:
            return f"error: {dropped}"
        return _render_reply(reply)

    def _finish(self, arguments: dict[str, Any]) -> str:
        if arguments.keys() != {"answer"}:
            wrong = next((name for name in arguments if name != "answer"), "answer")
            raise BadArguments("finish takes `answer`, and nothing else", wrong)
        raise TaskFinished(arguments["answer"])

    def _wait(self, arguments: dict[str, Any]) -> str:
        duration = arguments.get("duration")
        if arguments.keys() - {"duration"} or not isinstance(duration, str | int | float | None):
            wrong = next((name for name in arguments if name != "duration"), "duration")
            raise BadArguments("wait takes `duration`, such as 10m, or nothing", wrong)
        try:
            waited = self._sandboxes.wait(duration)
        except (ValueError, OverflowError) as error:
            raise BadArguments(str(error), "duration") from None
        self._sandboxes.report(ActionExecuted(name="wait", arguments=arguments))
        return f"It is {self._sandboxes.now.isoformat()}." if waited else "Nothing more is going to happen by itself."


def find_tool_in_text(text: str, tools: Collection[str]) -> str | None:
    """Return the tool that a text calls: as JSON, fenced, tagged or plain, or as `name(…)`; None if it calls none."""
    if not tools:
        return None
    call = _CALL_IN_WORDS.match(text)
    if call is not None and call[1] in tools:
        return call[1]
    for block in _JSON_BLOCK.findall(text) or [text]:
        with suppress(orjson.JSONDecodeError):
            value = orjson.loads(block)
            names = (_read_written_name(one, tools) for one in (value if isinstance(value, list) else [value]))
            if (name := next(filter(None, names), None)) is not None:
                return name
    return None


def _read_written_name(value: Any, tools: Collection[str]) -> str | None:
    """Return the name in a call that was written as JSON; an unknown name counts only beside arguments."""
    if not isinstance(value, dict):
        return None
    function = value.get("function")
    value = function if isinstance(function, dict) else value
    name = next((value[key] for key in _NAME_KEYS if isinstance(value.get(key), str)), None)
    return name if name is not None and (name in tools or not value.keys().isdisjoint(_ARGUMENT_KEYS)) else None


def _shorten(arguments: Any) -> Any:
    """Return the arguments of a call for the log; long ones as the beginning of their text."""
    text = arguments if isinstance(arguments, str) else orjson.dumps(arguments, default=str).decode()
    if len(text) > MAX_REPORTED_ARGUMENTS:
        return f"{text[:MAX_REPORTED_ARGUMENTS]}…"
    return arguments


def _render_reply(reply: Reply) -> str:
    try:
        body = reply.body.decode()
    except UnicodeDecodeError:
        body = f"({len(reply.body):,} bytes that are not text)"
    if not reply.ok:
        return f"refused with status {reply.status}: {body}"
    return body or f"done ({reply.status})"


def _cut_result(result: str, less: str) -> str:
    """Cut a long result, with a notice before and after it that says how to ask for less."""
    if len(result) <= MAX_RESULT_LENGTH:
        return result
    notice = f"cut at {MAX_RESULT_LENGTH:,} of {len(result):,} characters: {less or 'the rest cannot be shown'}"
    return f"[{notice}]\n{result[:MAX_RESULT_LENGTH]}\n[… {notice}]"
