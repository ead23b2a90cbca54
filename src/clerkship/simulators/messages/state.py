"""The state of an organization's messages: what was sent and received, consent, and what is still to be delivered.

See docs/decisions/0021-messages.md.
"""

from collections.abc import Mapping, MutableMapping
from typing import Any, cast

from clerkship.events.event import Event
from clerkship.events.lifecycle import OutboundAttempted
from clerkship.model.conversation_key import normalize_address, normalize_phone
from clerkship.model.frozen import Frozen
from clerkship.sandbox.request import Refusal
from clerkship.sandbox.state import ActionContext, DueWork, State
from clerkship.simulators.messages.agenda import DeliveryAgenda
from clerkship.simulators.messages.checks import (
    check_email,
    check_incoming,
    check_number,
    check_portal,
    check_size,
    check_sms,
    check_texts,
    check_thread,
)
from clerkship.simulators.messages.config import MessagesConfig
from clerkship.simulators.messages.consent import Consent, KeywordKind, find_effective_keyword
from clerkship.simulators.messages.contacts import PatientContacts
from clerkship.simulators.messages.conversation import MessagesConversation
from clerkship.simulators.messages.delivery import build_bounce, build_reply, deliver
from clerkship.simulators.messages.dump import dump_conversations, dump_mailbox
from clerkship.simulators.messages.events import (
    AttachmentStored,
    ConsentChanged,
    ConversationEnded,
    ConversationStarted,
    MessageArrived,
    MessageRead,
    MessageRefused,
    MessageSent,
    MessageStatusChanged,
    ThreadClosed,
)
from clerkship.simulators.messages.headers import build_header, complete_answer, new_message_id
from clerkship.simulators.messages.mailbox import Mailbox
from clerkship.simulators.messages.outgoing import IncomingMessage, OutgoingMessage
from clerkship.simulators.messages.people import ConversationTable
from clerkship.simulators.messages.records import Channel, DeliveryStatus, MessageHeader, MessageRecord
from clerkship.simulators.messages.segments import count_segments
from clerkship.simulators.messages.threads import MessageThread
from clerkship.simulators.messages.twilio.events import SmsDeleted

MAX_REFUSED_TEXT = 1000
MAX_REFUSED_RECIPIENTS = 10
"""How much of a refused message its event keeps."""
_FIRST_STATUS: Mapping[Channel, DeliveryStatus] = {"sms": "queued", "email": "sent", "portal": "delivered"}
"""An SMTP server that accepts an e-mail has sent it; a portal message is in the inbox at once."""


class MessagesState(State):
    """The messages, threads, attachments and consents of one organization.

    `send` and `receive` check a message, give it an id and a thread, and emit its events. Text messages and e-mail are
    delivered later, in simulated time.
    """

    def __init__(self, config: Frozen, records: MutableMapping[str, Any]) -> None:
        super().__init__(config, records)
        base = getattr(records, "base", None)
        patients = base if isinstance(base, PatientContacts) else PatientContacts(())
        self.directory = patients.open_directory(self.settings)
        """Whom the organization can write to."""
        self.mailbox = Mailbox()
        self.consents: dict[tuple[str, str], Consent] = {}
        """Own number and number of a contact -> what the contact last chose during the trial."""
        self.conversations = ConversationTable()
        """The conversations with simulated people."""
        self.answered_calls: set[tuple[str, str]] = set()
        """Delivery and message, such as `("twilio-status", "SM1/sent")`, of calls that the agent has answered."""
        self._agenda = DeliveryAgenda(self.mailbox.messages)
        self._replies: dict[str, KeywordKind] = {}
        """Id of an arrived keyword -> the automatic reply that is due."""

    @property
    def settings(self) -> MessagesConfig:
        """The config."""
        return cast(MessagesConfig, self.config)

    @property
    def messages(self) -> Mapping[str, MessageRecord]:
        """All messages by id, in order."""
        return self.mailbox.messages

    @property
    def threads(self) -> Mapping[str, MessageThread]:
        """All threads by id; the one with the latest message is the last."""
        return self.mailbox.threads

    def find_message(self, id: str) -> MessageRecord:
        """Return a message; refused if it does not exist."""
        return self.mailbox.find_message(id)

    def find_thread(self, id: str) -> MessageThread:
        """Return a thread; refused if it does not exist."""
        return self.mailbox.find_thread(id)

    def attachment(self, id: str) -> AttachmentStored:
        """Return an attachment with its content; refused if it does not exist."""
        attachment = self.mailbox.attachments.get(id)
        if attachment is None:
            raise Refusal(404, "no_such_attachment", f"there is no attachment {id[:60]}")
        return attachment

    def consent_of(self, own_number: str, number: str) -> Consent:
        """Return whether a number may get text messages from one of the organization's own numbers."""
        choice = self.consents.get((own_number, number))
        if choice is not None:
            return choice
        return "opted_out" if self.directory.is_opted_out(number) else "opted_in"

    # What the agent, people and steps do.

    def send(
        self, action: ActionContext, message: OutgoingMessage, *, in_past: bool = False, **utterance: Any
    ) -> Event:
        """Send a message; return its MessageSent.

        Emits MessageRefused and raises Refusal if it is not accepted: the code is Twilio's for a text message and
        SMTP's for an e-mail. A message that lies in the past was delivered, and consent is not checked. `utterance`
        has further fields of an Utterance, such as `buttons`.
        """
        try:
            checked = self._check_outgoing(message, in_past=in_past)
        except Refusal as refusal:
            action.emit(_build_refused(message, refusal))
            raise
        header = build_header(action, self.mailbox, checked, self.settings)
        return action.emit(
            MessageSent(
                header=header,
                text=checked.text,
                html=checked.html,
                segments=count_segments(checked.text) if checked.channel == "sms" else None,
                status="delivered" if in_past else _FIRST_STATUS[checked.channel],
                **{"turn": self.conversations.current_turn(header.channel, header.recipients)} | utterance,
            )
        )

    def receive(self, action: ActionContext, message: IncomingMessage, **utterance: Any) -> Event:
        """Let a message to the organization arrive; return its MessageArrived.

        STOP, START and HELP are handled as Twilio does by default. The automatic reply is due at once, by `run_due`.
        """
        checked = check_incoming(message, self.settings)
        checked = checked.model_copy(update=complete_answer(self.mailbox, checked))
        header = build_header(action, self.mailbox, checked, self.settings)
        handled = _find_keyword(self, header, checked.text)
        conversation = self.conversations.find_open(checked.channel, checked.sender)
        event = action.emit(
            MessageArrived(
                header=header,
                text=checked.text,
                html=checked.html,
                segments=count_segments(checked.text) if checked.channel == "sms" else None,
                **{"turn": conversation.turns + 1 if conversation is not None else 0} | utterance,
            )
        )
        if handled is not None and handled[0] != "help":
            consent: Consent = "opted_out" if handled[0] == "stop" else "opted_in"
            own_number = header.to[0]
            action.emit(
                ConsentChanged(number=header.sender, own_number=own_number, consent=consent, keyword=handled[1])
            )
        return event

    def conversation(self, channel: str, address: str) -> MessagesConversation:
        """Return the conversation with the simulated person at an address."""
        return MessagesConversation(self, cast(Channel, channel), address)

    def read(self, action: ActionContext, id: str) -> MessageRecord:
        """Return a message; one that arrived is marked as read."""
        record = self.find_message(id)
        if record.is_inbound:
            action.emit(MessageRead(id=id))
        return record

    def mark_read(self, action: ActionContext, id: str, *, unread: bool = False) -> MessageRecord:
        """Mark a message that arrived as read or unread; refused for one that was sent."""
        record = self.find_message(id)
        if not record.is_inbound:
            raise Refusal(409, "not_received", f"message {id[:60]} was sent; only messages that arrived are marked")
        action.emit(MessageRead(id=id, unread=unread))
        return record

    def close_thread(self, action: ActionContext, id: str, *, closed: bool = True) -> MessageThread:
        """Close a portal thread, or open it again; refused if it is so already, and on other channels."""
        thread = self.find_thread(id)
        if thread.channel != "portal":
            raise Refusal(409, "not_on_portal", f"thread {id} is on {thread.channel}; only portal threads are closed")
        if thread.is_closed == closed:
            raise Refusal(409, "no_change", f"thread {id} is {'closed' if closed else 'open'} already")
        action.emit(ThreadClosed(thread=id, closed=closed))
        return thread

    def set_consent(self, action: ActionContext, number: str, consent: Consent, own_number: str = "") -> None:
        """Set the consent of a number for one own number, or for all of them."""
        contact = normalize_phone(number)
        if contact is None:
            raise Refusal(400, "21211", f"{number[:40]} is not a phone number")
        if own_number and own_number not in self.settings.numbers:
            raise Refusal(400, "21659", f"{own_number[:40]} is not a number of the organization")
        for each in (own_number,) if own_number else self.settings.numbers:
            action.emit(ConsentChanged(number=contact, own_number=each, consent=consent))

    def _check_outgoing(self, message: OutgoingMessage, *, in_past: bool) -> OutgoingMessage:
        check_number(message, len(self.messages), self.settings)
        check_texts(message)
        message = message.model_copy(update=complete_answer(self.mailbox, message))
        check_size(message, self.settings)
        if message.channel == "email":
            return check_email(message, self.settings, self.directory)
        if message.channel == "portal":
            if message.thread is not None:
                check_thread(self.find_thread(message.thread), message.to)
            return check_portal(message, self.settings, self.can_reach)
        checked = check_sms(message, self.settings)
        if not in_past and self.consent_of(checked.sender, checked.to[0]) == "opted_out":
            raise Refusal(400, "21610", f"{checked.to[0]} has opted out of messages from {checked.sender}")
        return checked

    def can_reach(self, channel: Channel, address: str) -> bool:
        """Return whether a message gets to an address: of a contact, of a simulated person, or of a writer before."""
        if self.conversations.find(channel, address) is not None or self.mailbox.has_written(channel, address):
            return True
        if channel == "sms":
            return self.directory.reach_by_sms(normalize_address(channel, address)) == "reachable"
        return bool(self.directory.find(channel, address))

    # What happens later.

    def next_due(self) -> DueWork | None:
        """Return the first automatic reply or change of a status that is due."""
        record = self._agenda.first()
        return None if record is None or record.due is None else DueWork(*record.due)

    def run_due(self, action: ActionContext) -> None:
        """Send the automatic reply that is due, or change the status of a message."""
        record = self._agenda.first()
        if record is None:
            return
        kind = self._replies.get(record.id)
        if kind is not None:
            self._send_automatic(action, record, kind)
        else:
            self._change_status(action, record)

    def _send_automatic(self, action: ActionContext, record: MessageRecord, kind: KeywordKind) -> None:
        header, text = build_reply(record, kind, self.settings, new_message_id(action, self.mailbox, "sms"))
        segments, turn = count_segments(text), self.conversations.current_turn("sms", header.to)
        action.emit(
            MessageSent(header=header, text=text, turn=turn, segments=segments, status="delivered", automatic=True)
        )

    def _change_status(self, action: ActionContext, record: MessageRecord) -> None:
        delivery = deliver(record, self.settings, self.directory, self.can_reach)
        action.emit(MessageStatusChanged(id=record.id, status=delivery.status, error_code=delivery.error_code))
        payload = record.payload
        if delivery.copies:
            # An e-mail to one of the organization's own addresses is in its own inbox, too.
            header = record.header.model_copy(
                update={"id": new_message_id(action, self.mailbox, "email"), "bcc": (), "message_id": None}
            )
            action.emit(MessageArrived(header=header, text=payload.text, html=payload.html, turn=0))
        if delivery.bounced:
            header, text = build_bounce(record, delivery.bounced, action.ids.new("email"))
            action.emit(MessageArrived(header=header, text=text, turn=0))

    # Changes.

    def apply(self, event: Event) -> None:
        """Change the state by an event."""
        match event.payload:
            case MessageSent() as sent:
                self._apply_sent(event, sent)
            case MessageArrived() as arrived:
                self._apply_arrived(event, arrived)
            case MessageStatusChanged() as changed:
                record = self.mailbox.messages[changed.id]
                record.status, record.error_code, record.status_at = changed.status, changed.error_code, event.at
                record.due = None
                if changed.status == "sent":
                    self._agenda.schedule(record, record.event.at + self.settings.deliver_after, event.seq)
            case SmsDeleted(id=id, only_text=only_text):
                self.messages[id].deleted = "text" if only_text else "message"
            case MessageRead(id=id, unread=unread):
                self.mailbox.mark(id, unread=unread)
            case ThreadClosed(thread=id, closed=closed):
                self.mailbox.threads[id].is_closed = closed
            case AttachmentStored() as attachment:
                self.mailbox.attachments[attachment.id] = attachment
            case ConsentChanged() as change:
                self.consents[change.own_number, change.number] = change.consent
            # A call that was under way during a rewind may be of a message that is undone.
            case OutboundAttempted(channel=channel, message=id) as attempt if id.partition("/")[0] in self.messages:
                self.answered_calls.update({(channel, id)} if _is_answered(attempt) else ())
            case ConversationStarted(person=person, channel=channel, address=address):
                self.conversations.start(person, channel, address)
            case ConversationEnded(channel=channel, address=address):
                self.conversations.end(channel, address)

    def _apply_sent(self, event: Event, sent: MessageSent) -> None:
        record = self.mailbox.add(event, is_inbound=False)
        if sent.automatic and sent.header.in_reply_to is not None:
            self._replies.pop(sent.header.in_reply_to, None)
            self.mailbox.messages[sent.header.in_reply_to].due = None
        if sent.status == "queued":
            self._agenda.schedule(record, event.at + self.settings.deliver_after / 2, event.seq)
        elif sent.status == "sent":
            self._agenda.schedule(record, event.at + self.settings.deliver_after, event.seq)
        self.conversations.add(event, sent.header.channel, sent.header.recipients, sent.turn)

    def _apply_arrived(self, event: Event, arrived: MessageArrived) -> None:
        record = self.mailbox.add(event, is_inbound=True)
        handled = _find_keyword(self, arrived.header, arrived.text)
        if handled is not None:
            self._replies[record.id] = handled[0]
            self._agenda.schedule(record, event.at, event.seq)
        self.conversations.add(event, arrived.header.channel, (arrived.header.sender,), arrived.turn)

    def dump(self) -> Any:
        """Return plain data."""
        consents = {" ".join(numbers): consent for numbers, consent in self.consents.items()}
        conversations = dump_conversations(self.conversations)
        return {**dump_mailbox(self.mailbox), "consents": consents, "conversations": conversations}


def _is_answered(attempt: OutboundAttempted) -> bool:
    """Return whether the agent has answered a call, and no other attempt follows."""
    return attempt.outcome in ("delivered", "rejected") and attempt.retry_in is None


def _find_keyword(state: MessagesState, header: MessageHeader, text: str) -> tuple[KeywordKind, str] | None:
    if header.channel != "sms":
        return None
    return find_effective_keyword(text, state.consent_of(header.to[0], header.sender))


def _build_refused(message: OutgoingMessage, refusal: Refusal) -> MessageRefused:
    """Return the event of a refused message. It keeps the beginning of what was refused, in valid text."""
    return MessageRefused(
        channel=message.channel,
        code=refusal.code,
        reason=_clean(refusal.reason),
        sender=_clean(message.sender),
        to=tuple(map(_clean, message.recipients[:MAX_REFUSED_RECIPIENTS])),
        text=_clean(message.text),
    )


def _clean(text: str) -> str:
    return text[:MAX_REFUSED_TEXT].encode(errors="replace").decode()
