"""The state of an interface engine: checks and acknowledges messages of the agent, and holds its inbox.

Only events change the state. An accepted message is identified by its sender and control id.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, NamedTuple

from clerkship.events.event import Event
from clerkship.formats.hl7.ack import Ack, build_ack, parse_ack
from clerkship.formats.hl7.message import Flaw, Hl7Message, Segment, parse_header, parse_message
from clerkship.sandbox.request import Refusal
from clerkship.sandbox.state import ActionContext, State
from clerkship.simulators.hl7.config import Hl7Config
from clerkship.simulators.hl7.events import (
    ARRIVED_EVENTS,
    SENT_EVENTS,
    Hl7MessageArrived,
    Hl7MessageRefused,
    Hl7MessageSent,
    InboxListed,
    ListenerGone,
    ListenerNamed,
    MessageAcknowledged,
    MessageObjected,
    MessageRepeated,
    MessageTaken,
)
from clerkship.simulators.hl7.intake import (
    ACK,
    AckPlan,
    MessageVerdict,
    build_header_flaw,
    build_objection_flaw,
    describe_flaws,
    evaluate_message,
    plan_acks,
    plan_acks_after_objection,
)


class FiledMessage(NamedTuple):
    """A message was processed by another sandbox; returned by a reaction to the engine that accepted the message."""

    keys: tuple[str, ...]
    """The records that the message changed, in order, such as `Patient/ana`."""


ACK_CODES = ("AA", "AE", "AR", "CA", "CE", "CR")
"""HL7 table 0008."""


class SentMessage(NamedTuple):
    """A message that the agent sent."""

    seq: int
    at: datetime
    control_id: str
    type: str
    """Message type and trigger event, such as `ORU^R01`."""
    ack: str
    reasons: tuple[str, ...]
    """Why it was refused; empty if it was accepted."""
    text: str

    @property
    def is_accepted(self) -> bool:
        return not self.reasons

    @property
    def message(self) -> Hl7Message:
        return parse_message(self.text)


class AckRecord(NamedTuple):
    """An acknowledgment by the agent of a message in its inbox."""

    seq: int
    at: datetime
    code: str
    text: str


@dataclass(slots=True)
class InboxEntry:
    """A message for the agent."""

    id: str
    seq: int
    at: datetime
    control_id: str
    type: str
    text: str
    delivery_count: int = 0
    """How often it was read by the agent or delivered to it."""
    acks: list[AckRecord] = field(default_factory=list)

    @property
    def message(self) -> Hl7Message:
        return parse_message(self.text)

    @property
    def is_pending(self) -> bool:
        """Whether it is pending: not acknowledged, or for an ACK, which is never acknowledged, not read."""
        return not self.acks and not (self.type.startswith(ACK) and self.delivery_count)


MessageKey = tuple[str, str, str]


class Hl7State(State[Hl7Config]):
    """The messages that the agent sent, and its inbox."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.sent: list[SentMessage] = []
        self.inbox: dict[str, InboxEntry] = {}
        self.is_listening = False
        self._accepted: dict[MessageKey, SentMessage] = {}
        self._parsed: Hl7Message | None = None
        """The message being received, so that its text is not parsed again when its event is applied."""

    # Messages from the agent.

    def receive(
        self, action: ActionContext, message: Hl7Message, batch_flaws: Sequence[Flaw] = ()
    ) -> Hl7Message | None:
        """Process a message from the agent, and return its acknowledgment if one is due.

        `batch_flaws` are the flaws of the batch around the message.
        """
        if message.type == ACK and message.first("MSA") is not None:
            return self._receive_ack(action, message)
        verdict = evaluate_message(message, self.config, batch_flaws)
        if verdict.accepted:
            earlier = self._accepted.get(_message_key(message.header))
            if earlier is not None and earlier.text == message.render:
                return self._answer_repeat(action, message, verdict)
            if earlier is not None:
                text = f"MSH-10: the control id {message.control_id} was used for another message"
                verdict = MessageVerdict("E", [build_header_flaw("205", text, 10)])
        return self._log_and_answer(action, message, verdict)

    def refuse_oversized(self, action: ActionContext, header: Hl7Message, size: int) -> Hl7Message | None:
        """Refuse a message that is too large; only its MSH is logged."""
        text = f"a message may have {self.config.max_message} bytes, not {size}"
        return self._log_and_answer(action, header, MessageVerdict("R", [build_header_flaw("207", text)]))

    def _log_and_answer(self, action: ActionContext, message: Hl7Message, verdict: MessageVerdict) -> Hl7Message | None:
        plan = plan_acks(message, verdict)
        if verdict.accepted:
            self._parsed, sent = message, SENT_EVENTS[message.type]
            findings = describe_flaws(verdict.findings) if verdict.findings else ()
            event = action.emit(
                sent(control_id=message.control_id, trigger=message.trigger, message=message.render, findings=findings)
            )
            if objections := action.reaction_refusals(event):
                return self._handle_objections(action, message, plan, objections)
        else:
            action.emit(
                Hl7MessageRefused(
                    control_id=message.control_id,
                    type=message_type(message),
                    ack=plan.code,
                    reasons=verdict.reasons,
                    message=message.render,
                )
            )
        return self._answer(action, message, verdict, plan)

    def _handle_objections(
        self, action: ActionContext, message: Hl7Message, plan: AckPlan, objections: Sequence[Refusal]
    ) -> Hl7Message | None:
        """Report objections in the application acknowledgment; the accept acknowledgment stays positive."""
        verdict = MessageVerdict("E", [build_objection_flaw(message, each) for each in objections])
        action.emit(MessageObjected(control_id=message.control_id, ack="AE", reasons=verdict.reasons))
        return self._answer(action, message, verdict, plan_acks_after_objection(message, plan))

    def _answer(
        self, action: ActionContext, message: Hl7Message, verdict: MessageVerdict, plan: AckPlan
    ) -> Hl7Message | None:
        if plan.deferred:
            self.deliver(action, self._build_ack(action, message, plan.deferred, verdict))
        verdict = MessageVerdict("A") if plan.code == "CA" else verdict
        return self._build_ack(action, message, plan.code, verdict) if plan.is_immediate else None

    def _build_ack(self, action: ActionContext, message: Hl7Message, code: str, verdict: MessageVerdict) -> Hl7Message:
        return build_ack(message, code, verdict.flaws, control_id=action.ids.new("ack"), at=action.now)

    def _answer_repeat(self, action: ActionContext, message: Hl7Message, verdict: MessageVerdict) -> Hl7Message | None:
        plan = plan_acks(message, verdict)
        action.emit(MessageRepeated(control_id=message.control_id, ack=plan.code if plan.is_immediate else ""))
        return self._build_ack(action, message, plan.code, verdict) if plan.is_immediate else None

    def _receive_ack(self, action: ActionContext, message: Hl7Message) -> Hl7Message | None:
        """Process a deferred application acknowledgment (enhanced mode).

        It is not acknowledged, even if it is unexpected.
        """
        ack = parse_ack(message)
        entries = [entry for entry in self.inbox.values() if entry.control_id == ack.control_id and ack.control_id]
        entry = next((entry for entry in entries if not entry.acks), next(iter(entries), None))
        if entry is None or ack.code not in ACK_CODES or not _can_acknowledge(entry, ack.code):
            text = f"MSA-2: no message with the control id {ack.control_id or '(none)'} awaits an acknowledgment"
            return self._log_and_answer(action, message, MessageVerdict("R", [build_header_flaw("204", text)]))
        self.acknowledge(action, entry.id, message)
        return None

    # Messages for the agent.

    def deliver(self, action: ActionContext, message: Hl7Message) -> str:
        """Put a message into the inbox, and return its id there."""
        id = str(len(self.inbox) + 1)
        arrived = ARRIVED_EVENTS[message.type]
        action.emit(arrived(id=id, control_id=message.control_id, trigger=message.trigger, message=message.render))
        return id

    def pending(self) -> Iterator[InboxEntry]:
        """Iterate over the pending messages in order of arrival."""
        return (entry for entry in self.inbox.values() if entry.is_pending)

    def list(self, action: ActionContext, *, every: bool) -> list[InboxEntry]:
        entries = [*(self.inbox.values() if every else self.pending())]
        action.emit(InboxListed(ids=tuple(entry.id for entry in entries)))
        return entries

    def take(self, action: ActionContext, id: str, over: str) -> InboxEntry:
        """Read a message of the inbox."""
        entry = self.find_entry(id)
        action.emit(MessageTaken(id=id, control_id=entry.control_id, over=over))
        return entry

    def find_entry(self, id: str) -> InboxEntry:
        """Return a message of the inbox; refused if it does not exist."""
        if id not in self.inbox:
            available = f"it has 1 to {len(self.inbox)}" if self.inbox else "it is empty"
            raise Refusal(404, "no_such_message", f"the inbox has no message {id[:40]}; {available}")
        return self.inbox[id]

    def acknowledge(self, action: ActionContext, id: str, message: Hl7Message) -> None:
        """Record the agent's acknowledgment of a message. Repeating the same code has no effect."""
        entry, ack = self.find_entry(id), parse_ack(message)
        if ack.code not in ACK_CODES:
            raise Refusal(400, "bad_code", f"MSA-1 is {ack.code or '(none)'}; expected one of {', '.join(ACK_CODES)}")
        if ack.control_id != entry.control_id:
            reason = f"MSA-2 is {ack.control_id or '(none)'}, but message {id} has the control id {entry.control_id}"
            raise Refusal(409, "another_message", reason)
        if any(earlier.code == ack.code for earlier in entry.acks):
            return
        if not _can_acknowledge(entry, ack.code):
            codes = " and ".join(earlier.code for earlier in entry.acks)
            raise Refusal(409, "acknowledged", f"message {id} is already acknowledged with {codes}")
        action.emit(
            MessageAcknowledged(
                id=id, control_id=entry.control_id, ack=ack.code, text=_ack_reason(ack), message=message.render
            )
        )

    def acknowledge_with_code(self, action: ActionContext, id: str, code: str, text: str) -> None:
        """Acknowledge a message with an ACK built from a code and a text."""
        if code not in ACK_CODES:
            raise Refusal(400, "bad_code", f"unknown code {code[:20]!r}; expected one of {', '.join(ACK_CODES)}")
        message = self.find_entry(id).message
        self.acknowledge(
            action, id, build_ack(message, code, control_id=action.ids.new("ack"), at=action.now, text=text)
        )

    def apply(self, event: Event) -> None:
        match event.payload:
            case Hl7MessageSent() as sent:
                self._add_sent(event, sent)
            case Hl7MessageRefused() as refused:
                self.sent.append(
                    SentMessage(
                        event.seq,
                        event.at,
                        refused.control_id,
                        refused.type,
                        refused.ack,
                        refused.reasons,
                        refused.message,
                    )
                )
            case MessageObjected() as objected:
                self._mark_refused(objected)
            case Hl7MessageArrived() as arrived:
                type = f"{event.kind.split('.')[1].upper()}^{arrived.trigger}".removesuffix("^")
                self.inbox[arrived.id] = InboxEntry(
                    arrived.id, event.seq, event.at, arrived.control_id, type, arrived.message
                )
            case MessageTaken(id=id):
                self.inbox[id].delivery_count += 1
            case MessageAcknowledged(id=id, ack=code, text=text):
                self.inbox[id].acks.append(AckRecord(event.seq, event.at, code, text))
            case ListenerNamed():
                self.is_listening = True
            case ListenerGone():
                self.is_listening = False

    def _add_sent(self, event: Event, sent: Hl7MessageSent) -> None:
        type = f"{event.kind.split('.')[1].upper()}^{sent.trigger}".removesuffix("^")
        message, self._parsed = self._parsed, None
        if message is None or message.render is not sent.message:  # the event is being replayed from a log
            message = Hl7Message([parse_header(sent.message)])
        header, plan = message.header, plan_acks(message, MessageVerdict("A"))
        ack = plan.code if plan.is_immediate else ""
        entry = SentMessage(event.seq, event.at, sent.control_id, type, ack, (), sent.message)
        self.sent.append(entry)
        self._accepted[_message_key(header)] = entry

    def _mark_refused(self, objected: MessageObjected) -> None:
        """Mark an accepted message as refused, so that it may be sent again."""
        backwards = range(len(self.sent) - 1, -1, -1)
        index = next(
            n for n in backwards if self.sent[n].control_id == objected.control_id and self.sent[n].is_accepted
        )
        entry = self.sent[index]
        self._accepted.pop(_message_key(entry.message.header), None)
        self.sent[index] = entry._replace(ack=objected.ack, reasons=objected.reasons)


def _can_acknowledge(entry: InboxEntry, code: str) -> bool:
    """Return whether a message may get this code.

    An application acknowledgment may follow a CA; otherwise there is only one acknowledgment.
    """
    codes = {earlier.code for earlier in entry.acks}
    return not codes or code in codes or (code[0] == "A" and codes == {"CA"})


def _ack_reason(ack: Ack) -> str:
    """Return the reason: MSA-3, or the error texts from version 2.7 on, where MSA-3 was withdrawn."""
    return ack.text or "; ".join(error.text for error in ack.errors if error.text)


def _message_key(header: Segment) -> MessageKey:
    """Return sender and control id: control ids are unique per sender (HL7 v2.5.1 §2.15.9.10)."""
    return header.raw(3), header.raw(4), header.text(10)


def message_type(message: Hl7Message) -> str:
    """Return the message type and trigger event, such as `ORU^R01`."""
    return f"{message.type}^{message.trigger}".removesuffix("^")
