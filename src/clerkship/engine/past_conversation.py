"""A conversation up to a fork point, read from the log, in the forms that the person and the agent need."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple, cast

from clerkship.actors.contract import AgentReply, PastPersonTurn, ReplyPart, Say, Turn
from clerkship.events.event import Event, PauseEnded, PauseStarted, Utterance, find_conversations, is_by_agent
from clerkship.events.lifecycle import FaultInjected, StepFailed, StepRan
from clerkship.playground.conversation import join_replies


class AnsweredTurn(NamedTuple):
    """A message of a person that the agent got and answered."""

    conversation: str
    """The key of the conversation."""
    message: int
    """The position of the message in the log."""
    start: int
    """The number of events when the agent got the message."""
    end: int
    """The number of events when the agent got the next message, of any person."""


class PastConversation:
    """One conversation up to a fork point."""

    def __init__(self, events: Sequence[Event], key: str, turns: Sequence[AnsweredTurn]) -> None:
        self._events, self._key = events, key
        self._turns = [turn for turn in turns if turn.conversation == key]
        self._first_turn = turns[0].start if turns else len(events)

    @cached_property
    def _messages(self) -> list[int]:
        """The positions of the person's messages in the log."""
        return find_messages_to_agent(self._events, self._key)

    @property
    def messages_handled(self) -> int:
        """The number of messages in the conversation up to the last one that was answered."""
        end = self._turns[-1].message + 1 if self._turns else 0
        return sum(
            isinstance(event.payload, Utterance) and self._key in find_conversations(event)
            for event in self._events[self._start : end]
        )

    @property
    def _start(self) -> int:
        """The position after the event that started the conversation; messages before it are not part of it."""
        starts = (
            index
            for index, event in enumerate(self._events, 1)
            if event.kind.endswith(".conversation.started") and self._key in find_conversations(event)
        )
        return next(starts, 0)

    def person_history(self) -> list[PastPersonTurn]:
        """Return each message and pause of the person with what followed it. The last one is not answered yet."""
        events, actions = self._events, sorted([*self._messages, *self._pauses])
        by_seq = {event.seq: event for event in events} if self._pauses else {}
        greeting = self._joined_replies(events[: actions[0]] if actions else events)
        past = [PastPersonTurn(None, greeting)] if greeting is not None else []
        for start, end in pairwise([*actions, len(events)]):
            action, after = events[start].payload, events[start + 1 : end]
            text = action.text if isinstance(action, Utterance) else None
            paused = action.pause if isinstance(action, PauseStarted) else None
            seen = tuple(each for each in after if each.actor != "person" and not isinstance(each.payload, PauseEnded))
            cause = by_seq.get(events[start].cause or 0)
            past.append(PastPersonTurn(text, self._joined_replies(after), seen, paused, cause))
        return past

    @cached_property
    def _pauses(self) -> list[int]:
        """The positions at which the person began a pause."""
        return [
            index
            for index, event in enumerate(self._events)
            if isinstance(event.payload, PauseStarted) and self._key in find_conversations(event)
        ]

    def history(self) -> Iterator[Turn]:
        """Yield the turns that the agent had, with what it said and did. Turn 0 is before the first message."""
        first = self._messages[0] if self._messages else len(self._events)
        greeting = self._answer(0, self._first_turn, first)
        if greeting:
            yield Turn(0, None, answer=greeting)
        before = list_turns_before(self._events, self._key)
        yield from before
        spans = pairwise([*(turn.start for turn in self._turns), len(self._events)])
        for number, (turn, (_, until)) in enumerate(zip(self._turns, spans, strict=True), len(before) + 1):
            utterance = cast(Utterance, self._events[turn.message].payload)
            yield Turn(
                number, utterance.text, utterance.metadata, self._answer(turn.start, turn.end, until, with_lost=True)
            )

    def pending_turns(self) -> tuple[int, list[Say]]:
        """Return the number of messages ahead, and the queued replies. See Participant for both.

        Both are empty unless the person sends messages without waiting for replies. The log does not contain them, so
        they are computed by the rules of `People.deliver`.
        """
        messages_ahead, queued_replies, seen = 0, list[Say](), 0
        for turn in self._turns:
            messages_ahead += sum(seen <= message < turn.start for message in self._sent_without_waiting)
            seen = turn.start
            answer = self._events[turn.start : turn.end]
            if any(map(is_lost_reply, answer)):
                continue
            queued_replies = [*queued_replies, *self._replies(answer)] if messages_ahead else []
            messages_ahead = max(messages_ahead - 1, 0)
        return messages_ahead + sum(seen <= message for message in self._sent_without_waiting), queued_replies

    def was_answered(self, turn: AnsweredTurn) -> bool:
        """Return whether the agent said something in a turn. A reply that a fault dropped counts."""
        answer = self._events[turn.start : turn.end]
        return any(map(is_lost_reply, answer)) or bool(self._replies(answer))

    @property
    def leave_reason(self) -> str | None:
        """Why the person left; None if they have not."""
        ends = [
            event
            for event in self._events
            if event.kind.endswith((".session.ended", ".conversation.ended")) and self._key in find_conversations(event)
        ]
        return getattr(ends[-1].payload, "reason", None) if ends else None

    @cached_property
    def _sent_without_waiting(self) -> list[int]:
        """The messages that the person sent without waiting for the reply to the one before.

        Such a message has the same cause as the one before, and was sent before the agent got that one. Messages
        that a step sent are not included.
        """
        events, starts = self._events, [turn.start for turn in self._turns]
        messages = [
            (index, number) for number, index in enumerate(self._messages) if not _is_sent_by_step(events, index)
        ]
        return [
            index
            for (last, number), (index, _) in pairwise(messages)
            if events[index].cause == events[last].cause and (number >= len(starts) or index < starts[number])
        ]

    def _joined_replies(self, events: Sequence[Event]) -> AgentReply | None:
        replies = self._replies(events)
        return join_replies(replies) if replies else None

    def _replies(self, events: Sequence[Event]) -> list[Say]:
        return [_to_say(cast(Utterance, event.payload)) for event in events if self._is_reply(event)]

    def _is_reply(self, event: Event) -> bool:
        is_utterance = event.actor == "agent" and isinstance(event.payload, Utterance)
        return is_utterance and self._key in find_conversations(event)

    def _answer(self, start: int, end: int, until: int, *, with_lost: bool = False) -> tuple[ReplyPart, ...]:
        """Return what the agent did and said in this conversation.

        Actions count from `start` to `end`, messages from `start` to `until`. With `with_lost`, replies that a fault
        dropped are included.
        """
        answer: list[ReplyPart] = []
        for index, event in enumerate(self._events[start:until], start):
            if with_lost and index < end and is_lost_reply(event):
                answer += [Say(text) for text in cast(FaultInjected, event.payload).details["lost"]]
            if self._is_reply(event):
                answer.append(_to_say(cast(Utterance, event.payload)))
            elif event.actor == "agent" and event.source == "agent" and index < end:
                answer.append(event.payload)
        return tuple(answer)


def _to_say(utterance: Utterance) -> Say:
    return Say(utterance.text, utterance.utter_name, utterance.buttons, utterance.metadata, utterance.custom)


def list_turns_before(events: Sequence[Event], key: str) -> list[Turn]:
    """Return the turns of a conversation from before the trial, which a step added. Turn 0 is a greeting."""
    turns: list[Turn] = []
    for event in events:
        said = event.payload
        if not isinstance(said, Utterance) or not said.is_past or key not in find_conversations(event):
            continue
        if not said.is_outgoing:
            turns.append(Turn(said.turn, said.text))
        elif turns:
            turns[-1] = replace(turns[-1], answer=(*turns[-1].answer, _to_say(said)))
        else:
            turns.append(Turn(0, None, answer=(_to_say(said),)))
    return turns


def is_lost_reply(event: Event) -> bool:
    """Return whether an event records that a reply of the agent was lost."""
    return isinstance(event.payload, FaultInjected) and "lost" in event.payload.details


def _is_sent_by_step(events: Sequence[Event], index: int) -> bool:
    """Return whether a step sent a message. If so, the next event records that the step has run."""
    after = events[index + 1].payload if index + 1 < len(events) else None
    return isinstance(after, StepRan) and after.step.endswith((".say", ".receive"))


def find_messages_to_agent(events: Sequence[Event], key: str) -> list[int]:
    """Return the positions of the messages that were sent to the agent in a conversation."""
    return [
        index
        for index, event in enumerate(events)
        if isinstance(event.payload, Utterance)
        and not event.payload.is_past
        and not is_by_agent(event)
        and key in find_conversations(event)
    ]


def find_handed_messages(events: Sequence[Event], key: str) -> list[int]:
    """Return the number of events when the agent got each message.

    This is for a trial without that number in its sidecar: it is found from the order of the events.
    """
    counts: list[int] = []
    for message in find_messages_to_agent(events, key):
        end = message + 1
        while end < len(events) and isinstance(events[end].payload, StepRan | StepFailed):
            end += 1  # a step sent the message, and its own event follows
        counts.append(end)
    return counts
