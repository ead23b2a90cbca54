"""Faults of a telephone: busy lines, broken connections, wrong transfers, long holds, misheard digits."""

from datetime import timedelta
from typing import Any

import pytest

from clerkship.actors.contract import History, Message, Say
from clerkship.events.lifecycle import FaultInjected
from clerkship.simulators.voice.faults import FAULT_STEPS, VOICE_FAULTS
from tests.service.forks import fork
from tests.simulators.voice.office_phone import ANSWERPHONE, BUSY, GONE, MENU, SILENT, OfficePhone
from tests.workbench import Workbench

STEPS = {step.name: step for step in FAULT_STEPS}


def inject(phone: OfficePhone, name: str, **fields: Any) -> None:
    phone.rig.playground.steps.run(STEPS[name].model_validate(fields))
    assert phone.rig.playground.steps.errors == []


def list_injected(phone: OfficePhone) -> list[FaultInjected]:
    return [event.payload for event in phone.rig.playground.log.events if isinstance(event.payload, FaultInjected)]


def assert_replayable(phone: OfficePhone) -> None:
    assert phone.rig.rebuilt() == phone.rig.dumped()


def test_busy_line_ends_the_call_and_the_next_one_is_answered() -> None:
    with OfficePhone() as phone:
        inject(phone, "voice.busy", times=1)
        first = phone.dial()
        phone.hear(first)
        assert (phone.find(first).outcome, phone.find(first).answered_at) == ("busy", None)
        phone.reach_menu()
        [injected] = list_injected(phone)
        assert (injected.fault, injected.operation) == ("voice.busy", "voice.call.started")
        assert injected.details["call"] == first
        assert injected.details["meets"] == {"before": "answer", "after": "busy"}
        assert_replayable(phone)


def test_busy_fault_of_one_number_does_not_affect_others() -> None:
    with OfficePhone() as phone:
        inject(phone, "voice.busy", number=MENU)
        for number in (BUSY, GONE, SILENT):
            phone.dial(number)
        assert list_injected(phone) == []
        phone.dial(MENU)
        assert len(list_injected(phone)) == 1


def test_call_is_dropped_some_seconds_after_it_was_answered() -> None:
    with OfficePhone() as phone:
        inject(phone, "voice.drop", after="30s", times=1)
        call = phone.reach_menu()
        phone.wait(60)
        record = phone.find(call)
        assert (record.outcome, record.ended_by) == ("dropped", "system")
        assert record.answered_at is not None
        assert record.ended_at == record.answered_at + timedelta(seconds=30)
        assert phone.refusal(call, "press", digits="1") == "call_ended"
        assert phone.find(phone.reach_menu()).status == "connected"
        assert_replayable(phone)


def test_prompt_is_cut_when_the_call_is_dropped() -> None:
    with OfficePhone() as phone:
        inject(phone, "voice.drop", after="3s")
        call = phone.dial()
        assert phone.act(call, "hear")["status"] == "ended"
        assert phone.find(call).turns[-1].is_cut
        assert_replayable(phone)


def test_call_that_ends_before_is_not_dropped() -> None:
    with OfficePhone() as phone:
        inject(phone, "voice.drop", after="2m")
        call = phone.reach_menu()
        phone.act(call, "hang-up")
        phone.wait(300)
        assert phone.find(call).outcome == "completed"


def test_time_of_a_drop_varies_with_the_seed() -> None:
    def drop(seed: str) -> float:
        with OfficePhone(seed=seed) as phone:
            inject(phone, "voice.drop", after="1s", jitter="10s")
            phone.hear(phone.dial())
            seconds: float = phone.events("call.answered")[0].drops_after
            return seconds

    assert drop("one") == drop("one") != drop("two")
    assert 1 <= drop("one") <= 11


def test_transfer_goes_to_the_wrong_number_once() -> None:
    with OfficePhone() as phone:
        inject(phone, "voice.wrong_transfer", to=BUSY, times=1)
        call = phone.reach_menu()
        phone.act(call, "press", digits="4")
        phone.hear(call)
        record = phone.find(call)
        assert record.transfers == [BUSY]
        assert phone.events("call.transferred")[0].is_wrong
        assert phone.events("call.transferred")[0].meets == "busy"  # as a call to that number would
        [injected] = list_injected(phone)
        assert injected.details["far_end"] == {"before": ANSWERPHONE, "after": BUSY}
        again = phone.reach_menu()
        phone.act(again, "press", digits="4")
        phone.hear(again)
        assert phone.find(again).transfers == [ANSWERPHONE]
        assert_replayable(phone)


@pytest.mark.parametrize(("fields", "minutes"), [({"factor": 2}, 20), ({"wait": "25m"}, 25), ({"wait": "1m"}, 10)])
def test_wait_in_a_queue_is_longer(fields: dict[str, Any], minutes: int) -> None:
    with OfficePhone() as phone:
        inject(phone, "voice.long_hold", **fields)
        call = phone.reach_menu()
        phone.act(call, "press", digits="3")
        phone.wait(60 * 60)
        [hold] = phone.find(call).holds
        assert hold.end is not None
        assert abs((hold.end - hold.start) - timedelta(minutes=minutes)) < timedelta(seconds=1)
        assert phone.events("hold.started")[0].seconds == minutes * 60
        assert_replayable(phone)


@pytest.mark.parametrize(
    ("fields", "minutes"),
    [
        ({"number": MENU}, 20),
        ({"number": BUSY}, 10),
        ({"queue": "queue"}, 20),
        ({"queue": "office/queue"}, 20),
        ({"queue": "other/queue"}, 10),
        ({"queue": "claims"}, 10),
        ({"queue": "queue", "number": BUSY}, 10),
    ],
)
def test_a_long_hold_is_limited_to_a_number_and_a_queue(fields: dict[str, Any], minutes: int) -> None:
    with OfficePhone() as phone:
        inject(phone, "voice.long_hold", factor=2, **fields)
        call = phone.reach_menu()
        phone.act(call, "press", digits="3")
        phone.hear(call, 5)
        [hold] = phone.events("hold.started")
        assert (hold.seconds, hold.number, hold.node) == (minutes * 60, MENU, "office/queue")
        assert len(list_injected(phone)) == (minutes == 20)
        assert_replayable(phone)


def test_hold_of_the_agent_is_not_a_wait_in_a_queue() -> None:
    with OfficePhone() as phone:
        inject(phone, "voice.long_hold", factor=3)
        call = phone.reach_menu()
        phone.act(call, "hold")
        assert list_injected(phone) == []


def test_line_mishears_one_digit_and_the_caller_cannot_tell() -> None:
    with OfficePhone() as phone:
        inject(phone, "voice.mishear", min_digits=4, times=1)
        call = phone.reach_menu()
        phone.act(call, "press", digits="1")
        phone.hear(call)
        reply = phone.act(call, "press", digits="1234#")
        [menu, entry] = phone.events("digits.sent")
        assert (menu.digits, menu.understood) == ("1", "1")
        assert entry.digits == "1234#"
        assert entry.understood[-1] == "#"
        assert sum(one != other for one, other in zip(entry.digits, entry.understood, strict=True)) == 1
        assert entry.understood not in str(reply)
        assert f"Account {' '.join(entry.understood[:4])}" in phone.listen(call).replace(",", "")
        assert phone.find(call).keys[-1].digits == "1234#"
        assert_replayable(phone)


def say_account(phone: OfficePhone, text: str) -> str:
    """Say an account number where the line asks for it; return what the line says then."""
    call = phone.reach_menu()
    phone.act(call, "say", text="billing")
    phone.hear(call)
    phone.act(call, "say", text=text)
    return phone.listen(call)


@pytest.mark.parametrize("text", ["one two three four", "1234", "It is one, two, 3 4.", "One Two Three Oh"])
def test_line_mishears_one_spoken_digit_of_an_entry(text: str) -> None:
    with OfficePhone() as phone:
        inject(phone, "voice.mishear", min_digits=4, times=1)
        right = "1230" if "Oh" in text else "1234"
        heard = say_account(phone, text)
        [spoken] = phone.events("digits.spoken")
        assert spoken.text == text != spoken.understood
        [collected] = phone.events("value.collected")
        assert sum(one != other for one, other in zip(collected.value, right, strict=True)) == 1
        assert f"Account {', '.join(collected.value)} is paid." in heard
        assert phone.events("agent.spoke")[-1].text == text
        [injected] = list_injected(phone)
        assert injected.operation == "voice.digits.spoken"
        say_account(phone, text)
        assert phone.events("value.collected")[-1].value == right
        assert_replayable(phone)


def test_spoken_choices_and_words_without_digits_are_not_misheard() -> None:
    with OfficePhone() as phone:
        inject(phone, "voice.mishear")
        call = phone.reach_menu()
        phone.act(call, "say", text="one billing please")
        assert "Enter your account number" in phone.listen(call)
        phone.act(call, "say", text="I do not know it")
        phone.listen(call)
        assert (list_injected(phone), phone.events("digits.spoken")) == ([], [])


def test_misheard_speech_varies_with_the_seed() -> None:
    def mishear(seed: str) -> list[str]:
        with OfficePhone(seed=seed) as phone:
            inject(phone, "voice.mishear", probability=0.5)
            for _ in range(6):
                say_account(phone, "nine nine nine nine")
            return [each.value for each in phone.events("value.collected")]

    assert mishear("one") == mishear("one") != mishear("two")
    assert 0 < sum(each != "9999" for each in mishear("one")) < 6


def test_misheard_digits_vary_with_the_seed() -> None:
    def mishear(seed: str) -> list[str]:
        with OfficePhone(seed=seed) as phone:
            inject(phone, "voice.mishear", probability=0.5)
            call = phone.reach_menu()
            for _ in range(12):
                phone.act(call, "press", digits="99")
            return [each.understood for each in phone.events("digits.sent")]

    assert mishear("one") == mishear("one") != mishear("two")
    assert 0 < sum(each != "99" for each in mishear("one")) < 12


def test_long_hold_needs_a_factor_or_a_wait() -> None:
    for fields in ({}, {"factor": 2, "wait": "5m"}):
        with pytest.raises(ValueError, match="expected either `factor` or `wait`"):
            STEPS["voice.long_hold"].model_validate(fields)


def test_each_fault_is_a_step_of_the_phone_that_has_its_name() -> None:
    for fault in VOICE_FAULTS:
        step = STEPS[fault.name]
        assert (step.simulator, step.__doc__) == ("voice", fault.__doc__)
        assert "operation" not in step.model_fields


OFFICE = """
    environment: {name: desk, simulators: {chat: {kind: chat}, phone: {kind: voice}}}
    task:
      name: Keep notes
      scenario:
        starts: person
        steps:
          - voice.busy: {skip: 1, times: 1}
          - voice.mishear: {skip: 2, times: 2}
        person: {lines: [a, b, c, d]}
      criteria: [{label: said, assertion: {bot_uttered: {text_matches: "."}}}]
"""


class DialEachTurn:
    """Dials, presses a key if the call is answered, and says how the call went."""

    def on_history(self, history: History) -> None:
        """It needs to know nothing."""

    def on_turn(self, message: Message, sandboxes: Any) -> Say:
        phone = sandboxes["phone"]
        call = phone.dial("+15550100150")
        if phone.hear(call)["status"] == "connected":
            phone.press(call, "1")
            phone.hear(call)
            phone.press(call, "1")
            phone.hang_up(call)
        return Say(f"turn {message.turn}")


def test_fork_continues_to_count_the_events_that_a_fault_skips(bench: Workbench) -> None:
    bench.write("a.yml", OFFICE)
    first = bench.run_one(DialEachTurn)
    original = [(event["kind"], event["payload"]) for event in bench.events(first)]
    assert [payload["fault"] for kind, payload in original if kind == "fault.injected"] == [
        "voice.busy",
        "voice.mishear",
        "voice.mishear",
    ]
    outcomes = [payload["outcome"] for kind, payload in original if kind == "voice.call.ended"]
    assert outcomes == ["completed", "busy", "completed", "completed"]
    for turn in (2, 3, 4):
        forked = fork(bench, DialEachTurn, run=first.run, turn=turn)
        events = [(event["kind"], event["payload"]) for event in bench.events(forked) if event["kind"] != "run.forked"]
        counts = [[kind for kind, _ in each].count("fault.injected") for each in (events, original)]
        assert counts == [3, 3]
        ended = [payload["outcome"] for kind, payload in events if kind == "voice.call.ended"]
        assert ended == outcomes
