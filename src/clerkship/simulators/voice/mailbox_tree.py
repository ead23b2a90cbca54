"""Listen to a mailbox by phone: the PIN, then the messages one after another, with keys to repeat, keep and delete."""

from collections.abc import Sequence
from datetime import datetime

from clerkship.formats.phone_tree.grammar import match_choice
from clerkship.formats.phone_tree.nodes import Choice
from clerkship.formats.phone_tree.session import (
    Action,
    Answered,
    ChangeVoicemail,
    CheckPin,
    DigitsPressed,
    HangUp,
    MailboxSession,
    RejectInput,
    RejectionReason,
    Speak,
    SpeechEnded,
    SpeechStarted,
    StepContext,
    StepResult,
    Stimulus,
    StopSpeaking,
    TimerFired,
    speak,
    stay,
    wait,
)
from clerkship.formats.phone_tree.spoken_entry import parse_entry
from clerkship.simulators.voice.config import MailboxConfig
from clerkship.simulators.voice.records import Voicemail

MAX_PIN_ATTEMPTS = 3
"""Missing or wrong PINs in one call, after which the mailbox hangs up."""
MAX_WRONG_PINS = 9
"""Wrong PINs in all calls since the last right one, after which the mailbox takes no PIN by phone."""
MAX_ATTEMPTS = 3
"""Missing or wrong keys in a row, after which the mailbox hangs up."""
INPUT_SECONDS = 8.0
ASK_PIN = "Please enter your PIN, followed by the pound key."
OPTIONS = (
    "To repeat this message, press 1. For the next message, press 2. To delete it, press 7. "
    "To keep it as new, press 9. For the main menu, press star."
)
LOCKED = (
    "This mailbox is locked, because a wrong PIN was entered too often. It cannot be opened by phone. "
    "Please contact your administrator."
)
GOODBYE = "Goodbye."
NO_MORE = "You have no more messages."
_NUMBER_WORDS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
_OPTION_CHOICES = (
    Choice(key="1", speech=("repeat", "again"), next="repeat"),
    Choice(key="2", speech=("next", "skip"), next="next"),
    Choice(key="7", speech=("delete", "erase"), next="delete"),
    Choice(key="9", speech=("keep", "save", "keep as new"), next="keep"),
    Choice(key="*", speech=("menu", "main menu"), next="menu"),
)
_MENU_CHOICES = (
    Choice(key="1", speech=("listen", "messages"), next="listen"),
    Choice(key="*", speech=("menu", "repeat"), next="menu"),
    Choice(key="#", speech=("goodbye", "hang up", "exit"), next="end"),
)


class MailboxMachine:
    """The far end of a call to the access number of a mailbox.

    `wrong_pins` is how often a wrong PIN was entered in other calls since the last right one.
    """

    def __init__(self, mailbox: MailboxConfig, messages: Sequence[Voicemail], wrong_pins: int = 0) -> None:
        self._mailbox = mailbox
        self._wrong_pins = wrong_pins
        self._messages = {message.id: message for message in messages}
        self._choices = {"message": _OPTION_CHOICES, "options": _OPTION_CHOICES, "menu": _MENU_CHOICES}

    def start(self, context: StepContext) -> StepResult:
        """Ask for the PIN, unless the mailbox is locked."""
        session = MailboxSession(mailbox=self._mailbox.name, phase="speaking")
        if self._is_locked(session):
            return _end(session, f"{LOCKED} {GOODBYE}", context)
        return speak(session, ASK_PIN, context)

    def step(self, session: MailboxSession, stimulus: Stimulus, context: StepContext) -> StepResult:
        """Return what the mailbox does next."""
        if isinstance(stimulus, Answered):
            return self.start(context)
        if session.phase == "ended" or session.step == "end":
            is_over = isinstance(stimulus, TimerFired) and session.phase == "speaking"
            return _hang_up(session) if is_over else stay(session, context)
        if isinstance(stimulus, TimerFired):
            return self._go_on(session, context)
        if isinstance(stimulus, SpeechStarted):
            listening = session.model_copy(update={"phase": "listening", "due": None})
            return StepResult(listening, _stop(session))
        if isinstance(stimulus, SpeechEnded):
            return self._hear(session, stimulus.text, context)
        if isinstance(stimulus, DigitsPressed):
            return self._press(session, stimulus.digits, context)
        return stay(session, context)

    def get_listen_seconds(self, session: MailboxSession) -> float | None:
        """Return how long it waits for keys, unless a message plays or the call ends."""
        return None if session.step in ("message", "end") else INPUT_SECONDS

    def _go_on(self, session: MailboxSession, context: StepContext) -> StepResult:
        """Go on after a text was said, or after the caller did nothing."""
        if session.phase == "speaking" and session.step == "message":
            read = ChangeVoicemail(session.messages[session.place], "read")
            return speak(session, OPTIONS, context, read, step="options")
        if session.phase == "speaking":
            return wait(session, "listening", INPUT_SECONDS, context)
        return self._reject(session, "no_input", "", context)

    def _hear(self, session: MailboxSession, text: str, context: StepContext) -> StepResult:
        if session.step == "pin":
            return self._check_pin(session, parse_entry("digits", text) or "", context)
        choice = match_choice(self._choices[session.step], text)
        if choice is None:
            return self._reject(session, "no_match", text, context)
        return self._choose(session, choice.next, context)

    def _press(self, session: MailboxSession, digits: str, context: StepContext) -> StepResult:
        """Use the first keys; the rest is used after that, as if it was pressed then."""
        if session.step == "pin":
            return self._enter_pin(session, digits, context)
        key, rest = digits[0], digits[1:]
        choice = next((each for each in self._choices[session.step] if each.key == key), None)
        if choice is None:
            return self._reject(session, "no_match", key, context)
        result = self._choose(session, choice.next, context)
        return self._press_rest(result, rest, context)

    def _press_rest(self, result: StepResult, rest: str, context: StepContext) -> StepResult:
        session = result.session
        if not rest or not isinstance(session, MailboxSession) or session.step == "end":
            return result
        spoken = tuple(action for action in result.actions if not isinstance(action, Speak))
        following = self._press(session.model_copy(update={"phase": "listening"}), rest, context)
        return following._replace(actions=(*spoken, *following.actions))

    def _enter_pin(self, session: MailboxSession, digits: str, context: StepContext) -> StepResult:
        entered, length = session.digits, len(self._mailbox.pin)
        for place, digit in enumerate(digits, 1):
            if digit == "*":
                entered = ""
                continue
            if digit != "#":
                entered += digit
            if digit == "#" or len(entered) >= length:
                rest = digits[place:].removeprefix("#") if digit != "#" else digits[place:]
                result = self._check_pin(session, entered, context)
                return self._press_rest(result, rest, context)
        return wait(session, "listening", INPUT_SECONDS, context, *_stop(session), digits=entered)

    def _check_pin(self, session: MailboxSession, entered: str, context: StepContext) -> StepResult:
        session = session.model_copy(update={"digits": ""})
        if self._is_locked(session):
            return _end(session, f"{LOCKED} {GOODBYE}", context, *_stop(session))
        if not entered:
            return self._reject(session, "no_match", "", context)
        if entered != self._mailbox.pin:
            session = session.model_copy(update={"wrong_pins": session.wrong_pins + 1})
            checked = CheckPin(self._mailbox.name, False, self._is_locked(session))
            result = self._reject(session, "invalid", "", context)
            return result._replace(actions=(checked, *result.actions))
        newest = sorted(self._messages.values(), key=lambda each: (each.received_at, each.id), reverse=True)
        order = tuple(message.id for message in sorted(newest, key=lambda each: each.is_read))
        opened = session.model_copy(update={"messages": order, "attempts": 0, "step": "message"})
        checked = CheckPin(self._mailbox.name, True, False)
        return self._play(opened, context, self._summarize(), *_stop(session), checked)

    def _is_locked(self, session: MailboxSession) -> bool:
        return self._wrong_pins + session.wrong_pins >= MAX_WRONG_PINS

    def _summarize(self) -> str:
        unread = sum(not message.is_read for message in self._messages.values())
        saved = len(self._messages) - unread
        return f"You have {_count(unread, 'new')} and {_count(saved, 'saved')}."

    def _choose(self, session: MailboxSession, chosen: str, context: StepContext) -> StepResult:
        stopped, session = _stop(session), session.model_copy(update={"attempts": 0})
        if chosen == "end":
            return _end(session, GOODBYE, context, *stopped)
        if chosen == "menu":
            return speak(session, self._render_menu(), context, *stopped, step="menu")
        if chosen == "listen":
            return self._play(session.model_copy(update={"place": 0}), context, "", *stopped)
        if chosen == "repeat":
            return self._play(session, context, "", *stopped)
        id, following = session.messages[session.place], session.model_copy(update={"place": session.place + 1})
        if chosen == "delete":
            return self._play(following, context, "Message deleted.", *stopped, ChangeVoicemail(id, "deleted"))
        if chosen == "keep":
            return self._play(following, context, "Message kept as new.", *stopped, ChangeVoicemail(id, "unread"))
        return self._play(following, context, "", *stopped)

    def _render_menu(self) -> str:
        return f"{self._summarize()} To listen to your messages, press 1. To end the call, press pound."

    def _play(self, session: MailboxSession, context: StepContext, before: str, *actions: Action) -> StepResult:
        """Play the message at the current place, or the first one after it that was not deleted; then say goodbye."""
        deleted = {
            action.id for action in actions if isinstance(action, ChangeVoicemail) and action.change == "deleted"
        }
        place = session.place
        while place < len(session.messages) and (
            session.messages[place] not in self._messages or session.messages[place] in deleted
        ):
            place += 1
        if place >= len(session.messages):
            return _end(session, " ".join(filter(None, (before, NO_MORE, GOODBYE))), context, *actions)
        message = self._messages[session.messages[place]]
        text = _render_message(message, place + 1, context.now)
        return speak(session, " ".join(filter(None, (before, text))), context, *actions, place=place, step="message")

    def _reject(self, session: MailboxSession, reason: RejectionReason, text: str, context: StepContext) -> StepResult:
        attempts = session.attempts + 1
        node = f"{self._mailbox.name}/{session.step}"
        actions = (*_stop(session), RejectInput(node, reason, attempts, text))
        session = session.model_copy(update={"attempts": attempts})
        if session.step == "pin":
            words = "That PIN is not correct." if reason == "invalid" else "I'm sorry, I didn't get your PIN."
            if self._is_locked(session):
                return _end(session, f"{words} {LOCKED} {GOODBYE}", context, *actions)
            if attempts >= MAX_PIN_ATTEMPTS:
                return _end(session, f"{words} {GOODBYE}", context, *actions)
            return speak(session, f"{words} {ASK_PIN}", context, *actions)
        if attempts >= MAX_ATTEMPTS:
            return _end(session, GOODBYE, context, *actions)
        words = "I'm sorry, I didn't hear anything." if reason == "no_input" else "That is not a valid choice."
        prompt = self._render_menu() if session.step == "menu" else OPTIONS
        step = "menu" if session.step == "menu" else "options"
        return speak(session, f"{words} {prompt}", context, *actions, step=step)


def _stop(session: MailboxSession) -> tuple[Action, ...]:
    return (StopSpeaking(),) if session.phase == "speaking" else ()


def _end(session: MailboxSession, text: str, context: StepContext, *actions: Action) -> StepResult:
    """Say something and hang up afterwards."""
    return speak(session, text, context, *actions, step="end")


def _hang_up(session: MailboxSession) -> StepResult:
    return StepResult(session.model_copy(update={"phase": "ended", "due": None}), (HangUp("goodbye"),))


def _count(number: int, what: str) -> str:
    return f"{_NUMBER_WORDS[number] if number < len(_NUMBER_WORDS) else number} {what} message{'s' * (number != 1)}"


def _render_message(message: Voicemail, number: int, now: datetime) -> str:
    """Return the words with which a message is played."""
    received = message.received_at.astimezone(now.tzinfo)
    at = f"{received:%A, %B} {received.day} at {received.hour % 12 or 12}:{received:%M %p}"
    sender = " ".join(message.from_number.removeprefix("+")) or "an unknown number"
    spoken = _NUMBER_WORDS[number] if number < len(_NUMBER_WORDS) else str(number)
    return f"Message {spoken}, from {sender}, received {at}. {message.text}"
