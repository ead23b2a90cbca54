"""Phone trees: prompts, hooks, branches, opening hours, transfers, voicemail and the end of a call."""

from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from clerkship.formats.phone_tree.machine import IvrMachine
from clerkship.formats.phone_tree.prompts import measure_speech
from clerkship.formats.phone_tree.recorder import MAX_SILENCE_SECONDS
from clerkship.formats.phone_tree.session import (
    Answered,
    Beep,
    DigitsPressed,
    EnterNode,
    HangUp,
    HookReturned,
    IvrSession,
    RunHook,
    Speak,
    SpeechEnded,
    SpeechStarted,
    StopSpeaking,
    TimerFired,
    TransferCall,
    VerifyIdentity,
)
from clerkship.formats.phone_tree.step_draft import MAX_TYPED_AHEAD
from tests.formats.phone_tree.calls import MORNING, TreeCall, build_tree

MENU: dict[str, Any] = {
    "type": "menu",
    "prompt": "For claims, press 1. For benefits, press 2.",
    "choices": [
        {"key": "1", "speech": ["claims"], "next": "goodbye"},
        {"key": "2", "speech": ["benefits"], "next": "welcome"},
    ],
}
WELCOME: dict[str, Any] = {"type": "say", "prompt": "Thank you for calling.", "next": "main"}


def test_say_node_goes_on_when_its_prompt_is_over() -> None:
    call = TreeCall(build_tree({"welcome": WELCOME, "main": MENU}))
    assert call.result.actions == (EnterNode("welcome"), Speak("Thank you for calling."))
    assert call.result.timer_seconds == measure_speech("Thank you for calling.")
    call.fire()
    assert call.result.actions == (EnterNode("main"), Speak(MENU["prompt"]))


def test_digits_during_an_interruptible_say_node_are_used_by_the_menu_after_it() -> None:
    call = TreeCall(build_tree({"welcome": WELCOME, "main": MENU}))
    call.press("1")
    assert call.result.actions == (StopSpeaking(), EnterNode("main"), EnterNode("goodbye"), Speak("Goodbye."))
    assert call.session.digits == ""


def test_speech_during_an_interruptible_say_node_is_used_by_the_menu_after_it() -> None:
    call = TreeCall(build_tree({"welcome": WELCOME, "main": MENU}))
    assert call.step(SpeechStarted()).actions == (StopSpeaking(),)
    assert call.result.timer_seconds is None
    call.step(SpeechEnded("claims, please"))
    assert call.path == ["welcome", "main", "goodbye"]


def test_speech_before_a_menu_that_matches_no_choice_is_not_rejected() -> None:
    call = TreeCall(build_tree({"welcome": WELCOME, "main": MENU}))
    call.say("Hello, this is the clinic.")
    assert call.path == ["welcome", "main"]
    assert call.spoken[-1] == MENU["prompt"]
    assert call.rejections == []


def test_digits_during_a_prompt_that_cannot_be_interrupted_are_used_after_it() -> None:
    call = TreeCall(build_tree({"welcome": {**WELCOME, "interruptible": False}, "main": MENU}))
    call.pass_time(0.5)
    call.press("1")
    assert call.result.actions == ()
    assert call.result.timer_seconds == pytest.approx(measure_speech("Thank you for calling.") - 0.5)
    assert call.fire().actions == (EnterNode("main"), EnterNode("goodbye"), Speak("Goodbye."))


def test_speech_during_a_prompt_that_cannot_be_interrupted_is_lost() -> None:
    call = TreeCall(build_tree({"welcome": {**WELCOME, "interruptible": False}, "main": MENU}))
    before = call.session
    call.say("claims")
    assert (call.session, call.result.actions) == (before, ())
    assert call.result.timer_seconds == measure_speech("Thank you for calling.")
    call.fire()
    assert call.spoken[-1] == MENU["prompt"]


def test_digits_typed_ahead_are_limited() -> None:
    call = TreeCall(build_tree({"welcome": {**WELCOME, "interruptible": False}, "main": MENU}))
    call.press("1" * 5_000)
    call.press("1" * 5_000)
    assert len(call.session.digits) == MAX_TYPED_AHEAD


def test_characters_that_are_no_keys_are_ignored() -> None:
    call = TreeCall(build_tree({"welcome": WELCOME, "main": MENU}))
    call.press("A\x00é")
    assert call.result.actions == ()
    assert call.result.timer_seconds == measure_speech("Thank you for calling.")


def test_say_node_without_words_is_passed_at_once() -> None:
    call = TreeCall(build_tree({"welcome": {**WELCOME, "prompt": "{name}"}, "main": MENU}, values={"name": ""}))
    assert call.result.actions == (EnterNode("welcome"), EnterNode("main"), Speak(MENU["prompt"]))


def test_prompt_contains_values_of_the_tree_the_line_and_the_call() -> None:
    tree = build_tree(
        {
            "welcome": {**WELCOME, "prompt": "{company}, {city}.", "next": "find"},
            "find": {"type": "hook", "hook": "payer.find_member", "outcomes": {"found": "result"}},
            "result": {"type": "say", "prompt": "{company} knows {member_name}.", "next": "goodbye"},
        },
        values={"company": "Acme", "city": "Boston"},
    )
    call = TreeCall(tree, values={"city": "Denver"})
    call.fire()
    call.return_hook("found", member_name="Ann Lee")
    assert call.spoken == ["Acme, Denver.", "Acme knows Ann Lee."]


HOOK: dict[str, Any] = {
    "type": "hook",
    "hook": "payer.find_member",
    "arguments": {"member_id": "{entered}"},
    "prompt": "One moment.",
    "outcomes": {"found": "goodbye", "not_found": "retry"},
}


def build_hook_tree(**fields: Any) -> Any:
    retry = {"type": "menu", "prompt": "Press 1 to try again.", "choices": [{"key": "1", "next": "find"}]}
    nodes = {"find": {**HOOK, **fields}, "retry": retry}
    return build_tree(
        {**nodes, "bye": {"type": "end", "prompt": "Call back."}} if fields else nodes, values={"entered": "X1"}
    )


def test_hook_runs_after_its_prompt_with_arguments_and_values() -> None:
    call = TreeCall(build_hook_tree())
    assert call.spoken == ["One moment."]
    call.fire()
    assert call.result.actions == (RunHook("find", "payer.find_member", {"entered": "X1", "member_id": "X1"}),)
    assert (call.session.phase, call.result.timer_seconds) == ("waiting", None)


def test_hook_goes_on_by_its_outcome_and_keeps_its_values() -> None:
    call = TreeCall(build_hook_tree())
    call.fire()
    call.return_hook("not_found", reason="unknown")
    assert call.path == ["find", "retry"]
    assert call.session.values == {"reason": "unknown"}


def test_hook_that_returns_a_member_verifies_the_caller() -> None:
    call = TreeCall(build_hook_tree())
    call.fire()
    call.return_hook("found", member_id="M1")
    assert call.result.actions == (VerifyIdentity("M1"), EnterNode("goodbye"), Speak("Goodbye."))


def test_digits_during_a_hook_are_used_by_the_menu_after_it() -> None:
    call = TreeCall(build_hook_tree())
    call.press("1")
    call.fire()
    assert call.session.digits == "1"
    call.return_hook("not_found")
    assert call.path == ["find", "retry", "find"]


def test_hook_visited_too_often_goes_to_exhausted() -> None:
    call = TreeCall(build_hook_tree(max_visits=2, exhausted="bye", prompt=""))
    call.return_hook("not_found")
    call.press("1")
    call.return_hook("not_found")
    assert call.session.visits == {"find": 2}
    call.press("1")
    assert call.path[-2:] == ["find", "bye"]
    assert not any(isinstance(action, RunHook) for action in call.result.actions)


def test_outcome_that_the_node_does_not_have_ends_the_call() -> None:
    call = TreeCall(build_hook_tree())
    call.fire()
    call.return_hook("unheard_of")
    assert call.result.actions == (HangUp("node find has no outcome unheard_of"),)
    assert call.session.phase == "ended"


@pytest.mark.parametrize(("plan", "expected"), [("gold", "vip"), ("silver", "goodbye"), (None, "goodbye")])
def test_branch_goes_on_by_a_value(plan: str | None, expected: str) -> None:
    tree = build_tree(
        {
            "split": {"type": "branch", "variable": "plan", "cases": {"gold": "vip"}, "otherwise": "goodbye"},
            "vip": {"type": "end", "prompt": "Welcome, gold member."},
        },
        values={"plan": ""},
    )
    call = TreeCall(tree, values={} if plan is None else {"plan": plan})
    assert call.path == ["split", expected]


HOURS: dict[str, Any] = {
    "type": "hours",
    "hours": [
        {"days": ["mon", "tue"], "opens": "08:00", "closes": "17:00"},
        {"days": ["sat"], "opens": "09:00", "closes": "12:00"},
        {"days": ["sun"], "opens": "20:00", "closes": "00:00"},
    ],
    "holidays": ["2026-03-03"],
    "opened": "goodbye",
    "closed": "night",
}


@pytest.mark.parametrize(
    ("at", "expected"),
    [
        ("2026-03-02 07:59:59", "night"),
        ("2026-03-02 08:00:00", "goodbye"),
        ("2026-03-02 16:59:59", "goodbye"),
        ("2026-03-02 17:00:00", "night"),
        ("2026-03-03 10:00:00", "night"),
        ("2026-03-04 10:00:00", "night"),
        ("2026-03-07 10:00:00", "goodbye"),
        ("2026-03-08 19:59:59", "night"),
        ("2026-03-08 23:59:59", "goodbye"),
        ("2026-03-09 00:00:00", "night"),
    ],
)
def test_hours_depend_on_the_local_time_and_holidays(at: str, expected: str) -> None:
    night = {"type": "end", "prompt": "We are closed."}
    now = datetime.fromisoformat(at).replace(tzinfo=ZoneInfo("America/New_York"))
    assert TreeCall(build_tree({"office": HOURS, "night": night}), now=now).path == ["office", expected]


def test_transfer_follows_its_prompt() -> None:
    call = TreeCall(build_tree({"connect": {"type": "transfer", "representative": "claims_team"}}))
    assert call.spoken == ["Please hold while I transfer your call."]
    assert call.press("1").actions == ()
    assert call.fire().actions == (TransferCall("claims_team", None),)
    assert (call.session.phase, call.result.timer_seconds) == ("ended", None)


def test_transfer_to_a_number_without_a_prompt_happens_at_once() -> None:
    call = TreeCall(build_tree({"connect": {"type": "transfer", "prompt": "", "number": "+15550100123"}}))
    assert call.result.actions == (EnterNode("connect"), TransferCall(None, "+15550100123"))


def test_voicemail_beeps_after_the_greeting_and_ends_after_silence() -> None:
    call = TreeCall(build_tree({"message": {"type": "voicemail", "prompt": "Leave a message.", "mailbox": "office"}}))
    call.say("Lost words")
    call.fire()
    assert call.result.actions == (Beep("office"),)
    assert (call.session.phase, call.result.timer_seconds) == ("recording", MAX_SILENCE_SECONDS)
    call.pass_time(2)
    assert call.step(SpeechStarted()).timer_seconds == 178
    call.pass_time(5)
    assert call.step(SpeechEnded("This is the clinic.")).timer_seconds == MAX_SILENCE_SECONDS
    assert call.fire().actions == (HangUp("end of the recording"),)


def test_end_node_hangs_up_after_its_prompt() -> None:
    call = TreeCall(build_tree({"closing": {"type": "end", "prompt": "We are closed."}}))
    call.press("1")
    call.say("Wait!")
    assert (call.spoken, call.session.phase) == (["We are closed."], "speaking")
    assert call.fire().actions == (HangUp("end of the phone tree"),)


@pytest.mark.parametrize(
    "stimulus",
    [Answered(), TimerFired(), DigitsPressed("1"), SpeechStarted(), SpeechEnded("hi"), HookReturned("found", {})],
)
def test_ended_call_does_nothing_more(stimulus: Any) -> None:
    call = TreeCall(build_tree({"closing": {"type": "end", "prompt": ""}}))
    session = call.session
    assert call.step(stimulus) == (session, (), None)


def test_call_ends_when_its_node_is_gone_from_a_replaced_tree() -> None:
    call = TreeCall(build_tree({"welcome": WELCOME, "main": MENU}))
    call.far_end = IvrMachine(
        build_tree({"start": {**WELCOME, "next": "main"}, "main": {**MENU, "choices": MENU["choices"][:1]}}), {}
    )
    call.press("1")
    assert call.result.actions == (HangUp("the phone tree has no node welcome"),)


def test_session_survives_json() -> None:
    call = TreeCall(
        build_tree({"welcome": WELCOME, "main": MENU}), now=MORNING.astimezone(ZoneInfo("America/New_York"))
    )
    assert IvrSession.model_validate_json(call.session.model_dump_json()) == call.session


def test_timer_is_right_when_the_clocks_change() -> None:
    now = datetime(2026, 3, 8, 1, 59, 59, tzinfo=ZoneInfo("America/New_York"))
    call = TreeCall(build_tree({"main": MENU, "welcome": WELCOME}), now=now)
    assert call.result.timer_seconds == measure_speech(MENU["prompt"])
    assert call.press("").timer_seconds == measure_speech(MENU["prompt"])


def test_prompt_is_interruptible_only_while_it_plays() -> None:
    call = TreeCall(build_tree({"main": MENU, "welcome": WELCOME}))
    machine = call.far_end
    assert isinstance(machine, IvrMachine)
    assert machine.is_interruptible(call.session)
    call.listen()
    assert not machine.is_interruptible(call.session)
