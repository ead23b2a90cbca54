"""The state of a clearinghouse: the interchanges and transactions of the run, and the replies that are due."""

from collections.abc import Iterable, Iterator
from datetime import datetime, timedelta, timezone
from typing import Any

from clerkship.events.event import Event
from clerkship.formats.x12.header import NO_SEPARATOR
from clerkship.formats.x12.interchange import Interchange
from clerkship.formats.x12.segment import DEFAULT_X12_DELIMITERS, X12Delimiters, X12Segment
from clerkship.formats.x12.writer import OutgoingEnvelope, OutgoingGroup, render_interchange
from clerkship.sandbox.agenda import Agenda, find_first_due
from clerkship.sandbox.request import Refusal
from clerkship.sandbox.state import ActionContext, DueWork, State
from clerkship.simulators.x12.config import X12Config
from clerkship.simulators.x12.events import (
    AcknowledgmentReceived,
    AcknowledgmentSent,
    BatchReplied,
    InterchangeAccepted,
    InterchangeRefused,
    InterchangeReplied,
    ReplyPart,
    TransactionRefused,
    X12Answered,
    X12Requested,
)
from clerkship.simulators.x12.records import InterchangeReply, TransactionOutcome, X12Interchange, X12Transaction

TransactionPayload = X12Requested | TransactionRefused | AcknowledgmentReceived | X12Answered | AcknowledgmentSent

_FILE_ENDINGS: dict[ReplyPart, str] = {
    "reply": "reply",
    "acknowledgments": "ack",
    "answers": "reply",
    "decision": "decision",
}


class X12State(State[X12Config]):
    """The interchanges that the agent sent, their transactions, and the replies."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.interchanges: dict[str, X12Interchange] = {}
        self.transactions: dict[str, X12Transaction] = {}
        self.interchange_numbers: dict[str, set[str]] = {}
        """The control numbers (ISA13) of accepted interchanges, by sender."""
        self.last_control_number = 0
        """ISA13 of the last reply."""
        self.last_group_number = 0
        """GS06 of the last group in a reply."""
        self._pending: dict[str, InterchangeReply] = {}
        """Replies to batches that are not delivered yet, by their control number."""
        self._agenda = Agenda(self._find_due)
        self.requests: dict[str, str] = {}
        """Reference number of an authorization -> id of the transaction that last requested or changed it."""

    # What the agent asks for.

    def find_interchange(self, id: str) -> X12Interchange:
        """Return an interchange; refused if it does not exist."""
        if id not in self.interchanges:
            raise Refusal(404, "no_such_interchange", f"there is no interchange {id[:40]}; {_ids(self.interchanges)}")
        return self.interchanges[id]

    def find_transaction(self, id: str) -> X12Transaction:
        """Return a transaction that the agent sent or has received; refused if there is none."""
        transaction = self.transactions.get(id)
        if transaction is None or not transaction.is_delivered:
            raise Refusal(404, "no_such_transaction", f"there is no transaction {id[:40]}")
        return transaction

    def visible_transactions(self) -> Iterator[X12Transaction]:
        """Iterate over the transactions that the agent sent or has received, in order."""
        return (each for each in self.transactions.values() if each.is_delivered)

    def used_numbers(self, interchange: Interchange) -> set[str]:
        """Return the control numbers that the sender of an interchange has used."""
        return self.interchange_numbers.get(sender_of(interchange), set())

    def local_time(self, at: datetime) -> datetime:
        """Return a time in the zone of the clearinghouse."""
        return at.astimezone(timezone(timedelta(minutes=self.config.zone or 0)))

    # Replies.

    def render_reply(self, interchange: X12Interchange, reply: InterchangeReply) -> str:
        """Write a reply: its envelopes, with the transactions in them."""
        settings, header = self.config, interchange.header.split(interchange.header[3])
        envelope = OutgoingEnvelope(
            sender=settings.receiver.id,
            sender_qualifier=settings.receiver.qualifier,
            receiver=header[6],
            receiver_qualifier=header[5],
            control_number=int(reply.control_number),
            created=self.local_time(reply.at),
            usage=settings.usage,
            delimiters=DEFAULT_X12_DELIMITERS if NO_SEPARATOR in interchange.delimiters else interchange.delimiters,
            charset=settings.character_set,
        )
        groups = [
            OutgoingGroup(
                control_number=int(group.control_number),
                version=group.version,
                sets=[self.transactions[id].parse() for id in group.transactions],
                functional_code=group.code,
                sender=group.sender,
                receiver=group.receiver,
            )
            for group in reply.groups
        ]
        return render_interchange(envelope, groups, list(self._ta1_segments(reply)))

    def _ta1_segments(self, reply: InterchangeReply) -> Iterator[X12Segment]:
        if reply.ta1:
            yield self.transactions[reply.ta1].parse().segments[0]

    def find_reply(self, id: str, control_number: str) -> tuple[X12Interchange, InterchangeReply]:
        """Return an interchange and one of its replies."""
        interchange = self.interchanges[id]
        return interchange, next(reply for reply in interchange.replies if reply.control_number == control_number)

    def find_authorization_request(self, reference: str) -> X12Transaction | None:
        """Return the 278 that last requested or changed an authorization; None if none was sent here."""
        return self.transactions.get(self.requests.get(reference, ""))

    def next_due(self) -> DueWork | None:
        """Return the first reply to a batch that is to be delivered."""
        return find_first_due(self._agenda)

    def run_due(self, action: ActionContext) -> None:
        """Deliver the first reply that is due."""
        first = self._agenda.first()
        if first is None:
            return
        reply = self._pending[first[1]]
        interchange, number = self.interchanges[reply.interchange], reply.control_number
        path = self._reply_path(interchange, reply)
        action.emit(BatchReplied(id=interchange.id, part=reply.part, control_number=number, path=path))

    def _find_due(self, control_number: str) -> DueWork | None:
        reply = self._pending.get(control_number)
        return None if reply is None or reply.due is None else DueWork(reply.due, reply.seq)

    def _reply_path(self, interchange: X12Interchange, reply: InterchangeReply) -> str:
        name = interchange.file.rpartition("/")[2]
        stem = name.rpartition(".")[0] or name
        ending = _FILE_ENDINGS[reply.part]
        return f"{self.config.batch.inbound}/{stem}.{reply.control_number}.{ending}.edi"

    # Changes.

    def apply(self, event: Event) -> None:
        match event.payload:
            case InterchangeAccepted() as accepted:
                self._add_interchange(event, accepted)
                self.interchange_numbers.setdefault(accepted.sender, set()).add(accepted.control_number)
            case InterchangeRefused() as refused:
                interchange = self._add_interchange(event, refused)
                interchange.code, interchange.reason = refused.code, refused.reason
            case X12Requested() as requested:
                self._add_transaction(event, requested, "accepted")
            case TransactionRefused() as refused_set:
                self._add_transaction(event, refused_set, "refused").reasons = refused_set.reasons
            case AcknowledgmentReceived() as noted:
                self._add_transaction(event, noted, "noted")
            case X12Answered() as answered:
                answer = self._add_transaction(event, answered, "answer")
                answer.other, answer.reference = answered.request, answered.reference
                self.transactions[answered.request].other = answered.id
                if answered.reference:
                    self.requests[answered.reference] = answered.request
            case AcknowledgmentSent() as acknowledgment:
                self._add_transaction(event, acknowledgment, "acknowledgment")
            case InterchangeReplied() as replied:
                self._add_reply(event, replied)
            case BatchReplied() as delivered:
                self._deliver(delivered)

    def _add_interchange(self, event: Event, payload: InterchangeAccepted | InterchangeRefused) -> X12Interchange:
        interchange = X12Interchange(
            payload.id,
            event.seq,
            event.at,
            payload.control_number,
            payload.sender,
            payload.receiver,
            payload.received_as,
            payload.file,
            payload.header,
            X12Delimiters(*payload.delimiters),
        )
        self.interchanges[payload.id] = interchange
        return interchange

    def _add_transaction(
        self, event: Event, payload: TransactionPayload, outcome: TransactionOutcome
    ) -> X12Transaction:
        transaction = X12Transaction(
            payload.id,
            event.seq,
            event.at,
            payload.interchange,
            payload.transaction,
            payload.control_number,
            getattr(payload, "trace", ""),
            outcome,
            X12Delimiters(*payload.delimiters),
            payload.edi,
        )
        interchange = self.interchanges[payload.interchange]
        if transaction.is_from_agent:
            interchange.transactions.append(payload.id)
        else:
            transaction.is_delivered = interchange.received_as != "batch"
        self.transactions[payload.id] = transaction
        return transaction

    def _add_reply(self, event: Event, replied: InterchangeReplied) -> None:
        interchange = self.interchanges[replied.id]
        number, groups = replied.control_number, replied.groups
        reply = InterchangeReply(event.seq, event.at, replied.part, number, replied.ta1, groups, replied.id)
        self.last_control_number = int(replied.control_number)
        self.last_group_number = max([self.last_group_number, *(int(group.control_number) for group in replied.groups)])
        if interchange.received_as == "batch":
            batch = self.config.batch
            delay = batch.answer_after if replied.part == "answers" else batch.acknowledge_after
            reply.due = event.at + delay
            self._pending[replied.control_number] = reply
            self._agenda.schedule(replied.control_number, reply.due, reply.seq)
        interchange.replies.append(reply)

    def _deliver(self, delivered: BatchReplied) -> None:
        reply = self._pending.pop(delivered.control_number)
        reply.due = None
        for id in reply.transactions:
            self.transactions[id].is_delivered = True


def sender_of(interchange: Interchange) -> str:
    """Return qualifier and id of the sender: `ZZ CLINIC01`."""
    return f"{interchange.sender_qualifier} {interchange.sender}"


def receiver_of(interchange: Interchange) -> str:
    """Return qualifier and id of the receiver."""
    return f"{interchange.receiver_qualifier} {interchange.receiver}"


def _ids(ids: Iterable[str]) -> str:
    last = max(map(int, ids), default=0)
    return f"there are 1 to {last}" if last else "none was received"
