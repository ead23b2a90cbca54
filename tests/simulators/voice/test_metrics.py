"""Measures of calls: response times, silence, overlap, holds and interruptions."""

import pytest

from clerkship.simulators.voice.call_log import list_calls
from clerkship.simulators.voice.metrics import CallMetrics, measure_call
from tests.simulators.voice.call_log_builder import CallLogBuilder


def measure(log: CallLogBuilder) -> CallMetrics:
    """Measure the only call of a log."""
    (call,) = list_calls(log.evidence())
    return measure_call(call)


def test_response_time_is_from_the_end_of_speech_to_words_or_keys() -> None:
    log = CallLogBuilder()
    call = log.start()
    log.hear(call, "Please enter your member ID.")
    log.wait(2)
    log.press(call, "4471")
    log.hear(call, "And your birth date?")
    log.wait(5)
    log.say(call, "March fourteenth")
    log.end(call)
    metrics = measure(log)
    assert metrics.response_times == pytest.approx((2.0, 5.0))
    assert (metrics.median_response_time, metrics.max_response_time) == (3.5, 5.0)
    assert metrics.dead_air == pytest.approx(7.0)


def test_silence_before_a_reprompt_is_dead_air_and_not_a_response_time() -> None:
    log = CallLogBuilder()
    call = log.start()
    log.hear(call, "Please enter your member ID.")
    log.wait(6)
    log.reject(call)
    log.hear(call, "I'm sorry, I didn't hear anything.")
    log.wait(1)
    log.say(call, "four four seven one")
    log.end(call)
    metrics = measure(log)
    assert metrics.response_times == pytest.approx((1.0,))
    assert metrics.dead_air == pytest.approx(7.0)
    assert metrics.reprompts == 1


def test_time_on_hold_is_neither_dead_air_nor_response_time() -> None:
    log = CallLogBuilder()
    call = log.start()
    log.hear(call, "You are number two in line.")
    log.hold(call, 600)
    log.say(call, "Hello, are you there?")
    log.end(call)
    metrics = measure(log)
    assert metrics.on_hold == 600
    assert metrics.response_times == ()
    assert metrics.dead_air == 0
    assert metrics.length > 600


def test_interrupted_prompt_is_a_barge_in_without_response_time() -> None:
    log = CallLogBuilder()
    call = log.start()
    log.hear(call, "For claims, press one. For authorizations, press two. For all else, press three.")
    log.cut(call, "For claims,", 1.02)
    log.press(call, "2")
    log.end(call)
    metrics = measure(log)
    assert (metrics.barge_ins, metrics.response_times, metrics.dead_air) == (1, (), 0)
    assert metrics.length == pytest.approx(1.02)


def test_prompt_that_ends_with_the_call_is_not_a_barge_in() -> None:
    log = CallLogBuilder()
    call = log.start()
    log.hear(call, "For claims, press one. For authorizations, press two.")
    log.cut(call, "For claims,", 1.02)
    log.end(call, by="agent")
    assert measure(log).barge_ins == 0


def test_overlap_is_while_both_sides_speak() -> None:
    log = CallLogBuilder()
    call = log.start()
    log.hear(call, "This call may be recorded for quality and training purposes.")
    log.wait(-2)
    log.say(call, "Representative, representative, please")
    log.end(call)
    metrics = measure(log)
    assert 0 < metrics.overlap <= 2
    assert metrics.barge_ins == 0


def test_call_that_was_not_answered_has_no_length() -> None:
    log = CallLogBuilder()
    call = log.ring()
    log.wait(20)
    log.end(call, by="agent", outcome="abandoned")
    assert measure(log) == CallMetrics(0, 0, (), 0, 0, 0, 0)
    assert measure(log).median_response_time is None
