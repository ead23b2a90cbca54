"""Data entry in phone trees: keys, speech, lengths, dates, money, and confirmation."""

from typing import Any

import pytest

from clerkship.formats.phone_tree.machine import GOODBYE
from clerkship.formats.phone_tree.session import CollectValue, EnterNode, HangUp, RejectInput, Speak, StopSpeaking
from tests.formats.phone_tree.calls import TreeCall, build_tree

PROMPT = "Enter your member ID, followed by the pound key."
NO_MATCH = "I'm sorry, I didn't understand that."
READ_BACK = "You entered 1, 2, 3, 4. If this is correct, press 1 or say yes. To enter it again, press 2 or say no."


def call_collect(**fields: Any) -> TreeCall:
    node = {"type": "collect", "prompt": PROMPT, "variable": "entered", "next": "result", **fields}
    result = {"type": "menu", "prompt": "Thank you.", "choices": [{"key": "1", "next": "goodbye"}]}
    return TreeCall(build_tree({"ask": node, "result": result}))


def test_end_key_ends_an_entry() -> None:
    call = call_collect()
    call.press("1234#")
    assert call.result.actions == (
        StopSpeaking(),
        CollectValue("ask", "entered", "1234"),
        EnterNode("result"),
        Speak("Thank you."),
    )
    assert call.session.values == {"entered": "1234"}


def test_first_digit_stops_the_prompt_and_the_line_waits_for_more() -> None:
    call = call_collect()
    assert call.press("1").actions == (StopSpeaking(),)
    assert (call.session.phase, call.result.timer_seconds) == ("listening", 6.0)
    call.pass_time(5)
    assert call.press("2").timer_seconds == 6.0
    call.press("#")
    assert call.session.values == {"entered": "12"}


def test_entry_of_the_greatest_length_needs_no_end_key() -> None:
    call = call_collect(max_length=4)
    call.press("1234")
    assert call.session.values == {"entered": "1234"}


def test_end_key_after_an_entry_of_the_greatest_length_is_not_used_by_the_next_node() -> None:
    call = call_collect(max_length=4)
    call.press("1234#1")
    assert call.path == ["ask", "result", "goodbye"]


def test_pause_ends_a_valid_entry() -> None:
    call = call_collect(min_length=2)
    call.press("12")
    call.fire()
    assert call.session.values == {"entered": "12"}


def test_pause_after_too_few_digits_is_invalid() -> None:
    call = call_collect(min_length=3)
    call.press("12")
    assert call.fire().actions == (RejectInput("ask", "invalid", 1, "12"), Speak(NO_MATCH))


@pytest.mark.parametrize(("keys", "quoted"), [("12#", "12"), ("#", "")])
def test_entry_that_is_too_short_is_invalid(keys: str, quoted: str) -> None:
    call = call_collect(min_length=3)
    call.press(keys)
    assert call.result.actions == (StopSpeaking(), RejectInput("ask", "invalid", 1, quoted), Speak(NO_MATCH))
    assert call.session.digits == ""


def test_star_repeats_the_prompt_and_drops_the_digits_before_it() -> None:
    call = call_collect()
    call.press("12")
    assert call.press("*").actions == (Speak(PROMPT),)
    call.press("34#")
    assert call.session.values == {"entered": "34"}


def test_star_without_a_repeat_key_makes_an_entry_invalid() -> None:
    call = call_collect(repeat_key=None)
    call.press("12*34#")
    assert call.rejections == [("invalid", 1)]


def test_silence_is_rejected_until_the_line_hangs_up() -> None:
    call = call_collect(max_attempts=2)
    call.listen()
    call.fire()
    call.listen()
    call.fire()
    assert call.rejections == [("no_input", 1), ("no_input", 2)]
    assert call.spoken[-1] == GOODBYE
    assert call.fire().actions == (HangUp("too many attempts"),)


def test_spoken_entry_is_accepted() -> None:
    call = call_collect(min_length=4)
    call.listen()
    call.say("one two three four")
    assert call.session.values == {"entered": "1234"}


def test_speech_without_an_entry_does_not_match() -> None:
    call = call_collect()
    call.listen()
    call.say("I don't have it with me")
    assert call.rejections == [("no_match", 1)]


def test_spoken_entry_of_the_wrong_length_is_invalid() -> None:
    call = call_collect(max_length=3)
    call.listen()
    call.say("one two three four")
    assert call.rejections == [("invalid", 1)]


def test_speech_replaces_digits_that_were_not_finished() -> None:
    call = call_collect()
    call.press("99")
    call.say("one two three four")
    assert call.session.values == {"entered": "1234"}


def test_spoken_request_repeats_the_prompt() -> None:
    call = call_collect()
    call.listen()
    call.say("please repeat that")
    assert call.result.actions == (Speak(PROMPT),)


def test_digits_are_accepted_for_letters_and_digits() -> None:
    call = call_collect(format="letters_and_digits")
    call.press("123#")
    assert call.session.values == {"entered": "123"}


def test_letters_are_spoken() -> None:
    call = call_collect(format="letters_and_digits")
    call.listen()
    call.say("W as in whiskey, one, two, three")
    assert call.session.values == {"entered": "W123"}


@pytest.mark.parametrize(
    ("keys", "value"),
    [("03021980", "1980-03-02"), ("0302198012", "1980-03-02"), ("03021980#", "1980-03-02"), ("02292024", "2024-02-29")],
)
def test_date_is_keyed_with_month_day_and_year(keys: str, value: str) -> None:
    call = call_collect(format="date")
    call.press(keys)
    assert call.session.values == {"entered": value}


@pytest.mark.parametrize("keys", ["13011980", "02292023", "00000000", "0302#", "01010000"])
def test_day_that_does_not_exist_is_invalid(keys: str) -> None:
    call = call_collect(format="date")
    call.press(keys)
    assert call.rejections == [("invalid", 1)]


@pytest.mark.parametrize(
    ("keys", "value"), [("1250#", "12.50"), ("12*50#", "12.50"), ("05#", "0.05"), ("0*99#", "0.99"), ("100#", "1.00")]
)
def test_amount_is_keyed_in_dollars_and_cents(keys: str, value: str) -> None:
    call = call_collect(format="money")
    call.press(keys)
    assert call.session.values == {"entered": value}


@pytest.mark.parametrize("keys", ["5#", "12*5#", "12*#", "1*2*34#"])
def test_amount_without_two_digits_of_cents_is_invalid(keys: str) -> None:
    call = call_collect(format="money")
    call.press(keys)
    assert call.rejections == [("invalid", 1)]


@pytest.mark.parametrize("answer", ["1", "yes", "Yes, that's correct.", "press one"])
def test_confirmed_entry_is_accepted(answer: str) -> None:
    call = call_collect(confirm=True)
    call.press("1234#")
    assert call.result.actions == (StopSpeaking(), Speak(READ_BACK))
    assert call.session.values == {}
    call.listen()
    call.press(answer) if answer.isdigit() else call.say(answer)
    assert call.session.values == {"entered": "1234"}
    assert call.path == ["ask", "result"]


@pytest.mark.parametrize("answer", ["2", "no", "No, that is wrong."])
def test_entry_that_is_not_confirmed_is_asked_for_again(answer: str) -> None:
    call = call_collect(confirm=True)
    call.press("1234#")
    call.listen()
    call.press(answer) if answer.isdigit() else call.say(answer)
    assert call.result.actions == (Speak(PROMPT),)
    assert (call.session.entry, call.session.values, call.rejections) == ("", {}, [])


def test_confirmation_typed_ahead_is_used() -> None:
    call = call_collect(confirm=True)
    call.press("1234#1")
    assert call.result.actions == (
        StopSpeaking(),
        CollectValue("ask", "entered", "1234"),
        EnterNode("result"),
        Speak("Thank you."),
    )


@pytest.mark.parametrize("key", ["*", "#"])
def test_repeat_key_and_end_key_repeat_the_confirmation(key: str) -> None:
    call = call_collect(confirm=True)
    call.press("1234#")
    call.listen()
    assert call.press(key).actions == (Speak(READ_BACK),)


def test_missing_and_unclear_answers_repeat_the_confirmation() -> None:
    call = call_collect(confirm=True)
    call.press("1234#")
    call.listen()
    call.fire()
    assert call.fire().actions == (Speak(READ_BACK),)
    call.press("7")
    assert call.rejections == [("no_input", 1), ("no_match", 2)]
    call.say("well, perhaps")
    assert call.spoken[-1] == GOODBYE


@pytest.mark.parametrize(
    ("format", "keys", "said"), [("date", "03021980", "March 2, 1980"), ("money", "1250#", "$12.50")]
)
def test_confirmation_reads_dates_and_amounts(format: str, keys: str, said: str) -> None:
    call = call_collect(format=format, confirm=True)
    call.press(keys)
    assert call.spoken[-1].startswith(f"You entered {said}. If this is correct")


def test_digits_typed_ahead_fill_several_entries() -> None:
    first = {"type": "collect", "prompt": PROMPT, "variable": "member_id", "next": "second"}
    second = {"type": "collect", "prompt": "Your birth date?", "variable": "birth", "format": "date", "next": "goodbye"}
    call = TreeCall(build_tree({"first": first, "second": second}))
    call.press("1234#03021980#")
    assert call.session.values == {"member_id": "1234", "birth": "1980-03-02"}
    assert call.spoken == [PROMPT, "Goodbye."]


def test_speech_during_the_prompt_before_an_entry_is_used_if_it_is_one() -> None:
    welcome = {"type": "say", "prompt": "Welcome.", "next": "ask"}
    node = {"type": "collect", "prompt": PROMPT, "variable": "entered", "min_length": 4, "next": "goodbye"}
    call = TreeCall(build_tree({"welcome": welcome, "ask": node}))
    call.say("one two three four")
    assert call.session.values == {"entered": "1234"}
    other = TreeCall(build_tree({"welcome": welcome, "ask": node}))
    other.say("hello")
    assert (other.spoken, other.rejections) == (["Welcome.", PROMPT], [])


def test_entry_that_is_corrected_is_read_back_again() -> None:
    call = call_collect(confirm=True)
    call.press("1234#")
    call.listen()
    call.say("No, it is one two three five.")
    assert call.result.actions == (Speak(READ_BACK.replace("3, 4", "3, 5")),)
    call.listen()
    call.say("Yes, one two three five is right")
    assert call.session.values == {"entered": "1235"}


def test_sentence_that_reads_an_entry_back_can_be_set() -> None:
    call = call_collect(confirm=True, confirmation="I have {entry|digits}. Right?")
    call.press("1234#")
    assert call.spoken[-1] == "I have 1, 2, 3, 4. Right?"
    call.say("yes")
    assert call.session.values == {"entered": "1234"}
