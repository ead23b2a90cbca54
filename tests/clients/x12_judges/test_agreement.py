"""The project and the judges agree on broken messages, but for the listed disagreements."""

from typing import get_args

import pytest

from tests.clients.x12_judges.disagreements import DISAGREEMENTS, RefusedBy
from tests.clients.x12_judges.every_change import changed_messages
from tests.clients.x12_judges.judges import JudgeName
from tests.clients.x12_judges.mutations import broken_messages
from tests.clients.x12_judges.ours import find_our_errors
from tests.clients.x12_judges.scope import find_judged

# Every change of a 278 would be judged in its translation to 4010, which has other required elements.
EVERY_CHANGE: dict[JudgeName, tuple[str, ...]] = {
    "linuxforhealth-x12": ("270", "270 for a dependent", "271", "271 that rejects the provider", "276", "277"),
    "pyx12": ("999", "999 that rejects"),
    "node-x12": (),
}


def find_disagreements(judge: JudgeName) -> dict[tuple[str, str], RefusedBy]:
    """Return the broken messages that only one side refuses."""
    messages = {key: text for key, text in broken_messages().items() if key[0] != "TA1"}
    messages |= {
        (name, change): text for name in EVERY_CHANGE[judge] for change, text in changed_messages(name).items()
    }
    verdicts = find_judged(judge, messages)
    assert len(verdicts) > 10
    found: dict[tuple[str, str], RefusedBy] = {}
    for key, errors in verdicts.items():
        ours = find_our_errors(messages[key])
        if bool(ours) != bool(errors):
            found[key] = "clerkship" if ours else "judge"
    return found


@pytest.mark.parametrize("judge", get_args(JudgeName))
def test_only_listed_messages_are_judged_differently(judge: JudgeName) -> None:
    listed = {
        (name, change): each.refused_by
        for each in DISAGREEMENTS
        if each.judge == judge
        for name, changes in each.cases.items()
        for change in changes
    }
    assert find_disagreements(judge) == listed


def test_clerkship_refuses_every_flaw() -> None:
    accepted = [key for key, text in broken_messages().items() if key[0] != "TA1" and not find_our_errors(text)]
    listed = [
        (name, flaw)
        for each in DISAGREEMENTS
        if each.refused_by == "judge"
        for name in each.cases
        for flaw in each.cases[name]
    ]
    assert [key for key in accepted if key not in listed] == []


def test_each_disagreement_is_listed_once() -> None:
    cases = [(each.judge, name, change) for each in DISAGREEMENTS for name in each.cases for change in each.cases[name]]
    assert len(cases) == len(set(cases))


def test_broken_ta1_is_refused_by_pyx12() -> None:
    messages = {key: text for key, text in broken_messages().items() if key[0] == "TA1"}
    accepted = [flaw for (_, flaw), errors in find_judged("pyx12", messages).items() if not errors]
    assert len(messages) > 4
    assert accepted == []
