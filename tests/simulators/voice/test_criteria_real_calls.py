"""Criteria on calls that were really made."""

from typing import Any

from clerkship.assertions.sequencing import Sequencing
from clerkship.events.evidence import Evidence
from clerkship.model.task import Task
from clerkship.sandbox.assertion import Assertion
from clerkship.simulators.voice.assertions.voice_call import VoiceCallHappened
from clerkship.simulators.voice.assertions.voice_path import VoicePath
from clerkship.simulators.voice.assertions.voice_transcript import VoiceTranscript
from clerkship.simulators.voice.assertions.voicemail_left import VoicemailWasLeft
from clerkship.simulators.voice.call_log import list_calls
from clerkship.simulators.voice.metrics import measure_call
from tests.simulators.voice.office_phone import ANSWERPHONE, MENU, OfficePhone

CALLER = "+15550100001"


def collect(phone: OfficePhone) -> Evidence:
    """Return the evidence of what happened so far."""
    playground = phone.rig.playground
    states = {name: sandbox.state for name, sandbox in playground.sandboxes.items()}
    return Evidence(Task(name="A task"), playground.log.ordered(), states, "agent_done")


def is_met(assertion: type[Assertion], phone: OfficePhone, arguments: Any) -> bool:
    """Return whether a criterion passes on what happened so far."""
    return assertion.model_validate(arguments).check(collect(phone)).passed


def pay_account(phone: OfficePhone) -> str:
    """Ask for an account by key, after a wrong entry; return the call."""
    call = phone.reach_menu()
    phone.act(call, "press", digits="1")
    phone.hear(call)
    phone.act(call, "press", digits="12#")
    phone.hear(call)
    phone.act(call, "say", text="four four seven one")
    phone.hear(call)
    return call


def test_real_calls_pass_and_fail_criteria() -> None:
    with OfficePhone() as phone:
        call = pay_account(phone)
        phone.act(call, "hang-up")
        assert is_met(VoicePath, phone, {"number": MENU, "nodes": ["welcome", "main", "billing", "account"]})
        assert not is_met(VoicePath, phone, {"nodes": ["welcome"], "never": ["office/billing"]})
        assert is_met(VoiceTranscript, phone, {"speaker": "agent", "contains": "4471"})
        assert is_met(VoiceTranscript, phone, {"speaker": "line", "contains": "Account 4471 is paid"})
        assert not is_met(VoiceTranscript, phone, {"speaker": "agent", "contains": "12"})
        assert is_met(VoiceCallHappened, phone, {"number": MENU, "outcome": "completed", "ended_by": "agent"})
        assert is_met(VoiceCallHappened, phone, {"number": MENU, "max_reprompts": 1, "max_hold": 0, "count": 1})
        assert not is_met(VoiceCallHappened, phone, {"number": MENU, "max_reprompts": 0})


def test_giving_up_on_hold_is_seen() -> None:
    with OfficePhone() as phone:
        call = phone.reach_menu()
        phone.act(call, "press", digits="3")
        phone.act(call, "wait", seconds=300)
        phone.act(call, "hang-up")
        assert is_met(VoiceCallHappened, phone, {"outcome": "abandoned", "min_hold": "4m50s", "max_hold": "5m10s"})


def test_voicemail_is_what_was_said_after_the_beep() -> None:
    with OfficePhone() as phone:
        call = phone.dial(ANSWERPHONE)
        phone.hear(call)
        phone.act(
            call, "say", text="This is the clinic. Please call five five five, zero one zero, zero one zero zero."
        )
        phone.act(call, "wait", seconds=20)
        phone.act(call, "hang-up")
        wanted = {"mailbox": "night", "number": ANSWERPHONE, "contains": "the clinic", "callback": "+15550100100"}
        assert is_met(VoicemailWasLeft, phone, {**wanted, "after_beep": True, "not_contains": "diagnosis"})
        early = phone.dial(ANSWERPHONE)
        phone.act(early, "hear", seconds=4.1)
        phone.act(early, "say", text="It is about the diagnosis.")
        phone.act(early, "hang-up")
        assert not is_met(VoicemailWasLeft, phone, {"contains": "diagnosis"})


def test_sequence_of_phone_events_is_checked_by_node() -> None:
    with OfficePhone() as phone:
        call = pay_account(phone)
        phone.act(call, "hang-up")
        steps = [
            {"event": "voice.call.started", "where": {"to_number": MENU}, "actor": "agent"},
            {"event": "voice.node.entered", "where": {"node": "billing"}},
            {"event": "voice.value.collected", "where": {"name": "account", "value": "4471"}, "within": "2m"},
            {"event": "voice.call.ended", "where": {"outcome": "completed", "by": "agent"}},
        ]
        assert is_met(Sequencing, phone, steps)
        assert not is_met(Sequencing, phone, [*steps[:1], steps[2], steps[1]])
        assert not is_met(Sequencing, phone, [{"event": "voice.node.entered", "where": {"node": "claims"}}])


def test_words_of_a_line_that_answers_keys_at_once_are_not_utterances_of_the_agent() -> None:
    with OfficePhone() as phone:
        call = pay_account(phone)
        phone.act(call, "say", text="Thank you.")
        evidence = collect(phone)
        spoken = [event.payload for event in evidence.of_kind("voice.far_end.spoke") if event.actor == "agent"]
        assert spoken  # the agent's request was what made the line speak
        said = [getattr(event.payload, "text", "") for event in evidence.utterances_by("agent")]
        assert said == ["four four seven one", "Thank you."]


def test_node_that_no_tree_has_fails_a_criterion_and_the_nearest_name_is_given() -> None:
    with OfficePhone() as phone:
        phone.reach_menu()
        assert is_met(VoicePath, phone, {"never": ["pass_on"]})
        result = VoicePath(never=("pass_om",)).check(collect(phone))
        assert not result.passed
        assert result.detail.startswith("no phone tree of the environment has a node `pass_om`; did you mean `pass_on`")
        assert "phone tree `other`" in VoicePath(tree="other", never=("pass_on",)).check(collect(phone)).detail


def test_dead_air_of_a_reply_in_two_parts_is_that_of_the_state() -> None:
    with OfficePhone() as phone:
        playground, conversation = phone.rig.playground, phone.state.conversation("phone", CALLER)
        conversation.start(playground.context_for(phone.rig.name, "person"), "Ana")
        conversation.connect(playground.context_for(phone.rig.name, "person"))
        for part in ("Your visit is on Friday at nine in the morning.", "Please come ten minutes before that."):
            conversation.say(playground.context_for(phone.rig.name, "agent"), part)
        phone.wait(20)
        (call,) = phone.state.calls.by_id.values()
        phone.act(call.id, "hang-up")
        first, second = call.turns
        assert first.end == second.start
        (read,) = list_calls(collect(phone))
        assert measure_call(read).dead_air == measure_call(call).dead_air
        assert [turn.listener for turn in read.turns] == ["person", "person"]
