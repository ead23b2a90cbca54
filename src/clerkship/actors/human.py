"""An agent that is a person: it waits until they answer, in another thread."""

import asyncio
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import JsonValue

from clerkship.actors.contract import NO_FACTS, Agent, AgentError, EntryPointName, Message, ReplyPart, Solver
from clerkship.actors.messages import MessageAgent, parse_say, parse_task_answer, task_message
from clerkship.actors.toolbox import Toolbox, ToolOptions
from clerkship.model.errors import InputError
from clerkship.model.run import HUMAN, IsolationLevel
from clerkship.sandbox.handle import Sandboxes
from clerkship.settings import Settings

GAVE_UP = "The person gave up"
_REPLY = "the request"


class NothingAsked(Exception):
    """Raised when a person acts or answers although the trial does not wait for them."""


def load_human(rest: str, settings: Settings) -> Solver:
    """Refuse `--agent human`: a person needs a page to work in."""
    raise InputError.of("the agent `human` is a person, who needs a page", hint="use `clerkship play TASK`")


@dataclass(frozen=True, eq=False)
class PersonQuestion:
    """What a person is asked: to do a task, or to reply to a message."""

    message: Mapping[str, Any]
    """The message that an agent behind an address would get."""
    sandboxes: Sandboxes
    toolbox: Toolbox
    """The tools of the sandboxes, and `wait`."""
    future: "asyncio.Future[Any]"

    @property
    def is_turn(self) -> bool:
        """Whether a simulated person waits for a reply; otherwise there is a task to do."""
        return bool(self.message["type"] == "turn")

    def parse(self, reply: Mapping[str, Any]) -> JsonValue | list[ReplyPart]:
        """Check an answer or a reply. Raise AgentError."""
        return parse_say(reply, _REPLY, self.sandboxes) if self.is_turn else parse_task_answer(reply, _REPLY)

    def resolve(self, value: object) -> None:
        """Hand the trial an answer, or an error to raise, from any thread."""

        def end() -> None:
            if self.future.done():  # the trial was stopped meanwhile
                return
            if isinstance(value, AgentError):
                self.future.set_exception(value)
            else:
                self.future.set_result(value)

        try:
            self.future.get_loop().call_soon_threadsafe(end)
        except RuntimeError:  # the loop is closed: the trial is over
            raise NothingAsked from None


class HumanAgent(MessageAgent):
    """The person in one trial."""

    entries: frozenset[EntryPointName] = frozenset({"on_turn", "on_task"})

    def __init__(self) -> None:
        super().__init__()
        self._lock = threading.Lock()
        self.question: PersonQuestion | None = None
        """What the trial waits for; None while it does not wait."""

    async def on_turn(self, message: Message, sandboxes: Sandboxes) -> list[ReplyPart]:
        """Wait for the reply to a message."""
        chats = tuple(name for name, handle in sandboxes.items() if handle.kind == "chat")
        reply: list[ReplyPart] = await self._ask(self.turn_message(message, sandboxes), sandboxes, chats)
        return reply

    async def on_task(self, task_item: Mapping[str, JsonValue], sandboxes: Sandboxes) -> JsonValue:
        """Wait for the answer to a task."""
        answer: JsonValue = await self._ask(task_message(task_item, sandboxes), sandboxes)
        return answer

    async def _ask(self, message: Mapping[str, Any], sandboxes: Sandboxes, besides: tuple[str, ...] = ()) -> Any:
        toolbox = Toolbox(sandboxes, ToolOptions(("wait",), besides, toolset="all"))
        question = PersonQuestion(message, sandboxes, toolbox, asyncio.get_running_loop().create_future())
        self.question = question
        try:
            return await question.future
        finally:
            self.question = None

    def use(self, act: Callable[[PersonQuestion], Any]) -> Any:
        """Act in the sandboxes, one act at a time. Raise NothingAsked if the trial does not wait for the person."""
        with self._lock:
            question = self.question
            if question is None or question.future.done():
                raise NothingAsked
            return act(question)

    def answer(self, reply: Mapping[str, Any] | AgentError) -> None:
        """Go on with an answer or reply, or with a failure. Raise AgentError for an invalid one, and keep waiting."""

        def end(question: PersonQuestion) -> None:
            value = reply if isinstance(reply, AgentError) else question.parse(reply)
            self.question = None
            question.resolve(value)

        self.use(end)

    def close(self) -> Mapping[str, JsonValue]:
        self.question = None
        return NO_FACTS


class HumanSolver:
    """A person. Their trial is watched, and has a time limit of its own."""

    name = HUMAN
    isolation: IsolationLevel = "built-in"

    def __init__(self, time_limit: float, watch: Callable[[Any], None]) -> None:
        self.time_limit, self.watch = time_limit, watch
        self.agent = HumanAgent()

    def open(self, solution: str | None, trial: int = 1) -> Agent:
        return self.agent
