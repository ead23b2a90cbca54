"""An agent that works through the API of a server: it is not called, but answers when it is ready.

Its methods await a question. That suspends the trial, without a thread and without an event loop, until the server
resumes it with the agent's answer.
"""

from collections.abc import Generator, Mapping
from typing import Any

from pydantic import JsonValue

from clerkship.actors.contract import NO_FACTS, Agent, AgentError, EntryPointName, Message, ReplyPart
from clerkship.actors.messages import MessageAgent, parse_say, parse_task_answer, task_message
from clerkship.actors.reply import MAX_REPORTS, parse_report
from clerkship.events.event import Payload
from clerkship.model.run import IsolationLevel
from clerkship.sandbox.handle import Sandboxes

_REPLY = "the request"


class AgentQuestion:
    """What the agent is asked. Awaiting it suspends the trial until the answer is sent."""

    __slots__ = ("message", "sandboxes")

    def __init__(self, message: dict[str, Any], sandboxes: Sandboxes) -> None:
        self.message = message
        """The message for the agent, as an agent behind an address gets it."""
        self.sandboxes = sandboxes

    @property
    def is_turn(self) -> bool:
        """Whether a person waits for a reply; otherwise the agent is to do a task."""
        return bool(self.message["type"] == "turn")

    def parse(self, reply: Mapping[str, Any]) -> "Answer":
        """Check what the agent replies, before anything happens. Raise AgentError."""
        written = _as_list(reply.get("report", []))
        if len(written) > MAX_REPORTS:
            raise AgentError(f"it reports more than {MAX_REPORTS:,} events")
        reports = [parse_report(each, self.sandboxes.agent_events) for each in written]
        value = parse_say(reply, _REPLY, self.sandboxes) if self.is_turn else parse_task_answer(reply, _REPLY)
        return Answer(value, reports)

    def __await__(self) -> Generator["AgentQuestion", "Answer", Any]:
        answer = yield self
        for report in answer.reports:
            self.sandboxes.report(report)
        return answer.value


class Answer:
    """A valid answer of the agent."""

    __slots__ = ("reports", "value")

    def __init__(self, value: JsonValue | list[ReplyPart], reports: list[Payload]) -> None:
        self.value, self.reports = value, reports


def _as_list(value: object) -> list[Any]:
    return value if isinstance(value, list) else [value]


class RemoteAgent(MessageAgent):
    """The agent of one trial."""

    entries: frozenset[EntryPointName] = frozenset({"on_turn", "on_task"})

    async def on_turn(self, message: Message, sandboxes: Sandboxes) -> list[ReplyPart]:
        """Wait for the reply to a message."""
        reply: list[ReplyPart] = await AgentQuestion(self.turn_message(message, sandboxes), sandboxes)
        return reply

    async def on_task(self, task_item: Mapping[str, JsonValue], sandboxes: Sandboxes) -> JsonValue:
        """Wait until the agent says that it is done."""
        answer: JsonValue = await AgentQuestion(task_message(task_item, sandboxes), sandboxes)
        return answer

    def close(self) -> Mapping[str, JsonValue]:
        return NO_FACTS


class RemoteSolver:
    """An agent that holds a key of the server."""

    isolation: IsolationLevel = "remote"
    uses_protocols = True

    def __init__(self, name: str) -> None:
        self.name = name

    def open(self, solution: str | None, trial: int = 1) -> Agent:
        return RemoteAgent()
