"""Menus of phone trees: keys, speech, repetition, and entries that are missing or wrong."""

from typing import Any

import pytest

from clerkship.formats.phone_tree.machine import GOODBYE, MAX_REJECTED_TEXT
from clerkship.formats.phone_tree.prompts import measure_speech
from clerkship.formats.phone_tree.session import EnterNode, HangUp, RejectInput, Speak, SpeechStarted, StopSpeaking
from tests.formats.phone_tree.calls import TreeCall, build_tree

PROMPT = "For claims, press 1. For a nurse, press 0."
NO_INPUT = "I'm sorry, I didn't hear anything."
NO_MATCH = "I'm sorry, I didn't understand that."


def build_menu(**fields: Any) -> dict[str, Any]:
    return {
        "type": "menu",
        "prompt": PROMPT,
        "choices": [
            {"key": "1", "speech": ["claims"], "next": "claims"},
            {"key": "0", "speech": ["nurse"], "next": "goodbye"},
        ],
        **fields,
    }


def call_menu(**fields: Any) -> TreeCall:
    claims = {"type": "menu", "prompt": "Press 9 for claims.", "choices": [{"key": "9", "next": "goodbye"}]}
    return TreeCall(build_tree({"main": build_menu(**fields), "claims": claims}))


def test_key_during_the_prompt_stops_it_and_chooses() -> None:
    call = call_menu()
    call.press("0")
    assert call.result.actions == (StopSpeaking(), EnterNode("goodbye"), Speak("Goodbye."))


def test_key_after_the_prompt_chooses() -> None:
    call = call_menu()
    call.listen()
    assert (call.session.phase, call.result.timer_seconds) == ("listening", 6.0)
    call.press("0")
    assert call.result.actions == (EnterNode("goodbye"), Speak("Goodbye."))


def test_keys_after_the_choice_are_used_by_the_next_menu() -> None:
    call = call_menu()
    call.press("19")
    assert call.path == ["main", "claims", "goodbye"]


def test_phrase_chooses() -> None:
    call = call_menu()
    call.listen()
    call.say("I have a question about my claims.")
    assert call.path == ["main", "claims"]


def test_no_timer_runs_while_the_caller_speaks() -> None:
    call = call_menu()
    call.listen()
    assert call.step(SpeechStarted()).timer_seconds is None


@pytest.mark.parametrize("signal", ["*", "repeat"])
def test_prompt_is_repeated_without_counting_an_attempt(signal: str) -> None:
    call = call_menu()
    call.listen()
    if signal == "*":
        call.press(signal)
    else:
        call.say("Could you repeat that?")
    assert call.result.actions == (Speak(PROMPT),)
    assert call.session.attempts == 0


def test_star_is_rejected_without_a_repeat_key() -> None:
    call = call_menu(repeat_key=None)
    call.press("*")
    assert call.rejections == [("no_match", 1)]


def test_unknown_key_is_rejected_and_the_prompt_repeated() -> None:
    call = call_menu()
    call.press("7119")
    assert call.result.actions == (StopSpeaking(), RejectInput("main", "no_match", 1, "7"), Speak(NO_MATCH))
    assert call.session.digits == ""
    assert call.fire().actions == (Speak(PROMPT),)


def test_unknown_phrase_is_rejected_and_quoted_in_part() -> None:
    call = call_menu()
    call.listen()
    call.say("weather " * 20_000)
    rejection = call.result.actions[0]
    assert isinstance(rejection, RejectInput)
    assert (rejection.reason, len(rejection.text)) == ("no_match", MAX_REJECTED_TEXT)


def test_silence_is_rejected_and_the_prompt_repeated() -> None:
    call = call_menu(timeout="4s")
    call.listen()
    assert call.result.timer_seconds == 4.0
    assert call.fire().actions == (RejectInput("main", "no_input", 1), Speak(NO_INPUT))
    assert call.result.timer_seconds == measure_speech(NO_INPUT)
    assert call.fire().actions == (Speak(PROMPT),)


def test_key_during_the_apology_chooses() -> None:
    call = call_menu()
    call.press("7")
    call.press("0")
    assert call.result.actions == (StopSpeaking(), EnterNode("goodbye"), Speak("Goodbye."))


def test_missing_and_wrong_entries_count_together_until_the_line_says_goodbye() -> None:
    call = call_menu()
    call.press("7")
    call.listen()
    call.fire()
    call.listen()
    call.say("weather")
    assert call.rejections == [("no_match", 1), ("no_input", 2), ("no_match", 3)]
    assert call.spoken[-1] == GOODBYE
    call.press("1")
    assert call.result.actions == ()
    assert call.fire().actions == (HangUp("too many attempts"),)


def test_too_many_attempts_go_to_the_failed_node() -> None:
    call = call_menu(max_attempts=1, failed="goodbye")
    call.listen()
    call.fire()
    assert call.result.actions == (RejectInput("main", "no_input", 1), EnterNode("goodbye"), Speak("Goodbye."))


def test_attempts_count_anew_at_each_visit() -> None:
    choices = [{"key": "1", "next": "main"}, {"key": "0", "next": "goodbye"}]
    call = TreeCall(build_tree({"main": build_menu(choices=choices)}))
    call.press("7")
    call.press("1")
    call.press("7")
    assert call.rejections == [("no_match", 1), ("no_match", 1)]


def test_menu_that_cannot_be_interrupted_uses_keys_after_its_prompt() -> None:
    call = call_menu(interruptible=False)
    call.press("0")
    call.say("claims")
    assert call.path == ["main"]
    call.fire()
    assert call.path == ["main", "goodbye"]


def test_menu_that_cannot_be_interrupted_says_its_prompt_before_it_uses_keys_typed_ahead() -> None:
    welcome = {"type": "say", "prompt": "Welcome.", "next": "main"}
    call = TreeCall(
        build_tree(
            {"welcome": welcome, "main": build_menu(interruptible=False, choices=[{"key": "0", "next": "goodbye"}])}
        )
    )
    call.press("0")
    assert call.spoken == ["Welcome.", PROMPT]
    call.fire()
    assert call.path == ["welcome", "main", "goodbye"]


def test_menu_without_words_listens_at_once() -> None:
    call = call_menu(prompt="", no_input="", timeout=0)
    assert (call.session.phase, call.result.timer_seconds) == ("listening", 1.0)
    call.fire()
    assert (call.session.phase, call.rejections) == ("listening", [("no_input", 1)])


def build_operator_call(**fields: Any) -> TreeCall:
    """Return a call to a menu and a data entry, with a node for callers who ask for a person."""
    ask = {"type": "collect", "prompt": "Your number?", "variable": "number", "next": "goodbye"}
    menu = build_menu(choices=[{"key": "1", "next": "ask"}])
    person = {"type": "transfer", "prompt": "One moment.", "number": "+15550100123"}
    return TreeCall(build_tree({"main": menu, "ask": ask, **({"person": person} if fields else {})}, **fields))


@pytest.mark.parametrize("words", ["Operator!", "I want a representative", "Can I talk to a person?"])
def test_operator_is_reached_from_menus_and_data_entry(words: str) -> None:
    for keys in ("", "1"):
        call = build_operator_call(operator="person")
        if keys:
            call.press(keys)
        call.say(words)
        assert call.path[-1] == "person"


def test_operator_is_not_understood_unless_the_tree_has_one() -> None:
    call = build_operator_call()
    call.say("Operator!")
    assert call.rejections == [("no_match", 1)]
