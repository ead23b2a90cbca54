"""Listening to a mailbox by phone: what the mailbox says, and what the keys do."""

from datetime import UTC, datetime, timedelta
from typing import cast

import pytest

from clerkship.formats.phone_tree.session import (
    Action,
    ChangeVoicemail,
    CheckPin,
    DigitsPressed,
    HangUp,
    MailboxSession,
    RejectInput,
    Speak,
    SpeechEnded,
    SpeechStarted,
    StepContext,
    StepResult,
    Stimulus,
    TimerFired,
)
from clerkship.kit.rng import Rng
from clerkship.simulators.voice.config import MailboxConfig
from clerkship.simulators.voice.mailbox_tree import ASK_PIN, LOCKED, MAX_WRONG_PINS, OPTIONS, MailboxMachine
from clerkship.simulators.voice.records import Voicemail

NOW = datetime(2026, 3, 2, 15, tzinfo=UTC)
BOX = MailboxConfig(name="main", pin="2580")


def voicemail(id: str, hour: int, *, is_read: bool = False) -> Voicemail:
    received = NOW.replace(hour=hour, minute=5)
    return Voicemail(id, "main", "+15550100123", f"This is {id}.", received, 2.0, is_read=is_read)


MESSAGES = [voicemail("old", 8), voicemail("saved", 9, is_read=True), voicemail("new", 10)]


class Caller:
    """Calls a mailbox, and keeps what it does."""

    def __init__(self, messages: list[Voicemail] | None = None, wrong_pins: int = 0) -> None:
        self.machine = MailboxMachine(BOX, MESSAGES if messages is None else messages, wrong_pins)
        self.now, self.actions = NOW, list[Action]()
        self._take(self.machine.start(self._context))

    @property
    def _context(self) -> StepContext:
        return StepContext(self.now, Rng("0"))

    def _take(self, result: StepResult) -> None:
        self.session = cast(MailboxSession, result.session)
        self.timer, self.actions = result.timer_seconds, [*self.actions, *result.actions]

    def do(self, stimulus: Stimulus) -> str:
        """Do something; return what the mailbox then says."""
        before = len(self.actions)
        self._take(self.machine.step(self.session, stimulus, self._context))
        return " ".join(action.text for action in self.actions[before:] if isinstance(action, Speak))

    def press(self, digits: str) -> str:
        return self.do(DigitsPressed(digits))

    def wait(self) -> str:
        assert self.timer is not None
        self.now += timedelta(seconds=self.timer)
        return self.do(TimerFired())

    @property
    def changes(self) -> list[tuple[str, str]]:
        return [(action.id, action.change) for action in self.actions if isinstance(action, ChangeVoicemail)]


def test_the_newest_unread_message_is_played_first() -> None:
    caller = Caller()
    assert caller.press("2580#") == (
        "You have two new messages and one saved message. "
        "Message one, from 1 5 5 5 0 1 0 0 1 2 3, received Monday, March 2 at 10:05 AM. This is new."
    )
    assert [caller.press("2"), caller.press("2")][1].endswith(
        "Message three, from 1 5 5 5 0 1 0 0 1 2 3, received Monday, March 2 at 9:05 AM. This is saved."
    )


def test_a_message_is_read_when_it_was_played_to_its_end() -> None:
    caller = Caller()
    caller.press("2580")
    assert caller.changes == []
    assert caller.wait() == OPTIONS
    assert caller.changes == [("new", "read")]
    caller.press("2")
    caller.press("2")
    assert caller.changes == [("new", "read")]


def test_keys_repeat_delete_and_keep_a_message() -> None:
    caller = Caller()
    first = caller.press("2580")
    assert caller.press("1") in first
    assert caller.press("7").startswith("Message deleted. Message two")
    assert caller.press("9").startswith("Message kept as new. Message three")
    assert caller.changes == [("new", "deleted"), ("old", "unread")]
    assert "You have no more messages." in caller.press("2")
    caller.wait()
    assert isinstance(caller.actions[-1], HangUp)


def test_three_wrong_pins_end_the_call() -> None:
    caller = Caller()
    assert caller.press("1111#").startswith("That PIN is not correct. Please")
    assert caller.press("12#").startswith("That PIN is not correct. Please")
    assert caller.press("3333") == "That PIN is not correct. Goodbye."
    assert sum(isinstance(action, RejectInput) for action in caller.actions) == 3
    assert caller.press("2580#") == ""
    caller.wait()
    assert isinstance(caller.actions[-1], HangUp)


def test_the_pin_may_be_said_or_entered_in_parts() -> None:
    caller = Caller()
    caller.do(SpeechStarted())
    assert caller.do(SpeechEnded("two five eight oh")).startswith("You have two new messages")
    caller = Caller()
    assert caller.press("25") == ""
    assert caller.press("80").startswith("You have two new messages")


def test_digits_ahead_of_the_prompts_are_used_one_after_another() -> None:
    caller = Caller()
    assert caller.press("2580#77").startswith("Message deleted. Message three")
    assert caller.changes == [("new", "deleted"), ("old", "deleted")]


def test_words_choose_as_keys_do() -> None:
    caller = Caller()
    caller.press("2580")
    caller.do(SpeechStarted())
    assert caller.do(SpeechEnded("delete this one please")).startswith("Message deleted.")
    caller.do(SpeechStarted())
    assert caller.do(SpeechEnded("what is the weather")).startswith("That is not a valid choice.")


def test_a_caller_who_does_nothing_is_asked_three_times() -> None:
    caller = Caller([])
    said = [caller.wait() for _ in range(6)]
    assert [text for text in said if text] == [f"I'm sorry, I didn't get your PIN. {ASK_PIN}"] * 2 + [
        "I'm sorry, I didn't get your PIN. Goodbye."
    ]


@pytest.mark.parametrize("key", ["3", "0", "#"])
def test_a_key_without_a_meaning_is_rejected(key: str) -> None:
    caller = Caller()
    caller.press("2580")
    assert caller.press(key).startswith("That is not a valid choice.")
    assert caller.changes == []


def test_the_menu_starts_from_the_first_message_or_ends_the_call() -> None:
    caller = Caller()
    caller.press("2580#2")
    assert "press pound" in caller.press("*")
    assert caller.press("1").startswith("Message one")
    caller.press("*")
    assert caller.press("#") == "Goodbye."


def test_an_empty_mailbox_says_so() -> None:
    caller = Caller([])
    assert (
        caller.press("2580#") == "You have no new messages and no saved messages. You have no more messages. Goodbye."
    )


def test_a_mailbox_locks_at_the_last_wrong_pin_of_all_calls() -> None:
    caller = Caller(wrong_pins=MAX_WRONG_PINS - 2)
    assert caller.press("1111") == f"That PIN is not correct. {ASK_PIN}"
    assert caller.press("2222") == f"That PIN is not correct. {LOCKED} Goodbye."
    checks = [(action.is_right, action.is_locked) for action in caller.actions if isinstance(action, CheckPin)]
    assert checks == [(False, False), (False, True)]


def test_wrong_pins_in_one_key_sequence_are_all_counted() -> None:
    caller = Caller(wrong_pins=MAX_WRONG_PINS - 2)
    assert caller.press("1111#2222#2580#") == f"That PIN is not correct. {LOCKED} Goodbye."
    assert sum(isinstance(action, CheckPin) for action in caller.actions) == 2


def test_a_locked_mailbox_says_so_and_takes_no_pin() -> None:
    caller = Caller(wrong_pins=MAX_WRONG_PINS)
    assert [action.text for action in caller.actions if isinstance(action, Speak)] == [f"{LOCKED} Goodbye."]
    assert caller.press("2580#") == ""
    caller.wait()
    assert isinstance(caller.actions[-1], HangUp)


@pytest.mark.parametrize("nothing", [DigitsPressed("#"), SpeechEnded("I do not know"), TimerFired()])
def test_a_missing_pin_is_not_a_wrong_pin(nothing: Stimulus) -> None:
    caller = Caller(wrong_pins=MAX_WRONG_PINS - 1)
    caller.wait()
    assert caller.do(nothing) == f"I'm sorry, I didn't get your PIN. {ASK_PIN}"
    assert caller.press("2580").startswith("You have two new messages")
