"""The voicemails of a sandbox by mailbox, and how many of them are unread."""

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import ClassVar, NamedTuple

from clerkship.events.event import Event, Payload
from clerkship.formats.phone_tree.prompts import measure_speech, split_heard
from clerkship.sandbox.request import Refusal
from clerkship.sandbox.state import ActionContext
from clerkship.simulators.voice.config import MailboxConfig
from clerkship.simulators.voice.events import (
    MailboxPinEntered,
    MessageWaitingChanged,
    VoicemailChange,
    VoicemailChanged,
    VoicemailLeft,
)
from clerkship.simulators.voice.records import PhoneCall, Voicemail

MAX_VOICEMAILS = 10_000
"""Messages of all mailboxes, also deleted ones."""
MESSAGE_LOST = f"the message is lost: the mailboxes hold at most {MAX_VOICEMAILS:,} messages"


class VoicemailRecording(NamedTuple):
    """What a caller said to a recorder."""

    text: str
    """What was said after the beep."""
    before_beep: str


class Mailboxes:
    """The messages of all mailboxes. `leave` and `change` emit events; `apply` changes the messages."""

    applied_events: ClassVar[tuple[type[Payload], ...]] = (VoicemailLeft, VoicemailChanged, MailboxPinEntered)

    def __init__(self, configs: Iterable[MailboxConfig]) -> None:
        self.configs = {config.name: config for config in configs}
        self.messages: dict[str, Voicemail] = {}
        """All messages by id, also deleted ones, in the order in which they were left."""
        self._unread = dict.fromkeys(self.configs, 0)
        self.wrong_pins = dict.fromkeys(self.configs, 0)
        """Mailbox -> wrong PINs by phone since the last right one."""
        self.locked: set[str] = set()
        """The mailboxes that take no further PIN by phone."""

    @property
    def is_full(self) -> bool:
        """Whether no further message can be left."""
        return len(self.messages) >= MAX_VOICEMAILS

    def new_id(self) -> str:
        """Return the id of the next message: `voicemail-1`, `voicemail-2` and so on."""
        return f"voicemail-{len(self.messages) + 1}"

    @property
    def own(self) -> list[str]:
        """The names of the agent's mailboxes."""
        return [config.name for config in self.configs.values() if config.is_own]

    def check_own(self, name: str) -> None:
        """Refuse the mailboxes of others as if they did not exist."""
        if name not in self.own:
            known = ", ".join(self.own) or "none"
            raise Refusal(404, "no_such_mailbox", f"you have no mailbox {name[:60]!r} (expected: {known})")

    def find_by_access_number(self, number: str) -> MailboxConfig | None:
        """Return the mailbox that is listened to by calling a number."""
        return next((config for config in self.configs.values() if config.access_number == number), None)

    def find_by_number(self, number: str) -> MailboxConfig | None:
        """Return the mailbox that takes the unanswered calls to a number."""
        return next((config for config in self.configs.values() if config.number == number), None)

    def find_message(self, id: str) -> Voicemail:
        """Return a message of the agent's mailboxes; refused if there is none, or if it was deleted."""
        message = self.messages.get(id)
        if message is None or message.is_deleted or not self.configs[message.mailbox].is_own:
            raise Refusal(404, "no_such_voicemail", f"there is no voicemail {id[:60]!r}; list_voicemails lists them")
        return message

    def list_messages(self, mailbox: str) -> Sequence[Voicemail]:
        """Return the messages of a mailbox that are not deleted, the oldest first."""
        messages = [
            message for message in self.messages.values() if message.mailbox == mailbox and not message.is_deleted
        ]
        return sorted(messages, key=lambda message: message.received_at)

    def count_unread(self, mailbox: str) -> int:
        """Return how many messages of a mailbox are unread."""
        return self._unread[mailbox]

    def leave(self, action: ActionContext, message: VoicemailLeft) -> Event:
        """Leave a message in a mailbox; return its event. Refused if there is no such mailbox, or too many messages."""
        if message.mailbox not in self.configs:
            known, name = ", ".join(self.configs) or "none", message.mailbox[:60]
            raise Refusal(404, "no_such_mailbox", f"there is no mailbox {name!r} (expected: {known})")
        if self.is_full:
            raise Refusal(507, "mailbox_full", f"the mailboxes hold at most {MAX_VOICEMAILS:,} messages")
        event = action.emit(message)
        self._report_unread(action, message.mailbox)
        return event

    def change(
        self, action: ActionContext, message: Voicemail, change: VoicemailChange, call: str | None = None
    ) -> None:
        """Mark a message as read or unread, or delete it; nothing if it is so already."""
        if message.is_deleted or (change != "deleted" and message.is_read == (change == "read")):
            return
        before = self._unread[message.mailbox]
        action.emit(VoicemailChanged(id=message.id, change=change, call=call))
        if self._unread[message.mailbox] != before:
            self._report_unread(action, message.mailbox)

    def _report_unread(self, action: ActionContext, mailbox: str) -> None:
        action.emit(MessageWaitingChanged(mailbox=mailbox, unread=self._unread[mailbox]))

    def apply(self, event: Event) -> None:
        """Change the messages by an event."""
        match event.payload:
            case VoicemailLeft() as left:
                self.messages[left.id] = Voicemail(
                    left.id,
                    left.mailbox,
                    left.from_number,
                    left.text,
                    left.received_at or event.at,
                    left.seconds,
                    left.before_beep,
                    left.call,
                )
                self._unread[left.mailbox] += 1
            case VoicemailChanged(id=id, change=change):
                message = self.messages[id]
                was_unread = not message.is_read and not message.is_deleted
                message.is_deleted = message.is_deleted or change == "deleted"
                if change != "deleted":
                    message.is_read = change == "read"
                is_unread = not message.is_read and not message.is_deleted
                self._unread[message.mailbox] += is_unread - was_unread
            case MailboxPinEntered(mailbox=name, is_right=is_right, is_locked=is_locked):
                self.wrong_pins[name] = 0 if is_right else self.wrong_pins[name] + 1
                if is_locked:
                    self.locked.add(name)


def build_voicemail(
    id: str, mailbox: str, from_number: str, message: VoicemailRecording, call: str | None = None
) -> VoicemailLeft:
    """Return the event of a message that was left now."""
    return VoicemailLeft(
        id=id,
        mailbox=mailbox,
        from_number=from_number,
        text=message.text,
        seconds=measure_speech(message.text),
        before_beep=message.before_beep,
        call=call,
    )


def collect_recording(call: PhoneCall, now: datetime) -> VoicemailRecording | None:
    """Return what the agent has said to a recorder until now; None if nothing was said after the beep.

    What was said before the beep since the recorder answered is lost. Words during the beep are split there.
    """
    if call.beep_at is None:
        return None
    before, after = list[str](), list[str]()
    greeting_start = _find_greeting_start(call, call.beep_at)
    for turn in call.turns:
        if turn.speaker != "agent" or turn.end <= greeting_start:
            continue
        text = turn.heard
        if turn.end > now:
            text = split_heard(turn.text, (now - turn.start).total_seconds())
        if turn.end <= call.beep_at:
            before.append(text)
        elif turn.start >= call.beep_at:
            after.append(text)
        else:
            early = split_heard(text, (call.beep_at - turn.start).total_seconds())
            before.append(early)
            after.append(text[len(early) :].strip())
    message = VoicemailRecording(" ".join(filter(None, after)), " ".join(filter(None, before)))
    return message if message.text else None


def _find_greeting_start(call: PhoneCall, beep_at: datetime) -> datetime:
    """Return when the last words of the far end before the beep began: the greeting of the recorder."""
    starts = [turn.start for turn in call.turns if turn.speaker != "agent" and turn.start <= beep_at]
    return starts[-1] if starts else call.started_at
