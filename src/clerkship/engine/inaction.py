"""Find assertions that pass although the agent does nothing, or says only a word without content."""

from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime
from functools import cache

from pydantic import ValidationError

from clerkship.assertions.evaluation import evaluate
from clerkship.engine.registration import Registrations
from clerkship.events.agent import SlotSet
from clerkship.events.event import Event, Payload, Utterance
from clerkship.events.evidence import Evidence
from clerkship.events.lifecycle import AgentAnswered, AgentStarted
from clerkship.kit.registry import UnknownName
from clerkship.model.call import ANY_OF, AssertionCall, nested_calls
from clerkship.model.environment import CONVERSATION_KIND
from clerkship.model.scenario import Scenario
from clerkship.model.task import Task
from clerkship.sandbox.assertion import Assertion

_WORDS = ("ok", "zxqv")
"""What the agent says in turn. What passes with either does not depend on the words."""
_TIME = datetime(2026, 1, 1, tzinfo=UTC)
SentPayload = tuple[str, str, Payload]
"""The payload of an event, after its source and its actor."""


class InactionChecks(Registrations):
    """Answers what registered assertions need of an agent."""

    def passes_on_inaction(self, call: AssertionCall) -> bool:
        """Return whether an assertion can pass if the agent does nothing. False if it is invalid or asks a model."""
        assertion = self._parse_call(call)
        return assertion is not None and _passes_on_inaction(assertion)

    def passes_on_any_word(self, call: AssertionCall, task: Task) -> bool:
        """Return whether an assertion of a task can pass if the agent only says "ok". False if it is invalid or asks a
        model.
        """
        if call.name == ANY_OF:
            return any(self.passes_on_any_word(nested, task) for _, nested in nested_calls(call.args))
        assertion = self._parse_call(call)
        return assertion is not None and _passes_on_any_word(assertion, task, self._find_chat_message)

    def is_single_turn(self, name: str) -> bool:
        """Return whether an assertion assesses a single turn; False if the name is unknown."""
        return name in self.assertions and self.assertions.get(name).single_turn

    def _parse_call(self, call: AssertionCall) -> Assertion | None:
        try:
            return self.assertions.get(call.name).model_validate(call.args)
        except (UnknownName, ValidationError):
            return None

    def _find_chat_message(self) -> type[Utterance]:
        """Return the event of a message in a chat."""
        return next(event for event in self.simulators.get(CONVERSATION_KIND).events if issubclass(event, Utterance))


def _passes_on_inaction(assertion: Assertion) -> bool:
    """Return whether an assertion can pass if the agent does nothing: its class declares so, or it passes on an empty
    log. False if it asks a model.
    """
    if assertion.asks_model:
        return False
    return assertion.passes_on_inaction or evaluate(assertion, _empty_evidence()).check.passed


def _passes_on_any_word(assertion: Assertion, task: Task, find_message: Callable[[], type[Utterance]]) -> bool:
    """Return whether an assertion can pass if the agent only says a word, whatever it is. False if it asks a model.

    The word is the reply to a message of a person if they start the task, and the answer otherwise. `find_message`
    returns the event of a message; it is called only if there is one.
    """
    if assertion.asks_model:
        return False
    return assertion.passes_on_inaction or all(
        evaluate(assertion, _build_evidence(task, word, find_message)).check.passed for word in _WORDS
    )


@cache
def _empty_evidence() -> Evidence:
    return Evidence(Task(name="inaction"), (), {}, "agent_done")


def _build_evidence(task: Task, word: str, find_message: Callable[[], type[Utterance]]) -> Evidence:
    """Return the evidence of a run in which the agent only said a word."""
    scenario = task.scenario
    if scenario is None or scenario.starts == "agent":
        return Evidence(task, _list_events(_answer(word)), {}, "agent_done", answer=word, answered=True)
    sandbox = next((person.sandbox for person in scenario.all_people if person.sandbox), CONVERSATION_KIND)
    events = _list_events(_converse(scenario, sandbox, word, find_message()))
    return Evidence(task, events, {sandbox: None}, "agent_done")


def _list_events(payloads: Iterable[SentPayload]) -> list[Event]:
    return [
        Event(seq, _TIME, source, payload.kind, actor, None, payload)
        for seq, (source, actor, payload) in enumerate(payloads, 1)
    ]


def _answer(word: str) -> Iterator[SentPayload]:
    yield "run", "system", AgentStarted(entry="on_task")
    yield "run", "agent", AgentAnswered(answer=word)


def _converse(scenario: Scenario, sandbox: str, word: str, message: type[Utterance]) -> Iterator[SentPayload]:
    """Yield the events of a conversation with one turn for each line of the script."""
    for name, value in scenario.initial_slots.items():
        yield "agent", "scenario", SlotSet(name=name, value=value)
    yield "run", "system", AgentStarted(entry="on_turn")
    lines = max((len(person.lines) + (person.opening is not None) for person in scenario.all_people), default=1)
    for turn in range(1, max(lines, 1) + 1):
        yield sandbox, "person", message(text="Hello.", turn=turn)
        yield sandbox, "agent", message(text=word, turn=turn)
