"""A representative connects the caller to another representative of the line."""

import pytest

from clerkship.simulators.voice.config import VoiceConfig
from tests.simulators.voice.office_phone import OfficePhone

DESK = "+15550100301"


def build_line(transfers_to: str) -> dict[str, object]:
    ask = {"asks": ["supervisor"], "says": "I will connect you.", "transfers_to": transfers_to}
    rita = {"name": "Rita", "greeting": "This is Rita.", "answers": [ask]}
    sam = {"name": "Sam", "greeting": "This is Sam.", "answers": [{"asks": ["hours"], "says": "Until five."}]}
    return {"number": DESK, "name": "Desk", "representatives": {"rita": rita, "supervisor": sam}}


def test_caller_is_connected_to_another_representative() -> None:
    with OfficePhone(lines=[build_line("supervisor")]) as phone:
        call = phone.dial(DESK)
        phone.hear(call)
        phone.act(call, "say", text="May I speak with a supervisor?")
        assert phone.listen(call) == "I will connect you. This is Sam."
        phone.act(call, "say", text="What are your hours?")
        assert phone.listen(call) == "Until five."
        assert phone.find(call).transfers == [f"{DESK}/supervisor"]
        assert phone.rig.rebuilt() == phone.rig.dumped()


@pytest.mark.parametrize(("name", "mistakes"), [("supervisor", 0), ("supervizor", 1)])
def test_transfer_to_a_representative_that_the_line_does_not_have_is_a_mistake(name: str, mistakes: int) -> None:
    config = VoiceConfig.model_validate({"lines": [build_line(name)]})
    found = list(config.find_mistakes(()))
    assert len(found) == mistakes
    for mistake in found:
        assert mistake.path == ("lines", 0, "representatives", "rita", "answers", 0, "transfers_to")
        assert mistake.message == "the line has no representative `supervizor`"
