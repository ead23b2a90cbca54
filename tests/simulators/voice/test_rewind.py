"""A run that is rebuilt from its log in any phase of a call goes on as the original does, byte for byte."""

from collections.abc import Callable

import pytest

from tests.simulators.voice.office_phone import ANSWERPHONE, LOOP, MENU, OfficePhone

PHASES: dict[str, Callable[[OfficePhone], str]] = {
    "ringing": lambda phone: phone.dial(),
    "prompt": lambda phone: reach(phone, MENU, ("hear", 5)),
    "menu": lambda phone: phone.reach_menu(),
    "data entry": lambda phone: reach(phone, MENU, ("hear", 60), ("press", "1"), ("press", "12")),
    "speech": lambda phone: reach(phone, MENU, ("hear", 60), ("say", "I would like to talk about billing")),
    "queue": lambda phone: reach(phone, MENU, ("hear", 60), ("press", "3"), ("wait", 130)),
    "transfer": lambda phone: reach(phone, MENU, ("hear", 60), ("press", "4"), ("wait", 5)),
    "transfer loop": lambda phone: reach(phone, LOOP, ("wait", 20)),
    "after the beep": lambda phone: reach(phone, ANSWERPHONE, ("hear", 60), ("say", "Please call us back")),
}
FIELDS = {"hear": "seconds", "wait": "seconds", "press": "digits", "say": "text"}


def reach(phone: OfficePhone, number: str, *acts: tuple[str, str | float]) -> str:
    """Dial a number, and do some things in the call."""
    call = phone.dial(number)
    for verb, value in acts:
        phone.act(call, verb, **{FIELDS[verb]: value})
    return call


def go_on(phone: OfficePhone, call: str) -> None:
    phone.wait(3)
    phone.act(call, "press", digits="34#")
    phone.act(call, "hold")
    phone.act(call, "resume")
    phone.act(call, "hear", seconds=400)
    phone.act(call, "say", text="claims")
    phone.wait(1200)


@pytest.mark.parametrize("phase", PHASES)
def test_fork_in_any_phase_of_a_call_continues_as_the_original(phase: str) -> None:
    with OfficePhone() as phone:
        call = PHASES[phase](phone)
        assert phone.find(call).status != "ended"
        fork = OfficePhone.__new__(OfficePhone)
        fork.rig = phone.rig.fork()
        with fork:
            assert fork.rig.dumped() == phone.rig.dumped()
            assert fork.state.next_due() == phone.state.next_due()
            for each in (phone, fork):
                go_on(each, call)
            assert fork.rig.lines == phone.rig.lines
            assert phone.rig.rebuilt() == phone.rig.dumped()
            assert phone.find(call).status == "ended"
