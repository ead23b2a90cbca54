"""The state of an organization's messages: what was sent and received, consent, and what is still to be delivered.

See docs/decisions/0021-messages.md.
"""

from collections.abc import Iterable, Mapping
from typing import Any, cast

from clerkship.events.event import Event, is_by_agent
from clerkship.events.lifecycle import OutboundAttempted
from clerkship.model.conversation_key import normalize_address, normalize_phone
from clerkship.sandbox.agenda import Agenda, find_first_due
from clerkship.sandbox.request import Refusal, find_record
from clerkship.sandbox.state import ActionContext, ConversationRecord, DueWork, RecordedConversation, State
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
from clerkship.simulators.messages.delivery import build_bounce, build_reply, deliver
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
from clerkship.simulators.messages.mailbox import Mailbox, MessageThread
from clerkship.simulators.messages.outgoing import IncomingMessage, OutgoingMessage
from clerkship.simulators.messages.records import (
    Channel,
    DeliveryStatus,
    MessageHeader,
    MessageRecord,
)
from clerkship.simulators.messages.segments import count_segments

MAX_REFUSED_TEXT = 1000
"""How much of a refused message its event keeps."""
_FIRST_STATUS: Mapping[Channel, DeliveryStatus] = {"sms": "queued", "email": "sent", "portal": "delivered"}
"""An SMTP server that accepts an e-mail has sent it; a patient portal message is in the inbox at once."""


class ConversationTable:
    """The last conversation at each address."""

    def __init__(self) -> None:
        self.by_address: dict[tuple[Channel, str], ConversationRecord] = {}
        """Channel and normalized address -> the conversation there, open or not."""

    def find(self, channel: Channel, address: str) -> ConversationRecord | None:
        """Return the conversation at an address, open or not."""
        return self.by_address.get((channel, normalize_address(channel, address)))

    def find_open(self, channel: Channel, address: str) -> ConversationRecord | None:
        conversation = self.find(channel, address)
        return conversation if conversation is not None and conversation.is_open else None

    def current_turn(self, channel: Channel, addresses: Iterable[str]) -> int:
        """Return the turn of the open conversations at some addresses; 0 if there is none."""
        conversations = filter(None, (self.find_open(channel, address) for address in addresses))
        return max((conversation.turns for conversation in conversations), default=0)

    def start(self, person: str, channel: Channel, address: str) -> None:
        self.by_address[channel, normalize_address(channel, address)] = ConversationRecord(person=person)

    def end(self, channel: Channel, address: str) -> None:
        self.by_address[channel, normalize_address(channel, address)].is_open = False

    def add(self, event: Event, channel: Channel, addresses: Iterable[str], turn: int) -> None:
        """Add a message to the open conversations at some addresses."""
        for address in dict.fromkeys(addresses):
            conversation = self.find(channel, address)
            if conversation is not None:
                conversation.add(event, turn)


class MessagesState(State[MessagesConfig]):
    """The messages, threads, attachments and consents of one organization.

    `send` and `receive` check a message, give it an id and a thread, and emit its events. Text messages and e-mail are
    delivered later, in simulated time.
    """

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        base = getattr(self.records, "base", None)
        patients = base if isinstance(base, PatientContacts) else PatientContacts(())
        self.directory = patients.open_directory(self.config)
        """Whom the organization can write to."""
        self.mailbox = Mailbox()
        self.consents: dict[tuple[str, str], Consent] = {}
        """Own number and number of a contact -> what the contact last chose during the trial."""
        self.conversations = ConversationTable()
        """The conversations with simulated people."""
        self.answered_calls: set[tuple[str, str]] = set()
        """Delivery and message, such as `("twilio-status", "SM1/sent")`, of calls that the agent has answered."""
        self._agenda = Agenda[str](lambda id: self.mailbox.messages[id].due)
        self.automatic_replies: dict[str, KeywordKind] = {}
        """Id of an arrived keyword -> the automatic reply that is due."""

    @property
    def messages(self) -> Mapping[str, MessageRecord]:
        """All messages by id, in order."""
        return self.mailbox.messages

    @property
    def threads(self) -> Mapping[str, MessageThread]:
        """All threads by id; the one with the latest message is the last."""
        return self.mailbox.threads

    def attachment(self, id: str) -> AttachmentStored:
        """Return an attachment with its content; refused if it does not exist."""
        return find_record(self.mailbox.attachments, "attachment", id)

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
            action.emit(build_refused(message, refusal))
            raise
        header = build_header(action, self.mailbox, checked, self.config)
        return action.emit(
            MessageSent(
                header=header,
                text=checked.text,
                html=checked.html,
                raw=checked.raw,
                segments=count_segments(checked.text) if checked.channel == "sms" else None,
                status="delivered" if in_past else _FIRST_STATUS[checked.channel],
                **{"turn": self.conversations.current_turn(header.channel, header.recipients)} | utterance,
            )
        )

    def receive(self, action: ActionContext, message: IncomingMessage, **utterance: Any) -> Event:
        """Let a message to the organization arrive; return its MessageArrived.

        STOP, START and HELP are handled as Twilio does by default. The automatic reply is due at once, by `run_due`.
        """
        checked = check_incoming(message, self.config)
        checked = checked.model_copy(update=complete_answer(self.mailbox, checked))
        header = build_header(action, self.mailbox, checked, self.config)
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

    def conversation(self, channel: str, address: str) -> "MessagesConversation":
        """Return the conversation with the simulated person at an address."""
        return MessagesConversation(self, cast(Channel, channel), address)

    def read(self, action: ActionContext, id: str) -> MessageRecord:
        """Return a message; one that arrived is marked as read."""
        record = self.mailbox.find_message(id)
        if record.is_inbound:
            action.emit(MessageRead(id=id))
        return record

    def mark_read(self, action: ActionContext, id: str, *, unread: bool = False) -> MessageRecord:
        """Mark a message that arrived as read or unread; refused for one that was sent."""
        record = self.mailbox.find_message(id)
        if not record.is_inbound:
            raise Refusal(409, "not_received", f"message {id[:60]} was sent; only messages that arrived are marked")
        action.emit(MessageRead(id=id, unread=unread))
        return record

    def close_thread(self, action: ActionContext, id: str, *, closed: bool = True) -> MessageThread:
        """Close a patient portal thread, or open it again; refused if it is so already, and on other channels."""
        thread = self.mailbox.find_thread(id)
        if thread.channel != "portal":
            reason = f"thread {id} is on {thread.channel}; only patient portal threads are closed"
            raise Refusal(409, "not_on_portal", reason)
        if thread.is_closed == closed:
            raise Refusal(409, "no_change", f"thread {id} is {'closed' if closed else 'open'} already")
        action.emit(ThreadClosed(thread=id, closed=closed))
        return thread

    def set_consent(self, action: ActionContext, number: str, consent: Consent, own_number: str = "") -> None:
        """Set the consent of a number for one own number, or for all of them."""
        contact = normalize_phone(number)
        if contact is None:
            raise Refusal(400, "21211", f"{number[:40]} is not a phone number")
        if own_number and own_number not in self.config.numbers:
            raise Refusal(400, "21659", f"{own_number[:40]} is not a number of the organization")
        for each in (own_number,) if own_number else self.config.numbers:
            action.emit(ConsentChanged(number=contact, own_number=each, consent=consent))

    def _check_outgoing(self, message: OutgoingMessage, *, in_past: bool) -> OutgoingMessage:
        check_number(message, len(self.messages), self.config)
        check_texts(message)
        message = message.model_copy(update=complete_answer(self.mailbox, message))
        check_size(message, self.config)
        if message.channel == "email":
            return check_email(message, self.config, self.directory)
        if message.channel == "portal":
            if message.thread is not None:
                check_thread(self.mailbox.find_thread(message.thread), message.to)
            return check_portal(message, self.config, self.can_reach)
        checked = check_sms(message, self.config)
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
        return find_first_due(self._agenda)

    def run_due(self, action: ActionContext) -> None:
        """Send the automatic reply that is due, or change the status of a message."""
        first = self._agenda.first()
        if first is None:
            return
        record = self.messages[first[1]]
        kind = self.automatic_replies.get(record.id)
        if kind is not None:
            self._send_automatic(action, record, kind)
        else:
            self._change_status(action, record)

    def _send_automatic(self, action: ActionContext, record: MessageRecord, kind: KeywordKind) -> None:
        header, text = build_reply(record, kind, self.config, new_message_id(action, self.mailbox, "sms"))
        segments, turn = count_segments(text), self.conversations.current_turn("sms", header.to)
        action.emit(
            MessageSent(header=header, text=text, turn=turn, segments=segments, status="delivered", automatic=True)
        )

    def _change_status(self, action: ActionContext, record: MessageRecord) -> None:
        delivery = deliver(record, self.config, self.directory, self.can_reach)
        action.emit(MessageStatusChanged(id=record.id, status=delivery.status, error_code=delivery.error_code))
        payload = record.payload
        if delivery.copies:
            # An e-mail to one of the organization's own addresses is in its own inbox, too.
            header = record.header.model_copy(
                update={"id": new_message_id(action, self.mailbox, "email"), "bcc": (), "message_id": None}
            )
            action.emit(MessageArrived(header=header, text=payload.text, html=payload.html, raw=payload.raw, turn=0))
        if delivery.bounced:
            header, text = build_bounce(record, delivery.bounced, action.ids.new("email"))
            action.emit(MessageArrived(header=header, text=text, turn=0))

    # Changes.

    def apply(self, event: Event) -> None:
        self.mailbox.apply(event)
        messages = self.mailbox.messages
        match event.payload:
            case MessageSent(header=header) as sent:
                if sent.automatic and header.in_reply_to is not None:
                    self.automatic_replies.pop(header.in_reply_to, None)
                    messages[header.in_reply_to].due = None
                self._schedule(messages[header.id], event)
                self.conversations.add(event, header.channel, header.recipients, sent.turn)
            case MessageArrived(header=header) as arrived:
                keyword = _find_keyword(self, header, arrived.text)
                if keyword is not None:
                    self.automatic_replies[header.id] = keyword[0]
                    messages[header.id].due = self._agenda.schedule(header.id, event.at, event.seq)
                self.conversations.add(event, header.channel, (header.sender,), arrived.turn)
            case MessageStatusChanged(id=id):
                self._schedule(messages[id], event)
            case ConsentChanged() as change:
                self.consents[change.own_number, change.number] = change.consent
            # A call that was under way during a rewind may be of a message that is undone.
            case OutboundAttempted(channel=channel, message=id, is_answered=True):
                if id.partition("/")[0] in messages:
                    self.answered_calls.add((channel, id))
            case ConversationStarted(person=person, channel=channel, address=address):
                self.conversations.start(person, channel, address)
            case ConversationEnded(channel=channel, address=address):
                self.conversations.end(channel, address)

    def _schedule(self, record: MessageRecord, event: Event) -> None:
        """Schedule the next change of the status of a message; the first one, to `sent`, comes half way."""
        record.due = None
        if record.status in ("queued", "sent"):
            delay = self.config.deliver_after / (2 if record.status == "queued" else 1)
            record.due = self._agenda.schedule(record.header.id, record.event.at + delay, event.seq)


def _find_keyword(state: MessagesState, header: MessageHeader, text: str) -> tuple[KeywordKind, str] | None:
    if header.channel != "sms":
        return None
    return find_effective_keyword(text, state.consent_of(header.to[0], header.sender))


def build_refused(message: OutgoingMessage, refusal: Refusal) -> MessageRefused:
    """Return the event of a refused message. It keeps the beginning of what was refused, in valid text."""
    return MessageRefused(
        channel=message.channel,
        code=refusal.code,
        reason=_clean(refusal.reason),
        sender=_clean(message.sender),
        to=tuple(map(_clean, message.recipients)),
        text=_clean(message.text),
    )


def _clean(text: str) -> str:
    return text[:MAX_REFUSED_TEXT].encode(errors="replace").decode()


class MessagesConversation(RecordedConversation):
    """A conversation by text message, e-mail or patient portal message: one channel and one address."""

    def __init__(self, state: MessagesState, channel: Channel, address: str) -> None:
        self._state, self._channel, self._address = state, channel, normalize_address(channel, address)

    @property
    def _record(self) -> ConversationRecord | None:
        return self._state.conversations.find(self._channel, self._address)

    def start(self, action: ActionContext, person: str) -> Event:
        """Start the conversation with a person; refuse if it is open."""
        if self.open:
            raise Refusal(409, "already_open", f"the conversation at {self._address} is already open")
        return action.emit(ConversationStarted(person=person, channel=self._channel, address=self._address))

    def say(self, action: ActionContext, text: str, subject: str | None = None, **extra: Any) -> Event:
        """Send a message to the person, or let one of theirs arrive, as a reply to the last one of the other side.

        `subject` is for a message that answers none.
        """
        if not self.open:
            raise Refusal(409, "not_open", f"there is no conversation at {self._address}")
        is_reply_of_agent = action.actor == "agent"
        answered = self._find_answered(by_agent=not is_reply_of_agent)
        fields: dict[str, Any] = {
            "channel": self._channel,
            "text": text,
            "subject": self._build_subject(answered, subject),
            "in_reply_to": answered.id if answered is not None else None,
        }
        if is_reply_of_agent:
            return self._state.send(action, OutgoingMessage(to=(self._address,), **fields), **extra)
        own_address = (answered.sender,) if answered is not None and self._channel != "portal" else ()
        return self._state.receive(action, IncomingMessage(sender=self._address, to=own_address, **fields), **extra)

    def end(self, action: ActionContext, reason: str, **extra: Any) -> Event:
        """End the conversation; refuse if it is not open."""
        if not self.open:
            raise Refusal(409, "not_open", f"there is no conversation at {self._address}")
        return action.emit(ConversationEnded(channel=self._channel, address=self._address, reason=reason, **extra))

    def _find_answered(self, *, by_agent: bool) -> MessageHeader | None:
        """Return the header of the last message of one side; None if there is none."""
        event = next((event for event in reversed(self.messages) if is_by_agent(event) == by_agent), None)
        return cast(MessageSent | MessageArrived, event.payload).header if event is not None else None

    def _build_subject(self, answered: MessageHeader | None, subject: str | None) -> str | None:
        if self._channel == "sms":
            return None
        if answered is None or answered.subject is None:
            return subject
        if self._channel == "portal" or answered.subject.casefold().startswith("re:"):
            return answered.subject
        return f"Re: {answered.subject}"
