"""The simulated people of a playground, each in their own conversation."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from datetime import timedelta
from functools import cache, partial
from itertools import takewhile
from typing import TYPE_CHECKING, Any, TypeVar, cast

from pydantic import JsonValue

from clerkship.actors.contract import (
    AgentReply,
    ContractBreach,
    Message,
    PersonAction,
    PersonStep,
    PersonUnavailable,
    ReplyPart,
    Say,
    SimulatedPerson,
)
from clerkship.actors.reply import check_log_capacity
from clerkship.by_name import load
from clerkship.events.event import Event, PauseEnded, Utterance, find_conversations, is_by_agent
from clerkship.events.lifecycle import PersonBrokeContract, PersonMadeUpFacts
from clerkship.kit.wall import Stopwatch, monotonic
from clerkship.model.conversation_key import parse_key
from clerkship.model.run import Ending
from clerkship.playground.component import PlaygroundHost
from clerkship.playground.faults import FaultInjector
from clerkship.sandbox.faults.contract import ON_TURN
from clerkship.sandbox.request import Refusal
from clerkship.sandbox.state import CallConversation, Conversation

if TYPE_CHECKING:
    from clerkship.playground.person_tools import HeldTools

REPEAT_AFTER = timedelta(minutes=1)
"""How long a person waits for a reply that was lost before they repeat their last message."""
HEARD_ACTORS = ("agent", "reaction")
"""Whose messages a person at an address answers: the agent's, also those that follow from what it wrote in another
sandbox; not messages that lie in the past, and not automatic replies."""
INVALID_PERSON: Ending = "invalid_person"
NO_PAUSES: Mapping[int, PersonStep] = {}
D = TypeVar("D")


@dataclass(slots=True)
class Participant:
    """A person in a conversation."""

    key: str
    """The key of the conversation: the sandbox, with channel and address if it holds several conversations."""
    person: SimulatedPerson
    conversation: Conversation
    messages_ahead: int = 0
    """Messages that the person sent without waiting for the reply to the one before."""
    queued_replies: list[Say] = field(default_factory=list)
    """Replies to those messages; the person gets them together with the last one."""
    held_events: list[Event] | None = None
    """Events while a turn of the agent is recorded; the person notices them after the turn. None outside of a turn."""
    leave_reason: str | None = None
    """Why the person left; None if they have not."""
    unread: list[tuple[AgentReply, Event]] = field(default_factory=list)
    """Replies that a person with `answers_after` has not read yet."""
    after_pause: dict[int, PersonStep] = field(default_factory=dict)
    """What a person on the phone does after each pause, by its number."""
    tools: "HeldTools | None" = None
    """The tools that they may use; None if they have none."""
    sandbox: str = field(init=False)
    has_address: bool = field(init=False)
    """Whether the person is reached at an address, on a sandbox with several conversations."""
    call: CallConversation | None = field(init=False)
    """The conversation, if it is one by phone."""

    def __post_init__(self) -> None:
        self.sandbox = parse_key(self.key).sandbox
        self.has_address = self.key != self.sandbox
        self.call = _as_call(self.conversation)


class People:
    """The people of a playground, by the key of their conversation."""

    def __init__(self, host: PlaygroundHost, faults: FaultInjector) -> None:
        self._host = host
        self._faults = faults
        self.participants: dict[str, Participant] = {}
        self._recording: list[Participant] = []
        """Those whose turn is being recorded, and who notice its events afterwards."""
        self._has_watchers = False
        """Whether a person watches events outside of their conversation."""
        self.agent_takes_turns = False
        """Whether the agent gets the words of people as messages, so that their calls are answered for it."""
        self.listening = False
        """Whether people are notified of events: from the end of the setup until the trial ends."""
        self.uses_model = False
        """Whether a model plays a person, which takes wall time."""
        self.model_time = Stopwatch(monotonic)
        """How long models have taken to decide what people say. It does not count towards the agent's time limits."""
        self.model_failed = False
        """Whether the model that plays a person failed."""
        self.contract_breach: ContractBreach | None = None
        """How a model that plays a person left its role, if it did."""

    @property
    def leave_reasons(self) -> dict[str, str]:
        """Why people left, by conversation, without those who are still there."""
        return {name: each.leave_reason for name, each in self.participants.items() if each.leave_reason is not None}

    def add_person(self, person: SimulatedPerson, key: str) -> None:
        """Start a conversation between a person and the agent."""
        conversation = _find_conversation(self._host, key)
        context, call = self._host.context_for(parse_key(key).sandbox, "person"), _as_call(conversation)
        if call is not None:
            call.start(context, person.name, greeting=person.greeting)
        else:
            conversation.start(context, person.name)
        self.restore_person(person, key)

    def restore_person(
        self,
        person: SimulatedPerson,
        key: str,
        messages_ahead: int = 0,
        queued_replies: Sequence[Say] = (),
        after_pause: Mapping[int, PersonStep] = NO_PAUSES,
    ) -> None:
        """Add a person to a conversation that has already begun. See Participant for the last three parameters."""
        conversation = _find_conversation(self._host, key)
        person.join(conversation.messages)
        participant = Participant(key, person, conversation, messages_ahead, list(queued_replies))
        participant.after_pause |= after_pause
        if person.tools:
            open_tools = load("clerkship.playground.person_tools:HeldTools")  # few people have tools
            participant.tools = cast("HeldTools", open_tools(self._host, key, person.tools))
            person.take_tools(participant.tools)
        self.participants[key] = participant
        self.uses_model = self.uses_model or person.uses_model
        self._has_watchers = self._has_watchers or person.watches
        if person.answers_after is not None or participant.call is not None:
            self._restore_unread(participant)

    def _restore_unread(self, participant: Participant) -> None:
        """Let a person read what the agent sent since their last message, at the time when they would have.

        What they have answered by a pause they have read.
        """
        pauses = participant.call.pauses if participant.call is not None else ()
        read_until = max((pause.cause or 0 for pause in pauses), default=0)
        sent = list(takewhile(is_by_agent, reversed(participant.conversation.messages)))
        for event in reversed(sent):
            message = cast(Utterance, event.payload)
            if event.actor in HEARD_ACTORS and message.expects_answer and event.seq > read_until:
                self._hear(participant, _to_reply(message), event)

    def open(self, key: str) -> None:
        """Have a person send their first message."""
        participant = self.participants[key]
        self._perform(participant, self._decide(participant, None, participant.person.open))

    def leave(self, key: str, reason: str) -> None:
        """Have a person leave."""
        with self._host.lock:
            self._perform(self.participants[key], PersonAction(leaves=True, reason=reason))

    def record_greeting(self, key: str, turn: Sequence[ReplyPart]) -> None:
        """Record what the agent did and said without having the person answer, as before their first message."""
        participant = self.participants[key]
        with self._host.lock:
            if any(isinstance(part, Say) for part in turn):
                self._connect(participant, None)
            self._record(participant, turn)

    def deliver(self, key: str, turn: Sequence[ReplyPart], *, last: bool = False) -> bool:
        """Record what the agent did and said in one turn, and have the person answer it.

        After the `last` turn that the scenario allows, no model is asked for an answer that could not be sent.
        Returns false if the agent said nothing and the person does not continue.
        """
        participant = self.participants[key]
        with self._host.lock:
            replies = [part for part in turn if isinstance(part, Say)]
            if self._faults.active and replies and not self._apply_faults(participant, replies):
                self._record(participant, [part for part in turn if not isinstance(part, Say)])
                return True
            message, noticed = self._record(participant, turn)
            if participant.messages_ahead:
                participant.messages_ahead -= 1
                participant.queued_replies += replies
                return True
            if participant.queued_replies:
                replies, participant.queued_replies = [*participant.queued_replies, *replies], []
                message = message or _last_message(participant.conversation, by_agent=True)
            if participant.person.watches:
                answers = [self._notice(participant, event) for event in noticed]
                if any(answers):
                    return True
            return self._answer(participant, replies, message, last=last)

    def _answer(self, participant: Participant, replies: Sequence[Say], message: Event | None, *, last: bool) -> bool:
        person = participant.person
        if not replies:
            action = self._decide(participant, None, person.wait)
            self._perform(participant, action)
            return action is not None
        if message is not None and (not last or not person.uses_model or person.leaving):
            self._hear(participant, join_replies(replies), message)
        return True

    def _hear(self, participant: Participant, reply: AgentReply, message: Event) -> None:
        """Have a person answer a reply: at once, when it has been said, or when they read it."""
        delay = participant.person.answers_after
        spoken: timedelta = message.payload.duration  # type: ignore[attr-defined]  # of an Utterance
        if delay is None and not spoken:
            self._answer_reply(participant, reply, message)
            return
        participant.unread.append((reply, message))
        if len(participant.unread) == 1:
            at = message.at + spoken + (delay or timedelta(0))
            self._host.clock.schedule(at, partial(self._read, participant))

    def _read(self, participant: Participant) -> None:
        """Have a person read all that they were sent, and answer it together.

        While the agent speaks, a person listens.
        """
        said_at = [event.at + cast(Utterance, event.payload).duration for _, event in participant.unread]
        if said_at and max(said_at) > self._host.clock.now:
            self._host.clock.schedule(max(said_at), partial(self._read, participant))
            return
        unread, participant.unread = participant.unread, []
        conversation = participant.conversation
        if not unread or not self.listening or not conversation.open:
            return
        if participant.call is not None and not participant.call.can_answer(unread[-1][1]):
            return
        with self._host.lock:
            # The clock has just called this. A tick would run the next person's reading within it, and so on.
            self._answer_reply(participant, _join([reply for reply, _ in unread]), unread[-1][1], ticks=False)

    def _answer_reply(self, participant: Participant, reply: AgentReply, message: Event, *, ticks: bool = True) -> None:
        action = self._decide(participant, message.seq, participant.person.hear, reply)
        self._perform(participant, action, message.seq, ticks=ticks)

    def _decide(self, participant: Participant, cause: int | None, decide: Callable[..., D], *arguments: object) -> D:
        """Return what a person decides because of an event, and measure the time of a model."""
        if participant.tools is not None:
            participant.tools.cause = cause
        if not participant.person.uses_model:
            return decide(*arguments)
        with self.model_time:
            try:
                return decide(*arguments)
            except PersonUnavailable as error:
                self.model_failed, self._host.broken = True, str(error)
                raise

    def _perform(
        self, participant: Participant, action: PersonAction | None, cause: int | None = None, *, ticks: bool = True
    ) -> None:
        """Carry out what a person decided."""
        if action is None:
            return
        if not action.text and not action.leaves:
            self._act_silently(participant, action, cause)
            return
        host, sandbox, conversation = self._host, participant.sandbox, participant.conversation
        if ticks:
            host.clock.tick()  # a scheduled event may end the conversation
        if action.text and conversation.open:
            if participant.call is not None:
                self._connect(participant, cause)
            extra: dict[str, Any] = {"metadata": dict(action.metadata)} if action.metadata else {}
            if participant.has_address:
                extra["subject"] = participant.person.subject
            message = conversation.say(host.context_for(sandbox, "person", cause), action.text, **extra)
            if action.made_up:
                _note_made_up(self, host, action.made_up, message)
        if action.leaves and conversation.open:
            participant.leave_reason = action.reason
            detail = {"detail": action.detail} if action.detail else {}
            conversation.end(host.context_for(sandbox, "person", cause), action.reason, **detail)
        if action.more is not None and conversation.open:
            participant.messages_ahead += 1
            self._perform(participant, self._decide(participant, cause, action.more), cause)

    def _connect(self, participant: Participant, cause: int | None) -> None:
        """Have a person who speaks by phone call the agent, if they are not in a call and the agent takes turns."""
        if self.agent_takes_turns and participant.has_address and participant.call is not None:
            participant.call.connect(self._host.context_for(participant.sandbox, "person", cause))

    def _act_silently(self, participant: Participant, action: PersonAction, cause: int | None) -> None:
        """Carry out an action without a message: end the conversation after a contract breach, or wait."""
        if action.out_of_role is not None and participant.conversation.open:
            self._end_invalid(participant, action.out_of_role, cause)
        if action.after is None:
            return

        conversation, call = participant.conversation, participant.call
        if call is None:
            self._host.clock.advance(action.after)
            if action.more is not None and conversation.open:
                self._perform(participant, self._decide(participant, cause, action.more), cause)
        elif action.more is not None and conversation.open:
            # Other calls go on meanwhile, and so does the action that the person has noticed.
            pause = call.pause(self._host.context_for(participant.sandbox, "person", cause), action.after)
            participant.after_pause[pause] = action.more

    def _end_pause(self, event: Event, pause: int) -> None:
        """Have a person on the phone do what they decided before a pause."""
        for participant in filter(None, map(self.participants.get, find_conversations(event))):
            more = participant.after_pause.pop(pause, None)
            if more is not None and participant.conversation.open:
                self._perform(participant, self._decide(participant, event.seq, more), event.seq, ticks=False)

    def _end_invalid(self, participant: Participant, breach: ContractBreach, cause: int | None) -> None:
        self.contract_breach = breach
        self.listening = False  # else the person would be asked to react to the event
        payload = PersonBrokeContract(rule=breach.rule, reason=breach.reason, would_have_said=breach.would_have_said)
        event = self._host.emit(participant.sandbox, payload, "run", cause)
        participant.leave_reason = INVALID_PERSON
        participant.conversation.end(self._host.context_for(participant.sandbox, "run", event.seq), INVALID_PERSON)

    def _record(self, participant: Participant, turn: Sequence[ReplyPart]) -> tuple[Event | None, list[Event]]:
        """Record a turn in order; return the last message in it, and the events that happened meanwhile."""
        host, sandbox, conversation = self._host, participant.sandbox, participant.conversation
        events: list[Event] = []
        participant.held_events = events
        self._recording.append(participant)
        message: Event | None = None
        try:
            for part in turn:
                check_log_capacity(host.log)
                if not isinstance(part, Say):
                    host.emit("agent", part, "agent")
                    continue
                host.clock.tick()  # a scheduled event may end the conversation
                if conversation.open:
                    try:
                        message = conversation.say(host.context_for(sandbox, "agent"), **part.fields())
                    except Refusal:
                        if not participant.has_address:
                            raise
                        # The sandbox has logged the refusal. What is not sent, such as after STOP, is not heard.
        finally:
            self._recording.remove(participant)
            participant.held_events = None
        return message, events

    def _apply_faults(self, participant: Participant, replies: Sequence[Say]) -> bool:
        """Apply faults to a turn; return false if the turn is lost. The person then repeats their last message."""
        sandbox = participant.sandbox
        for active, rng in self._faults.matching(sandbox, ON_TURN):
            effect = active.fault.on_turn(rng)
            if effect.reply is None:
                self._faults.trigger(active, sandbox, ON_TURN, effect.details)
                self._host.clock.advance(effect.delay)
                continue
            details = {**effect.details, "lost": [reply.text for reply in replies]}
            self._repeat_last_message(participant, self._faults.trigger(active, sandbox, ON_TURN, details))
            return False
        return True

    def _repeat_last_message(self, participant: Participant, lost: Event) -> None:
        """Have a person repeat their last message after a while, unless they sent another one meanwhile."""
        last = _last_message(participant.conversation, by_agent=False)
        self._host.clock.advance(REPEAT_AFTER)
        if last is not None and _last_message(participant.conversation, by_agent=False) is last:
            self._perform(participant, PersonAction(cast(Utterance, last.payload).text), lost.seq)

    def notify(self, event: Event) -> None:
        """Have people notice an event; the person whom a message was sent to answers it."""
        if event.actor == "person":
            return
        if isinstance(event.payload, PauseEnded):
            self._end_pause(event, event.payload.pause)
            return
        keys = find_conversations(event)
        concerned: Iterable[Participant] = self.participants.values()
        if not self._has_watchers and len(keys) == 1:  # with a thousand people, asking each one would take long
            addressed = self.participants.get(keys[0])
            others = () if addressed is None or addressed.held_events is not None else (addressed,)
            concerned = (*self._recording, *others)
        for participant in concerned:
            if participant.held_events is not None:
                participant.held_events.append(event)
            elif not self._notice(participant, event) and participant.key in keys:
                self._hear_message(participant, event)

    def _hear_message(self, participant: Participant, event: Event) -> None:
        message = event.payload
        if not isinstance(message, Utterance) or not message.expects_answer:
            return
        if event.actor in HEARD_ACTORS or not participant.has_address:
            participant.messages_ahead = 0
            self._hear(participant, _to_reply(message), event)

    def _notice(self, participant: Participant, event: Event) -> bool:
        """Have a person notice an event; return whether it was in their conversation and they answered."""
        person = participant.person
        action = self._decide(participant, event.seq, person.notice, event) if person.watches else None
        if action is None:
            return False
        self._perform(participant, action, event.seq)
        return participant.key in find_conversations(event)


def _note_made_up(people: People, host: PlaygroundHost, facts: tuple[str, ...], message: Event) -> None:
    """Record the facts that a played person made up in a message. People do not notice this event."""
    listening, people.listening = people.listening, False
    host.emit(message.source, PersonMadeUpFacts(facts=facts), "run", message.seq)
    people.listening = listening


def _find_conversation(host: PlaygroundHost, key: str) -> Conversation:
    sandbox, channel, address = parse_key(key)
    state = host.components[sandbox].state
    if channel is None or address is None:
        return state  # type: ignore[return-value]  # of a sandbox that has one conversation
    return state.conversation(channel, address)  # type: ignore[attr-defined, no-any-return]  # a ConversationHost


def build_message(
    utterance: Utterance, key: str, task_item: Mapping[str, JsonValue] | None, slots: Mapping[str, JsonValue]
) -> Message:
    """Build the message for an agent. Its metadata is a copy, which the agent may change."""
    sandbox, channel, address = parse_key(key)
    return Message(
        utterance.text,
        utterance.turn,
        sandbox,
        task_item,
        deepcopy(utterance.metadata) if utterance.metadata else utterance.metadata,
        slots,
        channel,
        address,
        utterance.subject,
    )


def _as_call(conversation: Conversation) -> CallConversation | None:
    return cast(CallConversation, conversation) if _is_call(type(conversation)) else None


@cache
def _is_call(kind: type[Conversation]) -> bool:
    """Return whether a conversation is one by phone; kept, because Python takes long to tell."""
    return issubclass(kind, CallConversation)


def join_replies(replies: Sequence[Say]) -> AgentReply:
    """Join the replies of a turn into what the person hears."""
    first, *more = replies
    return _join([_to_reply(reply) for reply in replies]) if more else _to_reply(first)


def _join(replies: Sequence[AgentReply]) -> AgentReply:
    return AgentReply(
        "\n".join(reply.text for reply in replies if reply.text),
        tuple(button for reply in replies for button in reply.buttons),
        tuple(custom for reply in replies for custom in reply.custom),
    )


def _to_reply(message: Utterance | Say) -> AgentReply:
    return AgentReply(message.text, message.buttons, (message.custom,) if message.custom is not None else ())


def _last_message(conversation: Conversation, *, by_agent: bool) -> Event | None:
    messages = reversed(conversation.messages)
    return next((event for event in messages if is_by_agent(event) == by_agent), None)
