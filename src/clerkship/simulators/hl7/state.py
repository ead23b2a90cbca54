"""The rules of an interface engine: what an agent sends is weighed and acknowledged, what is for it waits in its inbox.

Only events change anything. What the agent sent and was taken is known by its control id from then on.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, NamedTuple, cast

from clerkship.events.event import Event
from clerkship.hl7.ack import Ack, build_ack, parse_ack
from clerkship.hl7.flaw import Flaw
from clerkship.hl7.message import Hl7Message, Segment, parse_header, parse_message
from clerkship.sandbox.request import Refusal
from clerkship.sandbox.state import ActionContext, State
from clerkship.simulators.hl7.config import Hl7Config
from clerkship.simulators.hl7.events import (
    ARRIVED,
    SENT,
    Arrived,
    InboxListed,
    ListenerGone,
    ListenerNamed,
    MessageAcknowledged,
    MessageObjected,
    MessageRefused,
    MessageRepeated,
    MessageTaken,
    Sent,
)
from clerkship.simulators.hl7.intake import ACK, Answers, Verdict, answers, answers_after_all, flaw, objection, weigh

CODES = ("AA", "AE", "AR", "CA", "CE", "CR")
"""HL7 table 0008."""


class Outgoing(NamedTuple):
    """A message the agent sent."""

    seq: int
    at: datetime
    control_id: str
    type: str
    """`ORU^R01`."""
    ack: str
    reasons: tuple[str, ...]
    """Why it was not taken; empty if it was."""
    text: str

    @property
    def taken(self) -> bool:
        """Whether it was."""
        return not self.reasons

    @property
    def message(self) -> Hl7Message:
        """It, read."""
        return parse_message(self.text)


class Said(NamedTuple):
    """What the agent said to a message in its inbox."""

    seq: int
    at: datetime
    code: str
    text: str


@dataclass(slots=True)
class Incoming:
    """A message for the agent."""

    id: str
    seq: int
    at: datetime
    control_id: str
    type: str
    text: str
    handed: int = 0
    """How often it was handed to the agent."""
    said: list[Said] = field(default_factory=list)

    @property
    def message(self) -> Hl7Message:
        """It, read."""
        return parse_message(self.text)

    @property
    def open(self) -> bool:
        """Whether it still waits: for an answer; an acknowledgement, which nobody answers, to be taken."""
        return not self.said and not (self.type.startswith(ACK) and self.handed)


Key = tuple[str, str, str]


class Hl7State(State):
    """What the agent sent, and what there is for it."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.sent: list[Outgoing] = []
        self.inbox: dict[str, Incoming] = {}
        self.listening = False
        self._known: dict[Key, Outgoing] = {}
        self._parsed: Hl7Message | None = None
        """The message that is being received: its event has the same text, which need not be parsed again."""

    @property
    def settings(self) -> Hl7Config:
        """The config, as what it is."""
        return cast(Hl7Config, self.config)

    # What the agent sends.

    def receive(self, act: ActionContext, message: Hl7Message, around: Sequence[Flaw] = ()) -> Hl7Message | None:
        """The agent sends a message, perhaps in a batch that is flawed around it; its acknowledgement, if one is
        asked for."""
        if message.type == ACK and message.first("MSA") is not None:
            return self._receive_ack(act, message)
        verdict = weigh(message, self.settings, around)
        if verdict.good:
            known = self._known.get(_key(message.header))
            if known is not None and known.text == message.render:
                return self._repeat(act, message, verdict)
            if known is not None:
                text = f"MSH-10: the control id {message.control_id} is that of another message"
                verdict = Verdict("E", [flaw("205", text, 10)])
        return self._settle(act, message, verdict)

    def refuse_size(self, act: ActionContext, head: Hl7Message, size: int) -> Hl7Message | None:
        """The agent sends more than one message may have: of it the MSH is kept."""
        text = f"a message may have {self.settings.max_message} bytes, not {size}"
        return self._settle(act, head, Verdict("R", [flaw("207", text)]))

    def _settle(self, act: ActionContext, message: Hl7Message, verdict: Verdict) -> Hl7Message | None:
        told = answers(message, verdict)
        if verdict.good:
            self._parsed, sent = message, SENT[message.type]
            event = act.emit(sent(control_id=message.control_id, trigger=message.trigger, message=message.render))
            if objections := act.objections(event):
                return self._object(act, message, told, objections)
        else:
            act.emit(
                MessageRefused(
                    control_id=message.control_id,
                    type=type_of(message),
                    ack=told.code,
                    reasons=verdict.reasons,
                    message=message.render,
                )
            )
        return self._answer(act, message, verdict, told)

    def _object(
        self, act: ActionContext, message: Hl7Message, told: Answers, objections: Sequence[Refusal]
    ) -> Hl7Message | None:
        """Whoever should have followed could not: the application's acknowledgement says so, not the engine's own."""
        verdict = Verdict("E", [objection(message, each) for each in objections])
        act.emit(MessageObjected(control_id=message.control_id, ack="AE", reasons=verdict.reasons))
        told = answers_after_all(message, told)
        if told.later:
            self.deliver(act, self._written(act, message, told.later, verdict))
        accepted = Verdict("A") if told.code == "CA" else verdict
        return self._written(act, message, told.code, accepted) if told.now else None

    def _answer(self, act: ActionContext, message: Hl7Message, verdict: Verdict, told: Answers) -> Hl7Message | None:
        if told.later:
            self.deliver(act, self._written(act, message, told.later, verdict))
        return self._written(act, message, told.code, verdict) if told.now else None

    def _written(self, act: ActionContext, message: Hl7Message, code: str, verdict: Verdict) -> Hl7Message:
        return build_ack(message, code, verdict.flaws, control_id=act.ids.new("ack"), at=act.now)

    def _repeat(self, act: ActionContext, message: Hl7Message, verdict: Verdict) -> Hl7Message | None:
        told = answers(message, verdict)
        act.emit(MessageRepeated(control_id=message.control_id, ack=told.code if told.now else ""))
        return self._written(act, message, told.code, verdict) if told.now else None

    def _receive_ack(self, act: ActionContext, message: Hl7Message) -> Hl7Message | None:
        """In enhanced mode an application acknowledges in a message of its own; nobody acknowledges that in turn, even
        if nobody waits for it."""
        said = parse_ack(message)
        meant = [entry for entry in self.inbox.values() if entry.control_id == said.control_id and said.control_id]
        entry = next((entry for entry in meant if not entry.said), next(iter(meant), None))
        if entry is None or said.code not in CODES or not _may_say(entry, said.code):
            text = f"MSA-2: no message with the control id {said.control_id or '(none)'} waits for an acknowledgement"
            return self._settle(act, message, Verdict("R", [flaw("204", text)]))
        self.acknowledge(act, entry.id, message)
        return None

    # What there is for the agent.

    def deliver(self, act: ActionContext, message: Hl7Message) -> str:
        """A message comes for the agent; its place in the inbox."""
        id = str(len(self.inbox) + 1)
        arrived = ARRIVED[message.type]
        act.emit(arrived(id=id, control_id=message.control_id, trigger=message.trigger, message=message.render))
        return id

    def waiting(self) -> Iterator[Incoming]:
        """Messages that are not answered, in the order they came."""
        return (entry for entry in self.inbox.values() if entry.open)

    def list(self, act: ActionContext, *, every: bool) -> list[Incoming]:
        """The agent looks at its inbox."""
        found = [*(self.inbox.values() if every else self.waiting())]
        act.emit(InboxListed(ids=tuple(entry.id for entry in found)))
        return found

    def take(self, act: ActionContext, id: str, over: str) -> Incoming:
        """A message is handed to the agent."""
        entry = self.entry(id)
        act.emit(MessageTaken(id=id, control_id=entry.control_id, over=over))
        return entry

    def entry(self, id: str) -> Incoming:
        """One of the inbox."""
        if id not in self.inbox:
            there = f"there are 1 to {len(self.inbox)}" if self.inbox else "it is empty"
            raise Refusal(404, "no_such_message", f"the inbox has no message {id[:40]}; {there}")
        return self.inbox[id]

    def acknowledge(self, act: ActionContext, id: str, ack: Hl7Message) -> None:
        """The agent says what it made of a message; the same again changes nothing."""
        entry, said = self.entry(id), parse_ack(ack)
        if said.code not in CODES:
            raise Refusal(400, "bad_code", f"MSA-1 is {said.code or '(none)'}; expected one of {', '.join(CODES)}")
        if said.control_id != entry.control_id:
            reason = f"MSA-2 is {said.control_id or '(none)'}, but message {id} has the control id {entry.control_id}"
            raise Refusal(409, "another_message", reason)
        if any(earlier.code == said.code for earlier in entry.said):
            return
        if not _may_say(entry, said.code):
            codes = " and ".join(earlier.code for earlier in entry.said)
            raise Refusal(409, "acknowledged", f"message {id} was acknowledged with {codes} already")
        act.emit(
            MessageAcknowledged(
                id=id, control_id=entry.control_id, ack=said.code, text=_words(said), message=ack.render
            )
        )

    def acknowledge_as(self, act: ActionContext, id: str, code: str, text: str) -> None:
        """The same, with an acknowledgement that is written for the agent."""
        if code not in CODES:
            raise Refusal(400, "bad_code", f"{code[:20]!r} is no code; expected one of {', '.join(CODES)}")
        message = self.entry(id).message
        self.acknowledge(act, id, build_ack(message, code, control_id=act.ids.new("ack"), at=act.now, text=text))

    def name_listener(self, act: ActionContext) -> None:
        """The agent says that it listens."""
        act.emit(ListenerNamed())

    def forget_listener(self, act: ActionContext) -> None:
        """The agent says that it listens no more."""
        act.emit(ListenerGone())

    def apply(self, event: Event) -> None:
        """Take in what happened."""
        match event.payload:
            case Sent() as sent:
                self._keep(event, sent)
            case MessageRefused() as no:
                self.sent.append(Outgoing(event.seq, event.at, no.control_id, no.type, no.ack, no.reasons, no.message))
            case MessageObjected() as no:
                self._let_go(no)
            case Arrived() as new:
                type = f"{event.kind.split('.')[1].upper()}^{new.trigger}".removesuffix("^")
                self.inbox[new.id] = Incoming(new.id, event.seq, event.at, new.control_id, type, new.message)
            case MessageTaken(id=id):
                self.inbox[id].handed += 1
            case MessageAcknowledged(id=id, ack=code, text=text):
                self.inbox[id].said.append(Said(event.seq, event.at, code, text))
            case ListenerNamed():
                self.listening = True
            case ListenerGone():
                self.listening = False

    def _keep(self, event: Event, sent: Sent) -> None:
        type = f"{event.kind.split('.')[1].upper()}^{sent.trigger}".removesuffix("^")
        message, self._parsed = self._parsed, None
        if message is None or message.render is not sent.message:  # the event is replayed from a log
            message = Hl7Message([parse_header(sent.message)])
        head, told = message.header, answers(message, Verdict("A"))
        ack = told.code if told.now else ""
        kept = Outgoing(event.seq, event.at, sent.control_id, type, ack, (), sent.message)
        self.sent.append(kept)
        self._known[_key(head)] = kept

    def _let_go(self, objected: MessageObjected) -> None:
        """It counts as not taken, and may be sent again."""
        backwards = range(len(self.sent) - 1, -1, -1)
        place = next(n for n in backwards if self.sent[n].control_id == objected.control_id and self.sent[n].taken)
        kept = self.sent[place]
        self._known.pop(_key(kept.message.header), None)
        self.sent[place] = kept._replace(ack=objected.ack, reasons=objected.reasons)

    def dump(self) -> Any:
        """All of it as plain data."""
        return {
            "sent": [[each.seq, each.type, each.control_id, each.ack, *each.reasons, each.text] for each in self.sent],
            "inbox": [
                [entry.id, entry.type, entry.control_id, entry.text, entry.handed, [said[2:] for said in entry.said]]
                for entry in self.inbox.values()
            ],
            "listening": self.listening,
        }


def _may_say(entry: Incoming, code: str) -> bool:
    """An application's acknowledgement may follow an accept acknowledgement; nothing else is said twice."""
    codes = {earlier.code for earlier in entry.said}
    return not codes or code in codes or (code[0] == "A" and codes == {"CA"})


def _words(said: Ack) -> str:
    """Why: MSA-3, or from 2.7 on, which has none, what its errors say."""
    return said.text or "; ".join(error.text for error in said.errors if error.text)


def _key(head: Segment) -> Key:
    """A control id is its sender's own (HL7 v2.5.1 §2.15.9.10)."""
    return head.raw(3), head.raw(4), head.text(10)


def type_of(message: Hl7Message) -> str:
    """`ORU^R01`, as far as it can be read."""
    return f"{message.type}^{message.trigger}".removesuffix("^")
