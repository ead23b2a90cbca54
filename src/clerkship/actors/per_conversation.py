"""One agent per conversation, for agents that can hold only one."""

from collections.abc import Callable, Mapping, Sequence
from typing import cast

from pydantic import JsonValue

from clerkship.actors.contract import (
    Agent,
    AgentWithHistory,
    AgentWithStart,
    History,
    Message,
    ReplyPart,
    Solver,
    Start,
)
from clerkship.sandbox.handle import Sandboxes


class ConversationAgents:
    """Passes each conversation to its own agent."""

    def __init__(self, open_agent: Callable[[], Agent]) -> None:
        self._open = open_agent
        self._spare: Agent | None = open_agent()
        self.entries = self._spare.entries - {"on_task"}
        self._agents: dict[str, Agent] = {}

    def _agent(self, conversation: str) -> Agent:
        if conversation not in self._agents:
            self._agents[conversation], self._spare = self._spare or self._open(), None
        return self._agents[conversation]

    async def on_start(self, start: Start, sandboxes: Sandboxes) -> Sequence[ReplyPart]:
        """Pass it to the agent of the conversation."""
        return await cast(AgentWithStart, self._agent(start.conversation)).on_start(start, sandboxes)

    async def on_history(self, history: History, sandboxes: Sandboxes) -> None:
        """Pass it to the agent of the conversation."""
        await cast(AgentWithHistory, self._agent(history.conversation)).on_history(history, sandboxes)

    async def on_turn(self, message: Message, sandboxes: Sandboxes) -> Sequence[ReplyPart]:
        """Pass it to the agent of the conversation."""
        return await self._agent(message.conversation).on_turn(message, sandboxes)

    async def on_task(self, task_item: Mapping[str, JsonValue], sandboxes: Sandboxes) -> JsonValue:
        """Not called: it is not among the entry points."""
        raise NotImplementedError

    def close(self) -> Mapping[str, JsonValue]:
        """Close all agents; the names of the returned facts include the conversation."""
        if self._spare is not None:
            self._spare.close()
        closed = {key: agent.close() for key, agent in self._agents.items()}
        return {f"{name} ({key})": fact for key, facts in closed.items() for name, fact in facts.items()}


class PerConversation:
    """A solver that opens an agent for each conversation of a trial."""

    def __init__(self, solver: Solver) -> None:
        self.name = solver.name
        self._solver = solver

    def open(self, solution: str | None, trial: int = 1) -> Agent:
        return ConversationAgents(lambda: self._solver.open(solution, trial))


def solver_for(solver: Solver, *, conversations: int) -> Solver:
    """Return the solver to use in a trial with this number of conversations."""
    is_single = conversations > 1 and getattr(solver, "single_conversation", False)
    return PerConversation(solver) if is_single else solver
