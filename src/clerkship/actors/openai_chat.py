"""`openai:<model>[@<address>]`: a model behind a chat-completions endpoint; its tools are the sandboxes' operations."""

import asyncio
import re
from collections import Counter
from collections.abc import Awaitable, Collection, Iterable, Mapping
from contextlib import nullcontext, suppress
from itertools import chain
from typing import TYPE_CHECKING, Any

import orjson
from pydantic import JsonValue

from clerkship.actors.contract import Agent, AgentError, EntryPointName, History, Message, ReplyPart, Say
from clerkship.actors.reply import parse_answer, parse_replies
from clerkship.events.agent import MODEL_ANSWER_CUT_OFF, TOOL_CALL_AS_TEXT, ActionExecuted, Noted, ToolCallRejected
from clerkship.kit.http_client import check_reachable
from clerkship.llm.endpoint import ApiCredentials, Endpoint, first_message, message_text, parse_token_counts
from clerkship.llm.model_reference import check_key, parse_reference
from clerkship.llm.retry import ModelRetryPolicy, RequestDeclined, TimeSpent
from clerkship.llm.token_limit import TokenLimit
from clerkship.model.agent_domain import AgentCapabilities
from clerkship.model.errors import ClerkshipError
from clerkship.model.model_choice import DEFAULT_MODEL_TIMEOUT
from clerkship.model.names import did_you_mean
from clerkship.model.run import IsolationLevel
from clerkship.model.usage import MODEL_USAGE, RetryReason
from clerkship.sandbox.handle import Dropped, Incomplete, Refused, Sandboxes
from clerkship.sandbox.json_schema import build_any_schema
from clerkship.sandbox.request import JSON, Reply, Request
from clerkship.sandbox.tools import BadArguments, Tool, build_tools, index_by_name
from clerkship.settings import Settings

if TYPE_CHECKING:
    import httpx

MAX_ROUNDS = 50
CUT_OFF = "cut off at the limit of tokens"
_DEFAULT_POLICY = ModelRetryPolicy(timeout=DEFAULT_MODEL_TIMEOUT)
_TOO_LONG = re.compile(r"(?i)maximum context|context (length|window|size)|too many tokens|prompt is too long")
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
_NO_CALL = "the model answered the request to call a tool"
FINISH_TOOL: dict[str, Any] = {
    "name": "finish",
    "description": "Say that the work is done, with its answer: whatever the instruction asks for, as JSON.",
    "parameters": {
        "type": "object",
        "properties": {"answer": {"description": "the answer; null if none is asked for", **build_any_schema()}},
        "required": ["answer"],
        "additionalProperties": False,
    },
}
WAIT_TOOL: dict[str, Any] = {
    "name": "wait",
    "description": "Let time pass: this long, or without a duration until the next thing happens.",
    "parameters": {
        "type": "object",
        "properties": {"duration": {"type": "string", "description": "such as 90s, 10m, 2h"}},
        "required": [],
        "additionalProperties": False,
    },
}


class TaskFinished(Exception):
    """The model called `finish`."""

    def __init__(self, answer: Any) -> None:
        super().__init__()
        self.answer = answer


class ChatAgent:
    """One conversation with a model, including the results of its tools."""

    entries: frozenset[EntryPointName] = frozenset({"on_history", "on_turn", "on_task"})

    def __init__(self, model: str, endpoint: Endpoint, token_limit: TokenLimit) -> None:
        self._model, self._endpoint, self._token_limit = model, endpoint, token_limit
        self._usage = {"calls": 0, "prompt_tokens": 0, "completion_tokens": 0}
        self._retries: Counter[RetryReason] = Counter()
        self._history: list[dict[str, Any]] = []

    async def on_history(self, history: History, sandboxes: Sandboxes) -> None:
        """Take over the messages so far. Results of earlier tool calls are in no log; the model may call the tools
        again.
        """
        self._brief(history.task_item or {}, sandboxes, _render_channel(history))
        for turn in history.turns:
            if turn.text is not None:
                self._history.append({"role": "user", "content": turn.text})
            text = "\n".join(part.text for part in turn.answer if isinstance(part, Say) and part.text)
            if text:
                self._history.append({"role": "assistant", "content": text})

    async def on_turn(self, message: Message, sandboxes: Sandboxes) -> list[ReplyPart]:
        """Return the model's next reply, after the tool calls it makes."""
        if not self._history:
            self._brief(message.task_item or {}, sandboxes, _render_channel(message))
        self._history.append({"role": "user", "content": message.text})
        tools = Toolbox(sandboxes, besides=message.sandbox if message.channel is None else None)
        return parse_replies(await self._loop(tools))

    async def on_task(self, task_item: Mapping[str, JsonValue], sandboxes: Sandboxes) -> JsonValue:
        """Let the model work until it calls `finish`; plain text counts as an answer too."""
        self._brief({}, sandboxes)
        self._history.append({"role": "user", "content": _render_task_item(task_item)})
        try:
            return parse_answer(await self._loop(Toolbox(sandboxes, works=True)))
        except TaskFinished as finished:
            return parse_answer(finished.answer)

    def close(self) -> Mapping[str, JsonValue]:
        """Return the tokens used and the requests sent again; no connection is open between messages."""
        retries = dict[str, JsonValue](sorted(self._retries.items()))
        again: dict[str, JsonValue] = {"retries": retries} if retries else {}
        return {MODEL_USAGE: {"model": self._model, **self._usage, **again}}

    def _brief(self, task_item: Mapping[str, JsonValue], sandboxes: Sandboxes, channel: str = "") -> None:
        time = f"It is {sandboxes.now:%A %Y-%m-%d %H:%M %Z}."
        self._history.append(
            {"role": "system", "content": "\n\n".join(filter(None, (_render_task_item(task_item), channel, time)))}
        )

    async def _loop(self, tools: "Toolbox") -> str | None:
        """Ask the model and execute its tool calls, until it replies with text."""
        async with self._endpoint.client() as client:
            for _ in range(MAX_ROUNDS):
                message, is_cut_off = await self._request_message(client, tools)
                if is_cut_off:
                    tools.report_cut_off()
                calls = message["tool_calls"] if isinstance(message.get("tool_calls"), list) else []
                text = message_text(message)
                repeated = {"tool_calls": [_repeat_call(call) for call in calls]} if calls else {}
                self._history.append({"role": "assistant", "content": text} | repeated)
                if not calls and not text and is_cut_off:
                    raise AgentError(f"its answer was {CUT_OFF} before it said anything; allow more with --max-tokens")
                if not calls:
                    tools.report_call_in_text(text)
                    return text
                for call in calls:
                    self._history.append(tools.call(call, is_cut_off=is_cut_off))
        raise AgentError(f"it called tools {MAX_ROUNDS} times in a row without a reply")

    async def _request_message(self, client: "httpx.AsyncClient", tools: "Toolbox") -> tuple[dict[str, Any], bool]:
        """Ask the model once; return its message, and whether it was cut off at the limit of tokens.

        A history that became too long for the model is the agent's failure. A first message that is too long is a
        mistake in the setup.
        """
        body: dict[str, Any] = {"model": self._model, "messages": self._history}
        body |= {"tools": tools.definitions} if tools.definitions else {}
        time_spent = TimeSpent()

        def post(limit: dict[str, JsonValue]) -> Awaitable[Any]:
            fields = body | limit
            return self._endpoint.post(lambda: nullcontext(client), "/chat/completions", fields, (), time_spent)

        try:
            response = await self._token_limit.send({}, post)
        except RequestDeclined as declined:
            if any(line["role"] == "assistant" for line in self._history) and _is_too_long(declined):
                raise AgentError(f"its history is too long for the model: {declined}") from None
            raise
        finally:
            self._retries.update(time_spent.retries)
        self._usage["calls"] += 1
        for name, count in parse_token_counts(response).items():
            self._usage[name] += count
        message = first_message(response)
        if message is None:
            raise self._endpoint.build_no_message_error(response)
        return message, response["choices"][0].get("finish_reason") == "length"


def _is_too_long(declined: RequestDeclined) -> bool:
    """Return whether an endpoint refused a request because of its length; some say so only in the message."""
    return declined.code == "context_length_exceeded" or _TOO_LONG.search(str(declined)) is not None


class Toolbox:
    """The tools of a model, and their execution."""

    def __init__(self, sandboxes: Sandboxes, *, besides: str | None = None, works: bool = False) -> None:
        self._sandboxes = sandboxes
        others = [(name, handle) for name, handle in sandboxes.items() if name != besides]
        is_only = len(others) == 1
        tools = [build_tools(name, box.routes, box.operations, is_only=is_only) for name, box in others]
        self._tools = index_by_name(chain.from_iterable(tools))
        self._own = {"finish": self._finish, "wait": self._wait} if works else {}
        functions = [
            {"name": name, "description": tool.description, "parameters": tool.parameters}
            for name, tool in self._tools.items()
        ]
        functions += [FINISH_TOOL, WAIT_TOOL] if works else []
        self.definitions = [{"type": "function", "function": function} for function in functions]

    def report_cut_off(self) -> None:
        """Report that an answer of the model ended at the limit of tokens."""
        self._sandboxes.report(Noted(what=MODEL_ANSWER_CUT_OFF))

    def report_call_in_text(self, text: str | None) -> None:
        """Report that the model wrote a tool call as text: its server did not read it as one, and nothing is called."""
        tool = find_tool_in_text(text or "", {*self._tools, *self._own})
        if tool is not None:
            self._sandboxes.report(Noted(what=TOOL_CALL_AS_TEXT, data={"tool": tool[:MAX_REPORTED_NAME]}))

    def call(self, call: Any, *, is_cut_off: bool = False) -> dict[str, Any]:
        """Execute a tool call; return the message with its result. A malformed call is reported and not executed."""
        name, written = _read_call(call)
        try:
            if not name:
                raise BadArguments("not a function call", expected="a function with a name and arguments")
            self._check_name(name)
            result = self._do(name, self._parse_arguments(name, written))
        except BadArguments as error:
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
        return {"role": "tool", "tool_call_id": _read_call_id(call), "content": result}

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
        own = {"finish": FINISH_TOOL["parameters"], "wait": WAIT_TOOL["parameters"]}
        parameters: Mapping[str, Any] = own[name] if name in self._own else self._tools[name].parameters
        return parameters["properties"]  # type: ignore[no-any-return]

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


def _read_call(call: Any) -> tuple[str, Any]:
    """Return the name of the called tool and the arguments as they were written; an empty name if there is none."""
    function = call.get("function") if isinstance(call, dict) else None
    if not isinstance(function, dict) or not isinstance(function.get("name"), str):
        return "", function
    return function["name"], function.get("arguments")


def _read_call_id(call: Any) -> str:
    return str(call.get("id") or "") if isinstance(call, dict) else ""


def _repeat_call(call: Any) -> dict[str, Any]:
    """Return a tool call for the history.

    Arguments that are not a JSON object are left out: some servers answer 500 if they are sent back.
    """
    name, written = _read_call(call)
    try:
        is_object = isinstance(orjson.loads(written) if isinstance(written, str) else written, dict)
    except orjson.JSONDecodeError:
        is_object = False
    if name and is_object and isinstance(call, dict):
        return call
    function = {"name": name or "unknown", "arguments": "{}"}
    return {"id": _read_call_id(call), "type": "function", "function": function}


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


def _render_channel(conversation: Message | History) -> str:
    """Return how the person writes; empty on a chat."""
    if conversation.channel is None:
        return ""
    return f"You answer a person who writes by {conversation.channel} from {conversation.address}."


def _render_task_item(task_item: Mapping[str, JsonValue]) -> str:
    """Return the instruction, followed by the other fields of the task."""
    instruction = task_item.get("instruction")
    rest = {key: value for key, value in task_item.items() if key != "instruction" or not isinstance(value, str)}
    parts = [instruction] if isinstance(instruction, str) else []
    return "\n\n".join([*parts, orjson.dumps(rest, option=orjson.OPT_INDENT_2).decode()] if rest else parts)


class ChatSolver:
    """A model at an address; each trial has its own conversation."""

    isolation: IsolationLevel = "built-in"
    single_conversation = True

    def __init__(
        self,
        model: str,
        base_url: str,
        key: str,
        *,
        max_tokens: int | None = None,
        policy: ModelRetryPolicy = _DEFAULT_POLICY,
    ) -> None:
        self.name = f"openai:{model}@{base_url}"
        self._model, self._base_url, self._key, self._policy = model, base_url, key, policy
        self._token_limit = TokenLimit(max_tokens, base_url)

    def open(self, solution: str | None, trial: int = 1) -> Agent:
        """Return an agent with an empty conversation."""
        endpoint = Endpoint(self._base_url, ApiCredentials(self._key), self._policy)
        return ChatAgent(self._model, endpoint, self._token_limit)

    def preflight(self) -> None:
        """Connect to the address, without asking the model."""
        check_reachable(self._base_url, self.name)

    def probe(self) -> str:
        """Ask the model to call a tool; return why no call arrived, or empty text."""
        return asyncio.run(self._probe())

    async def _probe(self) -> str:
        endpoint = Endpoint(self._base_url, ApiCredentials(self._key), self._policy)
        messages = [{"role": "user", "content": f"Call the tool `{FINISH_TOOL['name']}` with the answer 42."}]
        tools = [{"type": "function", "function": FINISH_TOOL}]
        body = {"model": self._model, "messages": messages, "tools": tools}
        try:
            async with endpoint.client() as client:
                response = await self._token_limit.send(
                    {},
                    lambda limit: endpoint.post(
                        lambda: nullcontext(client), "/chat/completions", body | limit, (), TimeSpent()
                    ),
                )
        except ClerkshipError as error:
            return f"the model was asked to call a tool, and did not answer: {error}"
        message = first_message(response) or {}
        text = message_text(message) or ""
        if message.get("tool_calls"):
            return ""
        if find_tool_in_text(text, {FINISH_TOOL["name"]}) is not None:
            return f"{_NO_CALL} with text that looks like a tool call; the endpoint returned no tool_calls"
        return f"{_NO_CALL} with {text[:MAX_REPORTED_NAME]!r}; the endpoint returned no tool_calls"

    def capabilities(self) -> AgentCapabilities:
        """Its calls of tools are reported as actions; it has no flows, slots or skills to report."""
        return AgentCapabilities(
            engine=f"a model behind `openai:` ({self._model})",
            emits=frozenset({ActionExecuted.kind, ToolCallRejected.kind, Noted.kind}),
        )


def load_openai(rest: str, settings: Settings) -> ChatSolver:
    """Build a solver from `model` or `model@https://host/v1`; the key comes from the settings only."""
    place = parse_reference(rest, settings.openai_base_url)
    check_key(place, settings.openai_api_key, "OPENAI_API_KEY")
    return ChatSolver(
        place.model,
        place.address,
        settings.openai_api_key,
        max_tokens=settings.max_tokens or None,
        policy=ModelRetryPolicy(timeout=settings.model_timeout),
    )
