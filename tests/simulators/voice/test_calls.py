"""Calls: ringing, prompts, barge-in, holds, transfers and limits, in simulated time."""

from typing import Any

import pytest

from clerkship.events.event import Payload
from clerkship.simulators.voice.call_log import read_calls
from clerkship.simulators.voice.calls import BEEP, CALL_EVENTS
from clerkship.simulators.voice.dialling import BUSY_TONE, NOT_IN_SERVICE
from clerkship.simulators.voice.events import CallHeard, MusicStarted, VoicemailLeft
from clerkship.simulators.voice.far_ends import MAX_TRANSFERS
from clerkship.simulators.voice.state import VoiceState
from tests.simulators.voice.office_phone import (
    ANSWERPHONE,
    BUSY,
    GONE,
    LINES,
    LOOP,
    MENU,
    MENU_PROMPT,
    OWN,
    SILENT,
    TREE,
    OfficePhone,
)
from tests.waiting import processor_limit


def test_a_call_rings_until_the_line_answers() -> None:
    with OfficePhone() as phone:
        call = phone.dial()
        assert phone.refusal(call, "say", text="Hello") == "not_connected"
        phone.wait(2)
        assert phone.find(call).status == "ringing"
        phone.wait(2)
        record = phone.find(call)
        assert record.status == "connected"
        assert record.answered_at is not None
        assert (record.answered_at - record.started_at).total_seconds() == 4


def test_hear_returns_when_the_line_listens_and_each_word_once() -> None:
    with OfficePhone() as phone:
        call = phone.dial()
        parts = phone.hear(call)
        assert [part["text"] for part in parts] == ["Welcome. Calls are recorded.", MENU_PROMPT]
        assert parts[0]["end"] == parts[1]["start"]
        # The line has heard nothing, so it repeats its prompt.
        assert phone.listen(call) == f"I'm sorry, I didn't hear anything. {MENU_PROMPT}"


def test_a_prompt_that_plays_is_heard_up_to_the_word_and_then_the_rest() -> None:
    with OfficePhone() as phone:
        call = phone.dial()
        [first] = phone.hear(call, seconds=4.2)
        assert first["text"] == "Welcome. Calls"
        assert first["unfinished"] is True
        assert phone.listen(call) == f"are recorded. {MENU_PROMPT}"


def test_digits_cut_a_prompt_where_they_came() -> None:
    with OfficePhone() as phone:
        call = phone.dial()
        phone.hear(call, seconds=8)
        phone.act(call, "press", digits="2")
        [cut] = phone.events("speech.cut")
        turn = phone.find(call).turns[cut.number - 1]
        assert turn.is_cut
        assert (turn.end - turn.start).total_seconds() == cut.after_seconds
        assert MENU_PROMPT.startswith(cut.heard)
        assert 0 < len(cut.heard) < len(MENU_PROMPT)
        assert phone.listen(call).endswith("The claims office is closed today. Goodbye.")


def test_words_cut_a_prompt_at_once_and_are_understood_when_they_are_said() -> None:
    with OfficePhone() as phone:
        call = phone.dial()
        phone.hear(call, seconds=8)
        phone.act(call, "say", text="I have a question about claims please")
        assert len(phone.events("speech.cut")) == 1
        assert phone.path(call)[-1] == "office/main"
        phone.wait(4)
        assert phone.path(call)[-1] == "office/claims"


def test_words_over_a_prompt_that_cannot_be_interrupted_are_lost() -> None:
    with OfficePhone() as phone:
        call = phone.dial()
        phone.wait(3)
        phone.act(call, "say", text="Claims")
        [spoken] = phone.events("agent.spoke")
        assert not spoken.is_heard
        assert phone.listen(call).endswith(MENU_PROMPT)
        assert phone.path(call)[-1] == "office/main"


def test_digits_typed_ahead_pass_through_the_menus() -> None:
    with OfficePhone() as phone:
        call = phone.dial()
        phone.wait(3)
        phone.act(call, "press", digits="14711#")
        assert "Account 4, 7, 1, 1 is paid." in phone.listen(call)
        assert phone.path(call)[:4] == ["office/welcome", "office/main", "office/billing", "office/account"]


def test_the_agent_finishes_its_words_before_it_presses_keys_or_hangs_up() -> None:
    with OfficePhone() as phone:
        call = phone.reach_menu()
        phone.act(call, "say", text="I would like to know something about a matter of some importance")
        words = phone.find(call).turns[-1]
        phone.act(call, "hang-up")
        assert phone.find(call).ended_at == words.end
        assert not words.is_cut


def test_two_calls_go_on_at_the_same_time() -> None:
    with OfficePhone() as phone:
        first = phone.reach_menu()
        phone.act(first, "press", digits="3")
        second = phone.reach_menu()
        phone.act(second, "press", digits="1")
        phone.act(second, "wait", seconds=700)
        assert phone.path(second)[-1] == "office/billing"
        assert phone.find(second).outcome == "completed"  # the line gave up, because no number was entered
        assert phone.find(first).open_holds
        phone.act(first, "wait", seconds=700)
        assert phone.path(first)[-1] == "office/claims"
        assert phone.find(first).status == "ended"


def test_the_agent_hears_nothing_while_it_has_a_call_on_hold() -> None:
    with OfficePhone() as phone:
        call = phone.dial()
        phone.hear(call, seconds=6)
        phone.act(call, "hold")
        assert phone.refusal(call, "hold") == "on_hold"
        assert phone.refusal(call, "press", digits="1") == "on_hold"
        assert phone.act(call, "wait", seconds=5)["heard"] != []  # what was said before the hold
        assert phone.act(call, "wait", seconds=15)["heard"] == []
        assert phone.find(call).reprompts == 1  # the line waited for the caller
        phone.act(call, "resume")
        assert phone.refusal(call, "resume") == "not_on_hold"
        assert phone.listen(call) != ""
        view = phone.get(f"/calls/{call}")
        assert view["seconds_on_hold"] > 20


def test_a_queue_puts_the_call_on_hold_and_hanging_up_there_abandons_it() -> None:
    with OfficePhone() as phone:
        call = phone.reach_menu()
        phone.act(call, "press", digits="3")
        heard = phone.act(call, "wait", seconds=130)["heard"]
        assert [part["sound"] for part in heard if "sound" in part] == ["hold music", "hold music"]
        assert len([part for part in heard if "text" in part]) == 2
        assert phone.find(call).open_holds
        phone.act(call, "hang-up")
        record = phone.find(call)
        assert (record.outcome, record.ended_by) == ("abandoned", "agent")
        assert record.holds[-1].end == record.ended_at


def test_a_busy_line_is_heard_at_once_and_answers_the_second_call() -> None:
    with OfficePhone() as phone:
        call = phone.dial(BUSY)
        result = phone.act(call, "hear")
        assert [part["sound"] for part in result["heard"]] == [BUSY_TONE]
        assert (result["status"], result["outcome"]) == ("ended", "busy")
        assert phone.listen(phone.dial(BUSY)).endswith(MENU_PROMPT)


def test_a_call_without_answer_ends_after_a_minute() -> None:
    with OfficePhone() as phone:
        result = phone.act(phone.dial(SILENT), "hear", seconds=90)
        assert (result["outcome"], result["heard"]) == ("no_answer", [])
        assert phone.find("call-1").answered_at is None


@pytest.mark.parametrize("number", [GONE, "+15559990000"])
def test_a_number_out_of_service_is_announced(number: str) -> None:
    with OfficePhone() as phone:
        result = phone.act(phone.dial(number), "hear")
        assert [part["text"] for part in result["heard"]] == [NOT_IN_SERVICE]
        assert (result["status"], result["outcome"], result["ended_by"]) == ("ended", "failed", "network")


def test_the_own_number_is_busy() -> None:
    with OfficePhone() as phone:
        assert phone.act(phone.dial(OWN), "hear")["outcome"] == "busy"


def test_a_message_after_the_beep_is_left_and_one_before_it_is_lost() -> None:
    with OfficePhone() as phone:
        call = phone.dial(ANSWERPHONE)
        phone.wait(19.5)
        phone.act(call, "say", text="Hello?")
        assert [part.get("sound") for part in phone.hear(call)] == [None, BEEP]
        phone.act(call, "say", text="Please call the clinic.")
        phone.act(call, "hang-up")
        [left] = phone.events("voicemail.left")
        assert (left.mailbox, left.text, left.before_beep) == ("night", "Please call the clinic.", "Hello?")


def test_a_transfer_to_another_number_rings_there() -> None:
    with OfficePhone() as phone:
        call = phone.reach_menu()
        phone.act(call, "press", digits="4")
        assert phone.listen(call) == "Please hold while I transfer your call. Leave a message."
        assert phone.find(call).transfers == [ANSWERPHONE]
        assert phone.find(call).far_end == ANSWERPHONE


def test_a_loop_of_transfers_is_dropped() -> None:
    with OfficePhone() as phone:
        call = phone.dial(LOOP)
        result = phone.act(call, "wait", seconds=600)
        assert (result["status"], result["outcome"]) == ("ended", "dropped")
        assert len(phone.find(call).transfers) == MAX_TRANSFERS
        [ended] = phone.events("call.ended")
        assert "transferred more than" in ended.reason


def test_two_lines_that_transfer_to_each_other_drop_the_call_and_other_calls_go_on() -> None:
    numbers = ("+15550100301", "+15550100302")
    loop = [
        {"number": number, "name": "Loop", "tree": build_transfer_tree(other)}
        for number, other in (numbers, numbers[::-1])
    ]
    with OfficePhone(lines=[*LINES, *loop]) as phone:
        looping, other = phone.dial(numbers[0]), phone.dial()
        assert phone.listen(other).endswith(MENU_PROMPT)
        phone.act(other, "press", digits="3")
        phone.act(looping, "wait", seconds=300)
        assert phone.find(looping).outcome == "dropped"
        assert phone.find(looping).transfers[:3] == [numbers[1], numbers[0], numbers[1]]
        assert phone.find(other).open_holds


def build_transfer_tree(number: str) -> dict[str, Any]:
    return {"name": "loop", "start": "pass_on", "nodes": {"pass_on": {"type": "transfer", "number": number}}}


def test_the_line_ends_a_call_and_it_refuses_everything_then() -> None:
    with OfficePhone() as phone:
        call = phone.reach_menu()
        phone.act(call, "press", digits="2")
        result = phone.act(call, "hear")
        assert (result["status"], result["outcome"], result["ended_by"]) == ("ended", "completed", "far_end")
        for verb, fields in (
            ("say", {"text": "Hello"}),
            ("press", {"digits": "1"}),
            ("hold", {}),
            ("resume", {}),
            ("hang-up", {}),
            ("answer", {}),
            ("reject", {}),
        ):
            assert phone.refusal(call, verb, **fields) == "call_ended"
        assert phone.hear(call) == []


def test_a_call_is_dropped_when_it_is_too_long() -> None:
    with OfficePhone(max_call_length="2m") as phone:
        call = phone.reach_menu()
        phone.act(call, "press", digits="3")
        result = phone.act(call, "wait", seconds=600)
        assert result["outcome"] == "dropped"
        record = phone.find(call)
        assert record.answered_at is not None
        assert record.ended_at is not None
        assert (record.ended_at - record.answered_at).total_seconds() == 120


def test_too_many_calls_are_refused_and_logged() -> None:
    with OfficePhone(max_open_calls=2, max_calls=3) as phone:
        calls = [phone.dial(), phone.dial()]
        assert phone.post("/calls", to=MENU)["error"]["code"] == "too_many_calls"
        phone.act(calls[0], "hang-up")
        phone.act(phone.dial(), "hang-up")
        assert phone.post("/calls", to=MENU)["error"]["code"] == "too_many_calls"
        assert [event.code for event in phone.events("call.refused")] == ["too_many_calls"] * 2


@pytest.mark.parametrize(
    ("verb", "fields", "code"),
    [
        ("say", {"text": "x" * 5_001}, "too_long"),
        ("say", {"text": "a\x00b"}, "bad_text"),
        ("say", {"text": "\x1b[31m"}, "bad_text"),
        ("say", {"text": " ... "}, "bad_text"),
        ("press", {"digits": ""}, "bad_digits"),
        ("press", {"digits": "A"}, "bad_digits"),
        ("press", {"digits": "1" * 61}, "bad_digits"),
        ("press", {"digits": "١"}, "bad_digits"),
        ("hear", {"seconds": 0}, "invalid_input"),
        ("wait", {"seconds": 1e9}, "invalid_input"),
    ],
)
def test_bad_input_is_refused_and_changes_nothing(verb: str, fields: dict[str, object], code: str) -> None:
    with OfficePhone() as phone:
        call = phone.reach_menu()
        before = phone.state.dump()
        assert phone.refusal(call, verb, **fields) == code
        assert phone.state.dump() == before


@pytest.mark.parametrize("fields", [{"to": "12"}, {"to": "call me"}, {"to": MENU, "from": MENU}, {"to": ""}])
def test_a_bad_number_is_refused(fields: dict[str, str]) -> None:
    with OfficePhone() as phone:
        assert phone.post("/calls", **fields)["error"]["code"] == "bad_number"
        assert phone.state.calls.by_id == {}


def test_the_agent_is_not_told_nodes_or_choices() -> None:
    with OfficePhone() as phone:
        call = phone.reach_menu()
        text = str(phone.get(f"/calls/{call}")) + str(phone.get("/calls"))
        for word in ("office/", "node", "main", "welcome", "session", "choices"):
            assert word not in text


def run_scenario(phone: OfficePhone) -> None:
    first = phone.reach_menu()
    phone.act(first, "press", digits="3")
    second = phone.dial(ANSWERPHONE)
    phone.hear(second)
    phone.act(second, "say", text="Please call the clinic.")
    phone.act(first, "hold")
    phone.act(second, "hear", seconds=3)
    phone.dial(BUSY)
    phone.act(first, "wait", seconds=100)


def test_a_pressed_key_is_listed_before_the_words_that_it_leads_to() -> None:
    with OfficePhone() as phone:
        call = phone.dial()
        phone.hear(call)
        phone.act(call, "press", digits="2")
        phone.hear(call)
        turns = phone.get(f"/calls/{call}")["turns"]
        assert [turn.get("pressed") for turn in turns] == [None, None, "2", None]
        assert turns[2]["start"] == turns[3]["start"]


def test_the_same_seed_gives_the_same_bytes() -> None:
    logs = []
    for _ in range(2):
        with OfficePhone() as phone:
            run_scenario(phone)
            logs.append(phone.rig.lines)
    assert logs[0] == logs[1]


def test_the_log_rebuilds_the_calls() -> None:
    with OfficePhone() as phone, OfficePhone() as other:
        run_scenario(phone)
        for event in phone.rig.playground.log.events:
            if event.source == phone.rig.name:
                other.state.apply(event)
        assert other.state.dump() == phone.state.dump()
        assert other.state.next_due() == phone.state.next_due()


def test_a_sound_in_the_moment_of_listening_is_heard_later() -> None:
    with OfficePhone() as phone:
        call = phone.dial(ANSWERPHONE)
        phone.wait(30)
        _, action = phone.rig.playground.state(VoiceState, None)
        action.emit(CallHeard(call=call))
        action.emit(MusicStarted(call=call, music="hold music"))
        assert [part["sound"] for part in phone.act(call, "wait", seconds=1)["heard"]] == ["hold music"]
        assert phone.act(call, "wait", seconds=1)["heard"] == []


def test_a_thousand_calls_are_open_at_once_and_each_is_answered() -> None:
    with OfficePhone() as phone, processor_limit():
        state, action = phone.rig.playground.state(VoiceState, None)
        calls = [state.dial(action, MENU) for _ in range(1_000)]
        phone.wait(15)
        assert {call.status for call in calls} == {"connected"}
        assert {call.path[-1].name for call in calls} == {"office/main"}
        assert phone.listen(calls[-1].id).endswith(MENU_PROMPT)


def test_an_agent_that_never_speaks_is_hung_up_on() -> None:
    with OfficePhone() as phone:
        result = phone.act(phone.dial(), "wait", seconds=600)
        assert (result["status"], result["ended_by"]) == ("ended", "far_end")
        assert phone.find("call-1").reprompts == 3


def test_words_begun_in_a_queue_are_not_heard_by_the_representative_who_answers() -> None:
    queue = {"type": "queue", "wait": "20s", "next": "desk", "choices": [{"speech": ["callback"], "next": "claims"}]}
    nodes = TREE["nodes"] | {"queue": queue, "desk": {"type": "transfer", "prompt": "", "representative": "rosa"}}
    line = {"number": MENU, "name": "Office", "tree": TREE | {"nodes": nodes}}
    with OfficePhone(lines=[line | {"representatives": {"rosa": "receptionist"}}]) as phone:
        call = phone.reach_menu()
        phone.act(call, "press", digits="3")
        phone.act(call, "wait", seconds=16)
        phone.act(call, "say", text="Hello, what are your opening hours and your address, and what is your fax number?")
        assert phone.listen(call, seconds=30) == "Front desk, this is Rosa. How can I help you?"


def test_calls_are_read_from_a_log_with_events_of_voicemails_among_them() -> None:
    with OfficePhone() as phone:
        call = phone.dial(ANSWERPHONE)
        phone.act(call, "hear")
        phone.act(call, "say", text="Please call us back.")
        phone.act(call, "hang-up")
        kinds: tuple[type[Payload], ...] = (*CALL_EVENTS, VoicemailLeft)
        events = [event for event in phone.rig.playground.log.events if isinstance(event.payload, kinds)]
        assert VoicemailLeft in {type(event.payload) for event in events}
        [(_, read)] = read_calls(events).items()
        assert [turn.text for turn in read.turns] == [turn.text for turn in phone.find(call).turns]


@pytest.mark.parametrize(
    ("number", "code", "service"),
    [
        ("911", "emergency_number", "emergency services"),
        ("9-1-1", "emergency_number", "emergency services"),
        ("988", "short_number", "the suicide and crisis lifeline"),
        ("411", "short_number", "directory assistance"),
    ],
)
def test_a_short_number_is_refused_and_the_event_says_what_it_is(number: str, code: str, service: str) -> None:
    with OfficePhone() as phone:
        error = phone.post("/calls", to=number)["error"]
        assert error["code"] == code
        assert f"{number} reaches {service}" in error["message"]
        [refused] = phone.events("call.refused")
        assert (refused.to_number, refused.code, refused.service) == (number, code, service)
        assert phone.events("call.started") == []


def test_a_speech_that_is_too_long_is_interrupted_and_the_rest_is_not_heard() -> None:
    with OfficePhone() as phone:
        call = phone.reach_menu()
        phone.act(call, "say", text="I have a long story to tell. " * 100 + "Billing.")
        assert phone.listen(call, 120).startswith("I'm sorry, I didn't understand that.")
        turn = next(each for each in phone.find(call).turns if each.speaker == "agent")
        assert turn.is_cut
        assert (turn.end - turn.start).total_seconds() == 60
        assert phone.path(call)[-1] == "office/main"


def test_the_length_of_a_speech_can_be_set_and_a_mailbox_records_it_all() -> None:
    speech = "Please call us back. " * 20
    with OfficePhone(max_speech="10s") as phone:
        call = phone.dial(ANSWERPHONE)
        phone.listen(call)
        phone.act(call, "say", text=speech)
        phone.act(call, "hang-up")
        [turn] = [each for each in phone.find(call).turns if each.speaker == "agent"]
        assert not turn.is_cut


def test_hear_reports_that_a_call_rang_and_was_answered_once() -> None:
    with OfficePhone() as phone:
        call = phone.post("/calls", to=MENU)
        assert call["status"] == "ringing"
        first = phone.act(call["id"], "hear")
        assert [each["status"] for each in first["progress"]] == ["ringing", "answered"]
        assert first["progress"][1]["at"] == first["heard"][0]["start"]
        assert "progress" not in phone.act(call["id"], "hear", seconds=1)
