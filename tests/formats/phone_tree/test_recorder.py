"""A recorder of messages: the greeting, the beep, and when the recording ends."""

from typing import Any

import pytest

from clerkship.formats.phone_tree.prompts import measure_speech
from clerkship.formats.phone_tree.recorder import MAX_SILENCE_SECONDS, RecorderMachine
from clerkship.formats.phone_tree.session import (
    Beep,
    DigitsPressed,
    HangUp,
    RecorderSession,
    Speak,
    SpeechEnded,
    SpeechStarted,
    TimerFired,
)
from tests.formats.phone_tree.calls import TreeCall

GREETING = "Please leave a message after the tone."
END = HangUp("end of the recording")


def call_recorder(greeting: str = GREETING, max_seconds: float = 60.0) -> TreeCall:
    return TreeCall(RecorderMachine("office", greeting, max_seconds))


def test_recorder_says_the_greeting_and_beeps() -> None:
    call = call_recorder()
    assert call.result.actions == (Speak(GREETING),)
    assert call.result.timer_seconds == measure_speech(GREETING)
    assert call.fire().actions == (Beep("office"),)
    assert call.session.phase == "recording"


def test_recorder_without_a_greeting_beeps_at_once() -> None:
    assert call_recorder("").result.actions == (Beep("office"),)


@pytest.mark.parametrize("stimulus", [SpeechStarted(), SpeechEnded("hello"), DigitsPressed("#")])
def test_input_during_the_greeting_is_lost(stimulus: Any) -> None:
    call = call_recorder()
    session = call.session
    call.pass_time(1)
    call.step(stimulus)
    assert (call.session, call.result.actions) == (session, ())
    assert call.result.timer_seconds == pytest.approx(measure_speech(GREETING) - 1)


def test_recording_ends_when_the_caller_says_nothing() -> None:
    call = call_recorder("")
    assert call.result.timer_seconds == MAX_SILENCE_SECONDS
    result = call.fire()
    assert (call.session.phase, result.actions, result.timer_seconds) == ("ended", (END,), None)


def test_silence_counts_from_the_end_of_speech() -> None:
    call = call_recorder("")
    call.pass_time(5)
    assert call.step(SpeechStarted()).timer_seconds == 55.0
    call.pass_time(20)
    assert call.step(SpeechEnded("Hello.")).timer_seconds == MAX_SILENCE_SECONDS
    assert call.fire().actions == (END,)


def test_recording_ends_at_the_greatest_length_while_the_caller_speaks() -> None:
    call = call_recorder("")
    call.step(SpeechStarted())
    assert call.fire().actions == (END,)
    assert call.seconds == 60.0


def test_silence_does_not_make_a_recording_longer_than_allowed() -> None:
    call = call_recorder("")
    call.step(SpeechStarted())
    call.pass_time(55)
    assert call.step(SpeechEnded("Hello.")).timer_seconds == 5.0


def test_pound_ends_the_recording_and_other_keys_do_not() -> None:
    call = call_recorder("")
    call.pass_time(3)
    assert call.press("12*").actions == ()
    assert call.result.timer_seconds == MAX_SILENCE_SECONDS - 3
    assert call.press("#").actions == (END,)


def test_ended_recording_does_nothing_more() -> None:
    call = call_recorder("")
    call.press("#")
    session = call.session
    assert call.step(TimerFired()) == (session, (), None)


def test_recording_session_survives_json() -> None:
    call = call_recorder()
    call.fire()
    assert RecorderSession.model_validate_json(call.session.model_dump_json()) == call.session
