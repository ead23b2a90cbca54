"""The judges themselves: they accept the valid messages from which broken ones are made."""

import pytest

from tests.clients.x12_judges.judges import JudgeName
from tests.clients.x12_judges.messages import BODIES, acknowledgment, interchange, valid_message
from tests.clients.x12_judges.scope import find_judged

# What linuxforhealth-x12 wrongly refuses; tests/clients/x12_judges/disagreements.py has the reasons.
DISPUTED = ("271 with a visit limit", "271 that rejects the subscriber")


@pytest.mark.parametrize("judge", ["linuxforhealth-x12", "pyx12", "node-x12"])
def test_judge_accepts_valid_messages(judge: JudgeName) -> None:
    messages = {(name, ""): interchange(valid_message(name)) for name in BODIES if name not in DISPUTED}
    messages["TA1", ""] = interchange(acknowledgment())
    verdicts = find_judged(judge, messages)
    assert verdicts
    assert {name: errors for name, errors in verdicts.items() if errors} == {}
