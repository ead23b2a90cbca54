"""Judges accept what a clearinghouse sends: answers, acknowledgments, and the files of a batch."""

from typing import get_args

import pytest

from tests.clients.x12_judges.disputes import settle_all
from tests.clients.x12_judges.judges import JudgeName
from tests.clients.x12_judges.scope import find_judged
from tests.simulators.x12.clearinghouse import (
    CLAIM,
    Clearinghouse,
    authorization,
    claim_status,
    eligibility,
    group,
    interchange,
    one,
)
from tests.simulators.x12.test_batch import Exchange

SENT = {
    "271 of a member": one("270", eligibility(), 101),
    "271 of an unknown member": one("270", eligibility(member="NW99999"), 102),
    "271 of an unknown payer": one("270", eligibility(payer="NW999"), 103),
    "271 of several members": interchange(group("270", eligibility("A"), eligibility("B")), number=104),
    "277 of a claim": one("276", claim_status(), 105),
    "278 of an authorization": one("278", authorization(), 106),
    "278 of a duplicate": one("278", authorization("PA2E"), 107),
    "999 of a set without a question": one("270", eligibility()[:-1], 108),
    "999 of a set that is not supported": one("837", CLAIM, 109),
    "999 of a group with wrong numbers": one("270", eligibility(), 110).replace("GE*1*1~", "GE*1*2~"),
    "TA1 of a used number": one("270", eligibility(), 101),
    "TA1 of a wrong receiver": one("270", eligibility(), 111, receiver="ZZ*ELSEWHERE"),
    "TA1 of a short number": one("270", eligibility(), 115).replace("000000115*0*T", "00000115*0*T"),
    "TA1 of a wrong count": one("270", eligibility(), 112).replace("IEA*1", "IEA*2"),
    "TA1 of another version": one("270", eligibility(), 113, version="00401"),
}


@pytest.fixture(scope="module")
def replies() -> dict[tuple[str, str], str]:
    """The replies of a clearinghouse, in order."""
    with Clearinghouse() as clearinghouse:
        return {(name, ""): clearinghouse.post(edi).body.decode() for name, edi in SENT.items()}


def test_each_reply_is_of_the_expected_kind(replies: dict[tuple[str, str], str]) -> None:
    kinds = {name: "TA1" if "~TA1*" in text else text.split("~ST*")[1][:3] for (name, _), text in replies.items()}
    assert kinds == {name: name[:3] for name in SENT}


@pytest.mark.parametrize("judge", get_args(JudgeName))
def test_judge_accepts_replies_but_for_disputes(judge: JudgeName, replies: dict[tuple[str, str], str]) -> None:
    verdicts = find_judged(judge, {key: settle_all(judge, text) for key, text in replies.items()})
    assert len(verdicts) >= 4
    assert {name: errors for name, errors in verdicts.items() if errors} == {}


def test_judges_accept_files_of_a_batch() -> None:
    exchange = Exchange()
    exchange.write("outbound/a.edi", interchange(group("270", eligibility("A"), eligibility("B"), eligibility()[:-1])))
    exchange.advance(30)
    acknowledgments, answers = (exchange.drop.read(path).decode() for path in sorted(exchange.inbound()))
    assert ("~AK9*P*3*3*2~" in acknowledgments, answers.count("~ST*271*")) == (True, 2)
    files = {("999", ""): acknowledgments, ("271", ""): answers}
    for judge in get_args(JudgeName):
        verdicts = find_judged(judge, {key: settle_all(judge, text) for key, text in files.items()})
        assert verdicts
        assert [errors for errors in verdicts.values() if errors] == []
