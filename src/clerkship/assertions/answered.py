"""`bot_answered`: the agent left no message of a person without an answer."""

from collections.abc import Iterator
from typing import ClassVar

from clerkship.events.event import Event, find_conversations, is_by_agent
from clerkship.events.evidence import Evidence
from clerkship.events.query import field_check
from clerkship.sandbox.assertion import UNSCOPED_CONVERSATION, Assertion, Check


class BotAnswered(Assertion):
    """The agent said something after every message of a person, before the next one in the same conversation. Messages
    that a person sends one after the other are answered together. The last message needs no answer, such as a goodbye,
    but an agent that says nothing at all fails.
    """

    name: ClassVar[str] = "bot_answered"
    unscoped_reason: ClassVar[str] = UNSCOPED_CONVERSATION

    def check(self, evidence: Evidence) -> Check:
        """Find messages after which the agent said nothing."""
        answers = sum(map(is_by_agent, evidence.utterances))
        if not answers:
            row = field_check("messages of the agent", "at least one", answers, passed=False)
            return Check.of(False, "the agent said nothing at all", row)
        rows = [
            field_check("message", "answered", "(no answer)", passed=False, seq=event.seq)
            for event in _find_unanswered(evidence)
        ]
        if rows:
            places = ", ".join(f"#{row.seq}" for row in rows)
            return Check.of(False, f"the agent did not answer every message ({places})", *rows)
        return Check.of(True, f"the agent answered every message, with {answers} of its own")


def _find_unanswered(evidence: Evidence) -> Iterator[Event]:
    """Yield the messages of people that another one follows without an answer in between."""
    waiting: dict[str, Event] = {}
    for event in evidence.utterances:
        for key in find_conversations(event):
            previous = waiting.pop(key, None)
            if not is_by_agent(event):
                if previous is not None and not _are_together(previous, event):
                    yield previous
                waiting[key] = event


def _are_together(first: Event, second: Event) -> bool:
    """Return whether a person sent two messages without waiting: because of the same answer, or at the beginning."""
    return first.cause == second.cause and (second.cause is not None or second.seq == first.seq + 1)
