"""The sandboxes as tools of a model, and the calls that it makes."""

import re
from collections import OrderedDict
from collections.abc import Callable, Collection, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from itertools import chain, count
from typing import TYPE_CHECKING, Any, Literal

import orjson

from clerkship.events.agent import MODEL_ANSWER_CUT_OFF, TOOL_CALL_AS_TEXT, ActionExecuted, Noted, ToolCallRejected
from clerkship.model.names import did_you_mean
from clerkship.providers.contract import ModelTool, ModelToolCall, ModelToolResult
from clerkship.sandbox.handle import Dropped, Incomplete, Refused, Sandboxes
from clerkship.sandbox.json_schema import build_any_schema
from clerkship.sandbox.request import JSON, Reply, Request
from clerkship.sandbox.tools import BadArguments, Tool, build_tools, index_by_name

if TYPE_CHECKING:
    from clerkship.model.environment import Toolset

CUT_OFF = "cut off at the limit of tokens"
_JSON_BLOCK = re.compile(r"(?s)(?:```\w*|<tool_calls?>|<function_call>)\s*([\[{].*?[\]}])\s*(?:```|</\w+>|\Z)")
_CALL_IN_WORDS = re.compile(r"\s*(?:```\w*\s*)?([A-Za-z_]\w*)\s*\(")
_NAME_KEYS = ("name", "tool", "function", "tool_name", "action")
_ARGUMENT_KEYS = frozenset({"arguments", "parameters", "args", "action_input", "tool_input"})
MAX_RESULT_LENGTH = 100_000
"""Characters of a tool's result that the model sees; a page of fifty resources has about 70,000."""
MAX_KEPT_RESULTS = 8
"""Long results whose other parts can be read later: memory, against a broken agent."""
MAX_KEPT_LENGTH = 2_000_000
"""Characters of one of them that can be read, against a broken agent."""
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
READ_MORE_TOOL = ModelTool(
    "read_more",
    "Read the next part of a result that was cut. The cut result says with which arguments.",
    {
        "type": "object",
        "properties": {
            "result": {"type": "integer", "description": "the number of the result"},
            "offset": {"type": "integer", "description": "the character to start at"},
        },
        "required": ["result", "offset"],
        "additionalProperties": False,
    },
)
OwnTool = Literal["finish", "wait", "read_more"]
_OWN_TOOLS: Mapping[OwnTool, ModelTool] = {"finish": FINISH_TOOL, "wait": WAIT_TOOL, "read_more": READ_MORE_TOOL}
WORK_TOOLS: tuple[OwnTool, ...] = ("finish", "wait")
"""The tools of a model that is given a task, besides the operations of the sandboxes."""


class TaskFinished(Exception):
    """The model called `finish`."""

    def __init__(self, answer: Any) -> None:
        super().__init__()
        self.answer = answer


@dataclass(frozen=True)
class ToolOptions:
    """What a model has besides the operations of the sandboxes."""

    own: tuple[OwnTool, ...] = ()
    besides: tuple[str, ...] = ()
    """Sandboxes whose operations are no tools: the conversation that the model is part of."""
    max_result: int = MAX_RESULT_LENGTH
    """Characters of a result that it sees at once."""
    toolset: "Toolset | None" = None
    """Which operations are tools; None for the toolset of each sandbox."""


class Toolbox:
    """The tools of a model, and their execution."""

    def __init__(self, sandboxes: Sandboxes, options: ToolOptions = ToolOptions()) -> None:  # noqa: B008  (it is frozen)
        self._sandboxes, self._max_result = sandboxes, options.max_result
        others = [(name, handle) for name, handle in sandboxes.items() if name not in options.besides]
        build = partial(build_tools, is_only=len(others) == 1)
        tools = [
            build(name, box.routes, box.operations, toolset=options.toolset or box.toolset) for name, box in others
        ]
        self.tools: Mapping[str, Tool] = index_by_name(chain.from_iterable(tools), options.own)
        """Those of the sandboxes, by name."""
        run: Mapping[OwnTool, Callable[[dict[str, Any]], str]] = {
            "finish": self._finish,
            "wait": self.wait,
            "read_more": self._read_more,
        }
        self._own = {str(name): run[name] for name in options.own}
        self.definitions = [
            *(ModelTool(name, tool.description, tool.parameters) for name, tool in self.tools.items()),
            *(_OWN_TOOLS[name] for name in options.own),
        ]
        self._long_results: OrderedDict[int, str] = OrderedDict()
        self._numbers = count(1)

    def report_cut_off(self) -> None:
        """Report that an answer of the model ended at the limit of tokens."""
        self._sandboxes.report(Noted(what=MODEL_ANSWER_CUT_OFF))

    def report_call_in_text(self, text: str | None) -> None:
        """Report that the model wrote a tool call as text: its server did not read it as one, and nothing is called."""
        tool = find_tool_in_text(text or "", {*self.tools, *self._own})
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
            self.check_name(name)
            result = self._do(name, self._parse_arguments(name, written))
            is_error = False
        except BadArguments as error:
            is_error = True
            reason = f"{error}; the call was {CUT_OFF}" if is_cut_off else str(error)
            result = f"error: {reason}"
            self.report_rejected(name, reason, written, error.argument)
        return ModelToolResult(call.id, name, result, is_error)

    def report_rejected(self, name: str, reason: str, written: Any, argument: str = "") -> None:
        """Report a call that is not executed, with the arguments as the model wrote them."""
        self._sandboxes.report(
            ToolCallRejected(
                tool_name=name[:MAX_REPORTED_NAME],
                argument=argument[:MAX_REPORTED_NAME] or None,
                reason=reason[:MAX_REPORTED_ARGUMENTS],
                arguments=_shorten(written),
            )
        )

    def check_name(self, name: str) -> None:
        """Raise BadArguments for an unknown tool."""
        names = [*self.tools, *self._own]
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
        parameters = next(tool.parameters for tool in self.definitions if tool.name == name)
        names: Mapping[str, Any] = parameters["properties"]
        return names

    def _do(self, name: str, arguments: dict[str, Any]) -> str:
        if name in self._own:
            return self._own[name](arguments)
        try:
            result = _render_reply(self.use_tool(name, arguments))
        except Incomplete as incomplete:
            result = f"error: {incomplete}; what came: {_render_reply(incomplete.reply)}"
        except Dropped as dropped:
            result = f"error: {dropped}"
        return self._cut_result(result, self.tools[name].operation.shorter_hint)

    def use_tool(self, name: str, arguments: Mapping[str, Any]) -> Reply:
        """Execute a call of a sandbox's tool, and return the whole reply.

        Raises BadArguments, and Dropped if no reply, or only a part of it, arrives.
        """
        tool = self.tools[name]
        request = tool.parse_arguments(arguments) if tool.route is None else tool.build_request(arguments)
        self._sandboxes.report(ActionExecuted(name=name, arguments=dict(arguments)))
        handle = self._sandboxes[tool.sandbox]
        if not isinstance(request, Request):
            return handle.call(tool.operation.name, request)
        media = request.headers.get("content-type", JSON)
        try:
            return handle.request(request.method, request.path, query=request.query, body=request.body, media=media)
        except Refused as refused:
            return refused.reply

    def _finish(self, arguments: dict[str, Any]) -> str:
        if arguments.keys() != {"answer"}:
            wrong = next((name for name in arguments if name != "answer"), "answer")
            raise BadArguments("finish takes `answer`, and nothing else", wrong)
        raise TaskFinished(arguments["answer"])

    def wait(self, arguments: dict[str, Any]) -> str:
        """Let time pass, and return the time. Raises BadArguments."""
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

    def _cut_result(self, result: str, less: str) -> str:
        """Cut a long result, with a notice before and after it that says how to ask for less, or for the rest."""
        if len(result) <= self._max_result:
            return result
        ways = [less] if less else []
        if "read_more" in self._own:
            ways.append(f"read on with {READ_MORE_TOOL.name}, result {self._keep(result)}, offset {self._max_result}")
        how = "; or ".join(ways) or "the rest cannot be shown"
        notice = f"cut at {self._max_result:,} of {len(result):,} characters: {how}"
        return f"[{notice}]\n{result[: self._max_result]}\n[… {notice}]"

    def _keep(self, result: str) -> int:
        """Keep a long result, and forget the oldest beyond the limit; return its number."""
        number = next(self._numbers)
        self._long_results[number] = result[:MAX_KEPT_LENGTH]
        if len(self._long_results) > MAX_KEPT_RESULTS:
            self._long_results.popitem(last=False)
        return number

    def _read_more(self, arguments: dict[str, Any]) -> str:
        number, offset = arguments.get("result"), arguments.get("offset")
        if arguments.keys() != {"result", "offset"} or not isinstance(number, int) or not isinstance(offset, int):
            raise BadArguments("read_more takes `result` and `offset`, two integers")
        text = self._long_results.get(number)
        if text is None:
            kept = ", ".join(map(str, self._long_results)) or "none"
            raise BadArguments(f"no result {number} is kept", "result", expected=f"one of the last cut results: {kept}")
        if not 0 <= offset < len(text):
            raise BadArguments(f"`offset` is {offset}", "offset", expected=f"0 to {len(text) - 1}")
        self._sandboxes.report(ActionExecuted(name=READ_MORE_TOOL.name, arguments=arguments))
        end = offset + self._max_result
        rest = f"[… {len(text) - end:,} more characters: offset {end}]" if end < len(text) else "[the end]"
        return f"{text[offset:end]}\n{rest}"


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
