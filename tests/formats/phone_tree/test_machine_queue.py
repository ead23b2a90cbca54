"""Hold queues of phone trees: how long they last, what is heard, and how callers leave them."""

from datetime import timedelta
from typing import Any

import pytest

from clerkship.formats.phone_tree.prompts import measure_speech
from clerkship.formats.phone_tree.session import (
    DigitsPressed,
    EndHold,
    EnterNode,
    Speak,
    SpeechEnded,
    SpeechStarted,
    StartHold,
    StopSpeaking,
)
from tests.formats.phone_tree.calls import TreeCall, build_tree

FIRST = "You are number 4 in line. Please stay on the line."


def call_queue(seed: str = "1", **fields: Any) -> TreeCall:
    node = {"type": "queue", "wait": "10m", "position": 4, "next": "goodbye", **fields}
    callback = {"type": "end", "prompt": "We will call you back."}
    return TreeCall(
        build_tree({"hold": node, "callback": callback} if "choices" in fields else {"hold": node}), seed=seed
    )


def wait_in_queue(call: TreeCall) -> float:
    """Wait until the hold is over, and return how long it was."""
    while call.session.phase == "on_hold":
        call.fire()
    return call.seconds


def test_queue_puts_the_caller_on_hold_and_says_the_position() -> None:
    call = call_queue()
    assert call.result.actions == (EnterNode("hold"), StartHold(4), Speak(FIRST))
    assert call.result.timer_seconds == measure_speech(FIRST)
    assert call.fire().actions == (Speak("hold music", is_music=True),)


def test_hold_lasts_as_long_as_the_wait() -> None:
    call = call_queue()
    assert wait_in_queue(call) == pytest.approx(600)
    assert call.actions[-3:] == [EndHold(), EnterNode("goodbye"), Speak("Goodbye.")]


def test_announcements_begin_at_regular_times_and_the_position_goes_down_to_one() -> None:
    call = call_queue(announce_every="1m")
    times: list[float] = []
    positions: list[int] = []
    while call.session.phase == "on_hold":
        spoken = [action for action in call.result.actions if isinstance(action, Speak) and not action.is_music]
        if spoken:
            times.append(call.seconds)
            positions.append(int(spoken[0].text.split()[3]))
        call.fire()
    assert times == pytest.approx([minute * 60 for minute in range(10)])
    assert positions == [4, 4, 4, 3, 3, 2, 2, 2, 1, 1]


def test_wait_is_drawn_by_the_seed_between_its_limits() -> None:
    waits = {seed: wait_in_queue(call_queue(seed, wait="5m", wait_up_to="20m")) for seed in "abcdefgh"}
    again = {seed: wait_in_queue(call_queue(seed, wait="5m", wait_up_to="20m")) for seed in "abcdefgh"}
    assert waits == again
    assert len(set(waits.values())) == 8
    assert all(300 <= seconds <= 1_200 for seconds in waits.values())


def test_music_between_announcements_may_be_silence() -> None:
    call = call_queue(music="")
    assert call.fire().actions == ()
    assert wait_in_queue(call) == pytest.approx(600)


def test_queue_without_an_announcement_plays_only_music() -> None:
    call = call_queue(announcement="", wait="90s")
    assert call.spoken == []
    assert wait_in_queue(call) == pytest.approx(90)


def test_wait_that_is_shorter_than_the_announcement_has_only_music() -> None:
    call = call_queue(wait="2s")
    assert call.result.actions[-1] == Speak("hold music", is_music=True)
    assert wait_in_queue(call) == pytest.approx(2)


def test_queue_without_a_wait_lasts_a_second() -> None:
    assert wait_in_queue(call_queue(wait=0, announce_every=0)) == pytest.approx(1)


CHOICES = [{"key": "2", "speech": ["call me back"], "next": "callback"}]


def test_key_leaves_the_queue_during_the_music() -> None:
    call = call_queue(choices=CHOICES)
    call.fire()
    call.pass_time(30)
    call.press("2")
    assert call.result.actions == (EndHold(), EnterNode("callback"), Speak("We will call you back."))
    assert (call.session.hold_seconds, call.session.position) == (0.0, 0)


def test_key_leaves_the_queue_in_the_middle_of_an_announcement() -> None:
    call = call_queue(choices=CHOICES)
    assert call.press("92").actions[:2] == (StopSpeaking(), EndHold())


def test_phrase_leaves_the_queue() -> None:
    call = call_queue(choices=CHOICES)
    call.fire()
    call.say("Please call me back")
    assert call.path == ["hold", "callback"]


@pytest.mark.parametrize("stimulus", [DigitsPressed("7"), SpeechStarted(), SpeechEnded("hello?")])
def test_other_input_does_not_change_the_wait(stimulus: Any) -> None:
    call = call_queue(choices=CHOICES)
    call.fire()
    left, session = call.result.timer_seconds, call.session
    assert left is not None
    call.pass_time(10)
    call.step(stimulus)
    assert (call.session, call.result.actions) == (session, ())
    assert call.result.timer_seconds == pytest.approx(left - 10)
    assert wait_in_queue(call) == pytest.approx(600)


def test_digits_typed_ahead_do_not_leave_the_queue() -> None:
    welcome = {"type": "say", "prompt": "Welcome.", "next": "hold"}
    hold = {"type": "queue", "wait": "1m", "choices": [{"key": "2", "next": "goodbye"}], "next": "goodbye"}
    call = TreeCall(build_tree({"welcome": welcome, "hold": hold}))
    call.press("2")
    assert (call.session.phase, call.session.digits) == ("on_hold", "")


def test_longer_hold_than_the_wait_does_not_raise_the_position() -> None:
    call = call_queue()
    call.result = call.result._replace(session=call.session.model_copy(update={"hold_seconds": 3_600.0}))
    assert wait_in_queue(call) >= timedelta(hours=1).total_seconds()
    assert "number 5" not in " ".join(call.spoken)
