"""Judges accept every answer that is written: 271, 277 and 278 of every kind."""

from collections.abc import Callable, Iterator

import pytest

from tests.clients.x12_judges.answers import written_271, written_277, written_277_of_dataset, written_278
from tests.clients.x12_judges.disputes import DISPUTES, Dispute, settle_all
from tests.clients.x12_judges.judges import JUDGES, JudgeName, node_x12_errors
from tests.clients.x12_judges.ours import find_our_errors
from tests.clients.x12_judges.scope import to_judge

Written = Callable[[], Iterator[tuple[str, str]]]
WRITTEN: dict[Written, JudgeName] = {
    written_271: "linuxforhealth-x12",
    written_277: "linuxforhealth-x12",
    written_278: "pyx12",
}


@pytest.mark.parametrize("written", [written_271, written_277, written_278])
def test_written_answers_are_valid(written: Written) -> None:
    found = {name: errors for name, text in written() if (errors := find_our_errors(text))}
    assert found == {}


@pytest.mark.parametrize(("written", "judge"), WRITTEN.items())
def test_judge_accepts_written_answers_but_for_disputes(written: Written, judge: JudgeName) -> None:
    settled = {name: to_judge(judge, name, settle_all(judge, text)) for name, text in written()}
    verdicts = dict(zip(settled, JUDGES[judge](list(settled.values())), strict=True))
    assert len(verdicts) > 20
    assert {name: errors for name, errors in verdicts.items() if errors} == {}


@pytest.mark.slow
def test_judge_accepts_the_status_of_every_claim_of_the_dataset() -> None:
    answers = [settle_all("linuxforhealth-x12", text) for text in written_277_of_dataset()]
    assert sum(text.count("~SVC*HC:") for text in answers) > 100
    assert [errors for errors in JUDGES["linuxforhealth-x12"](answers) if errors] == []


def test_node_x12_accepts_written_answers() -> None:
    texts = [text for written in WRITTEN for _, text in written()]
    assert [errors for errors in node_x12_errors(texts) if errors] == []


@pytest.mark.parametrize("dispute", DISPUTES, ids=lambda dispute: dispute.reason[:40])
def test_judge_still_refuses_what_is_disputed(dispute: Dispute) -> None:
    written = [pair for each, judge in WRITTEN.items() if judge == dispute.judge for pair in each()]
    disputed = [
        to_judge(dispute.judge, name, text)
        for name, text in written
        if dispute.settle(text) != text and settle_others(dispute, text) == text
    ]
    assert disputed
    assert all(JUDGES[dispute.judge](disputed))


def settle_others(dispute: Dispute, text: str) -> str:
    """Return a message with everything settled but one dispute."""
    for other in DISPUTES:
        if other.judge == dispute.judge and other is not dispute:
            text = other.settle(text)
    return text
