"""What the run saw of an agent's calls without its spans: model calls at the proxy, and tools."""

import re
from collections import Counter
from collections.abc import Sequence

from clerkship.events.agent import ActionExecuted, ToolExecuted, is_call_of
from clerkship.events.event import Event
from clerkship.events.lifecycle import ModelCalled
from clerkship.traces.conventions import SpanFacts

MAX_SEARCHED = 20_000
"""Characters at the start and the end of a response in which its id is searched for."""
_ID = re.compile(r'"(?:id|responseId)"\s*:\s*"([^"\\]{1,200})"')


class SeenCalls:
    """Model calls by the ids in their responses, and the tools that the agent or the proxy logged."""

    def __init__(self) -> None:
        self._searched = 0
        self._responses: dict[str, int] = {}
        self._proposed: dict[str, tuple[int, str]] = {}
        """The model call that proposed a tool call, and the tool, by the id of the tool call."""
        self._executed: Counter[tuple[int, str]] = Counter()
        """How often a tool that a model call proposed was logged."""
        self._actions: Counter[str] = Counter()
        """How often the agent used an operation of a sandbox as a tool, by its name."""
        self.has_model_calls = self.has_reported_tools = False

    def read(self, events: Sequence[Event]) -> None:
        """Read the events that were logged since the last call."""
        for event in events[self._searched :]:
            payload = event.payload
            if isinstance(payload, ModelCalled):
                self._add_model_call(event.seq, payload)
            elif isinstance(payload, ActionExecuted) and event.source == "agent":
                self._actions[payload.name] += 1
            elif isinstance(payload, ToolExecuted) and event.source == "agent":
                if event.cause is None:
                    self.has_reported_tools = True
                else:
                    self._executed[event.cause, payload.tool_name] += 1
        self._searched = len(events)

    def _add_model_call(self, seq: int, called: ModelCalled) -> None:
        self.has_model_calls = True
        text = called.response
        for part in (text[:MAX_SEARCHED], text[MAX_SEARCHED:][-MAX_SEARCHED:]):
            for id in _ID.findall(part):
                self._responses.setdefault(id, seq)
        for call in called.tool_calls:
            if call.id:
                self._proposed[call.id] = seq, call.name

    def find_model_call(self, facts: SpanFacts) -> int | None:
        """Return the number of the event of the model call that a span is about."""
        return self._responses.get(facts.response_id) if facts.response_id else None

    def take_tool(self, facts: SpanFacts) -> bool:
        """Return whether the tool call of a span was logged without the span. Each logged call is taken once.

        A call over MCP was logged as an action. Any other is found by its id if a model has proposed it; if not, by the
        name of its tool.
        """
        actions = (name for name, count in self._actions.items() if count and is_call_of(name, facts.tool_name))
        action = next(actions, None)
        if action is not None:
            self._actions[action] -= 1
            return True
        if facts.call_id in self._proposed:
            key = self._proposed[facts.call_id]
        else:
            named = (each for each, count in self._executed.items() if count and each[1] == facts.tool_name)
            key = next(named, (0, ""))
        if not self._executed[key]:
            return False
        self._executed[key] -= 1
        return True
