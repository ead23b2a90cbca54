"""A model as the agent: `openai:<model>`, `anthropic:<model>`, `gemini:<model>`, each with `@<address>`.

Its tools are the operations of the sandboxes. Its calls pass through the model proxy of the run.
"""

import asyncio
import re
import threading
from collections import Counter
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from contextlib import closing, suppress
from functools import partial
from typing import TypeVar

from pydantic import JsonValue

from clerkship.actors.contract import Agent, AgentError, EntryPointName, History, Message, ReplyPart, Say
from clerkship.actors.messages import render_task_item
from clerkship.actors.reply import parse_answer, parse_replies
from clerkship.actors.toolbox import (
    CUT_OFF,
    FINISH_TOOL,
    MAX_REPORTED_NAME,
    WORK_TOOLS,
    TaskFinished,
    Toolbox,
    ToolOptions,
    find_tool_in_text,
)
from clerkship.events.agent import ActionExecuted, Noted, ToolCallRejected
from clerkship.kit.http_client import check_reachable
from clerkship.llm.chat import request_chat
from clerkship.llm.client import ModelClient, ProviderReply, Send, send_to
from clerkship.llm.model_reference import ModelReference, check_key, parse_reference
from clerkship.llm.retry import ModelRetryPolicy, RequestDeclined, TimeSpent
from clerkship.llm.token_limit import TokenLimit
from clerkship.model.agent_domain import AgentCapabilities
from clerkship.model.errors import ClerkshipError
from clerkship.model.model_choice import DEFAULT_MODEL_TIMEOUT
from clerkship.model.run import IsolationLevel
from clerkship.model.usage import MODEL_USAGE, RetryReason
from clerkship.providers.apis import APIS
from clerkship.providers.connections import ProviderAccount, ProviderHost, RequestStop
from clerkship.providers.contract import ChatReply, ChatRequest, ModelMessage, ProviderName
from clerkship.sandbox.handle import Sandboxes
from clerkship.sandbox.model_access import ModelAccess
from clerkship.settings import Settings

MAX_ROUNDS = 50
T = TypeVar("T")
_DEFAULT_POLICY = ModelRetryPolicy(timeout=DEFAULT_MODEL_TIMEOUT)
_TOO_LONG = re.compile(
    r"(?i)maximum context|context (length|window|size|limit)|too many tokens|(prompt|input) is too long"
    r"|maximum number of tokens"
)
_NO_CALL = "the model answered the request to call a tool"


class ModelAgent:
    """One conversation with a model, including the results of its tools."""

    entries: frozenset[EntryPointName] = frozenset({"on_history", "on_turn", "on_task"})

    def __init__(self, solver: "ModelSolver") -> None:
        self._solver = solver
        self._token_limit = solver.build_token_limit()
        self._client: ModelClient | None = None
        self._host: ProviderHost | None = None
        self._is_counted = False
        """Whether the proxy counts the tokens and their cost."""
        self._usage = {"calls": 0, "prompt_tokens": 0, "completion_tokens": 0}
        self._retries: Counter[RetryReason] = Counter()
        self._history: list[ModelMessage] = []

    async def on_history(self, history: History, sandboxes: Sandboxes) -> None:
        """Take over the messages so far. Results of earlier tool calls are in no log; the model may call the tools
        again.
        """
        self._brief(history.task_item or {}, sandboxes, _render_channel(history))
        for turn in history.turns:
            if turn.text is not None:
                self._history.append(ModelMessage("user", turn.text))
            text = "\n".join(part.text for part in turn.answer if isinstance(part, Say) and part.text)
            if text:
                self._history.append(ModelMessage("assistant", text))

    async def on_turn(self, message: Message, sandboxes: Sandboxes) -> list[ReplyPart]:
        """Return the model's next reply, after the tool calls it makes."""
        if not self._history:
            self._brief(message.task_item or {}, sandboxes, _render_channel(message))
        self._history.append(ModelMessage("user", message.text))
        besides = (message.sandbox,) if message.channel is None else ()
        tools = Toolbox(sandboxes, ToolOptions(besides=besides))
        return parse_replies(await self._loop(tools, sandboxes))

    async def on_task(self, task_item: Mapping[str, JsonValue], sandboxes: Sandboxes) -> JsonValue:
        """Let the model work until it calls `finish`; plain text counts as an answer too."""
        self._brief({}, sandboxes)
        self._history.append(ModelMessage("user", render_task_item(task_item)))
        try:
            return parse_answer(await self._loop(Toolbox(sandboxes, ToolOptions(WORK_TOOLS)), sandboxes))
        except TaskFinished as finished:
            return parse_answer(finished.answer)

    def close(self) -> Mapping[str, JsonValue]:
        """End a request under way; return the usage, as far as the proxy does not count it."""
        if self._client is not None:
            self._client.cancellation.cancel()
        if self._host is not None:
            self._host.close()
        retries = dict[str, JsonValue](sorted(self._retries.items()))
        again: dict[str, JsonValue] = {"retries": retries} if retries else {}
        own = {"calls": self._usage["calls"]} if self._is_counted else self._usage
        return {MODEL_USAGE: {"model": self._solver.model, **own, **again}}

    def _brief(self, task_item: Mapping[str, JsonValue], sandboxes: Sandboxes, channel: str = "") -> None:
        time = f"It is {sandboxes.now:%A %Y-%m-%d %H:%M %Z}."
        text = "\n\n".join(filter(None, (render_task_item(task_item), channel, time)))
        self._history.append(ModelMessage("system", text))

    async def _loop(self, tools: Toolbox, sandboxes: Sandboxes) -> str | None:
        """Ask the model and execute its tool calls, until it replies with text."""
        for _ in range(MAX_ROUNDS):
            reply = await self._request_message(tools, sandboxes)
            is_cut_off, text = reply.stop == "cut off", reply.message.text
            if is_cut_off:
                tools.report_cut_off()
            self._history.append(reply.message)
            if not reply.calls and not text and is_cut_off:
                raise AgentError(f"its answer was {CUT_OFF} before it said anything; allow more with --max-tokens")
            if not reply.calls and reply.stop == "malformed call":
                self._history.append(ModelMessage("user", tools.report_malformed_call()))
                continue
            if not reply.calls:
                tools.report_call_in_text(text)
                return text or None
            results = tuple(tools.call(call, is_cut_off=is_cut_off) for call in reply.calls)
            self._history.append(ModelMessage("tools", results=results))
        raise AgentError(f"it called tools {MAX_ROUNDS} times in a row without a reply")

    async def _request_message(self, tools: Toolbox, sandboxes: Sandboxes) -> ChatReply:
        """Ask the model once; return its message.

        A history that became too long for the model is the agent's failure. A first message that is too long is a
        mistake in the setup.
        """
        if self._client is None:
            self._client = self._open_client(sandboxes)
        solver, client, time_spent = self._solver, self._client, TimeSpent()
        request = ChatRequest(solver.model, tuple(self._history), tools.definitions)
        try:
            reply = await _run_in_thread(partial(request_chat, client, request, self._token_limit, {}, time_spent))
        except RequestDeclined as declined:
            if any(message.role == "assistant" for message in self._history) and _is_too_long(declined):
                raise AgentError(f"its history is too long for the model: {declined}") from None
            raise
        except asyncio.CancelledError:
            client.cancellation.cancel()
            raise
        finally:
            self._retries.update(time_spent.retries)
        tokens = reply.tokens
        self._usage["calls"] += 1
        self._usage["prompt_tokens"] += tokens.prompt if tokens is not None else 0
        self._usage["completion_tokens"] += tokens.completion if tokens is not None else 0
        return reply

    def _open_client(self, sandboxes: Sandboxes) -> ModelClient:
        models, solver = sandboxes.models, self._solver
        if isinstance(models, ModelAccess):
            self._is_counted = True
            return solver.build_client(_send_through(models, solver.model_account.name))
        self._host = ProviderHost(solver.model_account)  # a run on a server has no proxy
        return solver.build_client(send_to(self._host))


def _send_through(models: ModelAccess, provider: ProviderName) -> Send:
    """Return a function that sends through the model proxy."""

    def send(path: str, body: bytes, stop: RequestStop) -> ProviderReply:
        reply = models.call(provider, path, body, stop)
        return ProviderReply(reply.status, reply.headers, reply.body)

    return send


async def _run_in_thread(work: Callable[[], T]) -> T:
    """Run a function that blocks, in a thread that does not keep the process from ending."""
    loop, done = asyncio.get_running_loop(), asyncio.Event()
    result: Future[T] = Future()

    def run() -> None:
        try:
            result.set_result(work())
        except BaseException as error:  # raised in the coroutine
            result.set_exception(error)
        with suppress(RuntimeError):  # the loop is closed: nobody waits
            loop.call_soon_threadsafe(done.set)

    threading.Thread(target=run, name="clerkship-model", daemon=True).start()
    await done.wait()
    return result.result()


def _is_too_long(declined: RequestDeclined) -> bool:
    """Return whether an endpoint refused a request because of its length; some say so only in the message."""
    return declined.code == "context_length_exceeded" or _TOO_LONG.search(str(declined)) is not None


def _render_channel(conversation: Message | History) -> str:
    """Return how the person writes; empty on a chat."""
    if conversation.channel is None:
        return ""
    return f"You answer a person who writes by {conversation.channel} from {conversation.address}."


class ModelSolver:
    """A model of a provider; each trial has its own conversation."""

    isolation: IsolationLevel = "built-in"
    single_conversation = True

    def __init__(
        self,
        reference: ModelReference,
        account: ProviderAccount,
        *,
        max_tokens: int | None = None,
        policy: ModelRetryPolicy = _DEFAULT_POLICY,
    ) -> None:
        self.name, self.model = reference.name, reference.model
        self.model_account = account
        self._reference, self._max_tokens, self._policy = reference, max_tokens, policy

    def open(self, solution: str | None, trial: int = 1) -> Agent:
        """Return an agent with an empty conversation."""
        return ModelAgent(self)

    def build_token_limit(self) -> TokenLimit:
        """Return the limit of the tokens of one answer, for one conversation: its form depends on the answers."""
        return TokenLimit(self._max_tokens, APIS[self.model_account.name], self.model_account.base_url)

    def build_client(self, send: Send) -> ModelClient:
        """Return a client for one conversation."""
        variable = self.model_account.variable
        return ModelClient(self.model_account, send, self._policy, f"set CLERKSHIP_{variable} or {variable}")

    def preflight(self) -> None:
        """Look for the key, and connect to the address, without asking the model."""
        check_key(self._reference, self.model_account.key, self.model_account.variable)
        check_reachable(self.model_account.base_url, self.name)

    def probe(self) -> str:
        """Ask the model to call a tool; return why no call arrived, or empty text."""
        messages = (ModelMessage("user", f"Call the tool `{FINISH_TOOL.name}` with the answer 42."),)
        request = ChatRequest(self.model, messages, (FINISH_TOOL,))
        try:
            with closing(ProviderHost(self.model_account)) as host:
                reply = request_chat(
                    self.build_client(send_to(host)), request, self.build_token_limit(), {}, TimeSpent()
                )
        except ClerkshipError as error:
            return f"the model was asked to call a tool, and did not answer: {error}"
        text = reply.message.text
        if reply.calls:
            return ""
        if find_tool_in_text(text, {FINISH_TOOL.name}) is not None:
            return f"{_NO_CALL} with text that looks like a tool call; the endpoint returned no tool call"
        return f"{_NO_CALL} with {text[:MAX_REPORTED_NAME]!r}; the endpoint returned no tool call"

    def capabilities(self) -> AgentCapabilities:
        """Its calls of tools are reported as actions; it has no flows, slots or skills to report."""
        return AgentCapabilities(
            engine=f"a model behind `{self.model_account.name}:` ({self.model})",
            emits=frozenset({ActionExecuted.kind, ToolCallRejected.kind, Noted.kind}),
        )


def load_model(provider: ProviderName, rest: str, settings: Settings) -> ModelSolver:
    """Build a solver from `model` or `model@https://host`; the key comes from the settings only."""
    address, key = {
        "openai": (settings.openai_base_url, settings.openai_api_key),
        "anthropic": (settings.anthropic_base_url, settings.anthropic_api_key),
        "gemini": (settings.gemini_base_url, settings.gemini_api_key),
    }[provider]
    reference = parse_reference(rest, address, provider=provider)
    return ModelSolver(
        reference,
        ProviderAccount(provider, reference.address, key, f"{provider.upper()}_API_KEY"),
        max_tokens=settings.max_tokens or None,
        policy=ModelRetryPolicy(timeout=settings.model_timeout),
    )


load_openai = partial(load_model, "openai")
load_anthropic = partial(load_model, "anthropic")
load_gemini = partial(load_model, "gemini")
