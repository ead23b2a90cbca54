"""What a judge cites must be there: else it is told what is not, asked again, and at last not believed."""

from typing import Any

import pytest

from clerkship.assertions.citation import Citation, Found, Reading
from clerkship.assertions.judged import AGAIN, Judged
from clerkship.events.agent import ActionExecuted, FlowStarted, ToolExecuted
from clerkship.events.evidence import Evidence
from clerkship.llm.contract import BadAnswer
from tests.assertions.judge import FakeJudge, SeveralMinds
from tests.assertions.story import Story


def story() -> Evidence:
    """Two turns: #1 and #6 are said by the person, #5 and #7 by the agent."""
    told = Story()
    told.said("Where is my “order”?", actor="person")
    for _ in range(3):
        told.tell(ActionExecuted(name="action_retry", arguments={"n": 1}))
    told.said('It\'s late …\nbecause of   the snow, she said: "wait".', buttons=({"title": "Track it"},))
    told.said("Why?", actor="person")
    told.said("Snow.")
    told.tell(ToolExecuted(tool_name="lookup", result={"eta": "Friday"}))
    return told.evidence()


def verdict(*cites: tuple[str, str], passed: bool = True) -> dict[str, Any]:
    """As a judge answers."""
    citations = [{"where": where, "quote": quote} for where, quote in cites]
    return {"reasoning": "So it is.", "citations": citations, "passed": passed}


@pytest.mark.parametrize(
    ("where", "quote", "seq"),
    [
        ("T1", "because of the snow", 5),
        ("[T1]", "It’s late ...\nbecause", 5),
        ("t1", "…because of\tthe snow, she said: “wait”…", 5),
        ("T1", '"Where is my "order"?"', 1),
        ("T1", "Track it", 5),
        ("T1", "late …\\nbecause", 5),
        ("T2", "Snow.", 7),
        ("#2", "action_retry(n=1)", 2),
        ("#3", "action: action_retry", 3),
        ("#8", '{"eta": "Friday"}', 8),
        (" #8 ", "lookup", 8),
    ],
)
def test_what_stands_there_is_found_however_it_is_spaced_and_marked(where: str, quote: str, seq: int) -> None:
    found = Reading(story()).find(Citation(where=where, quote=quote))
    assert isinstance(found, Found), found
    row = found.row()
    assert (row.seq, row.passed, row.path) == (seq, True, where.strip(" []").upper())


@pytest.mark.parametrize(
    ("where", "quote", "told"),
    [
        ("T2", "because of the snow", '"because of the snow" does not stand in T2'),
        ("T1", "Because of the snow", "does not stand in T1"),
        ("T1", "late because of snow", "does not stand in T1"),
        ("T1", "late ... snow", "does not stand in T1"),
        ("T3", "Snow.", "there is no turn T3 in the transcript"),
        ("T0", "Snow.", "there is no turn T0 in the transcript"),
        ("#1", "Where is my", "there is no event #1 in the ledger"),
        ("#99", "lookup", "there is no event #99 in the ledger"),
        ("#8", "Saturday", '"Saturday" does not stand in #8'),
        ("turn 1", "Snow.", '"turn 1" is neither a turn, such as T2, nor an event, such as #12'),
        ("", "Snow.", "is neither a turn"),
        ("T1", " … ", "the quote from T1 has no words in it"),
        ("T1", '"."', "the quote from T1 has no words in it"),
    ],
)
def test_what_does_not_stand_there_is_said_to_not(where: str, quote: str, told: str) -> None:
    found = Reading(story()).find(Citation(where=where, quote=quote))
    assert isinstance(found, str)
    assert told in found


def test_a_judge_that_invents_is_told_what_and_asked_again() -> None:
    judge = SeveralMinds(
        once=[verdict(("T1", "I am sorry"), ("T9", "Snow.")), verdict(("T2", "Snow."), ("#8", "Friday"))]
    )
    evidence = story()
    check = Judged(statement="It says why").check(_asked(evidence, judge))
    assert check.passed
    assert [(row.path, row.seq) for row in check.evidence[:-1]] == [("T2", 7), ("#8", 8)]
    first, second = judge.asked
    assert [line.role for line in second.talk] == ["user", "assistant"]
    assert second.talk[0].text == first.prompt
    assert '"quote":"I am sorry"' in second.talk[1].text
    assert '"I am sorry" does not stand in T1' in second.prompt
    assert "there is no turn T9 in the transcript" in second.prompt
    assert (second.orders, second.shape, second.about) == (first.orders, first.shape, "criterion")


@pytest.mark.parametrize("passed", [True, False])
def test_one_that_goes_on_inventing_gives_no_verdict(passed: bool) -> None:
    judge = FakeJudge(verdict(("T1", "I am sorry"), passed=passed))
    with pytest.raises(BadAnswer, match=r'^the judge cites what was never said: "I am sorry" does not stand in T1$'):
        Judged(statement="It says why").check(_asked(story(), judge))
    assert len(judge.asked) == AGAIN + 1
    assert [len(question.talk) for question in judge.asked] == [0, 2, 4]


def test_a_pass_without_a_citation_is_asked_again_and_a_fail_is_not() -> None:
    judge = SeveralMinds(once=[verdict(), verdict(("T2", "Snow."))])
    assert Judged(statement="It says why").check(_asked(story(), judge)).passed
    assert "it is said to be met, and no citation says where" in judge.asked[1].prompt
    stubborn = FakeJudge(verdict())
    with pytest.raises(BadAnswer, match="the judge passes it, and cites nothing that says so"):
        Judged(statement="It says why").check(_asked(story(), stubborn))
    strict = FakeJudge(verdict(passed=False))
    check = Judged(statement="It says why").check(_asked(story(), strict))
    assert (check.passed, len(strict.asked), len(check.evidence)) == (False, 1, 1)


def test_a_second_thought_counts() -> None:
    judge = SeveralMinds(once=[verdict(("T1", "I am sorry")), verdict(passed=False)])
    assert not Judged(statement="It says why").check(_asked(story(), judge)).passed


def test_written_answers_may_leave_citations_out_and_may_not_invent_any() -> None:
    assert Judged(statement="x").check(_asked(story(), SeveralMinds("scripted:a.yml", once=[verdict()]))).passed
    judge = SeveralMinds("scripted:a.yml", once=[verdict(("T1", "I am sorry"))])
    with pytest.raises(BadAnswer, match="cites what was never said"):
        Judged(statement="x").check(_asked(story(), judge))
    assert len(judge.asked) == 1


def test_where_there_is_nothing_to_point_at_nothing_need_be_pointed_at() -> None:
    told = Story()
    told.tell(FlowStarted(flow_id="pattern_hidden"))
    judge = FakeJudge(verdict())
    assert Judged(statement="x").check(_asked(told.evidence(), judge)).passed


def test_the_same_citation_twice_is_one_row() -> None:
    judge = FakeJudge(verdict(("T2", "Snow."), ("T2", "“Snow.”"), ("T2", "Snow")))
    check = Judged(statement="x").check(_asked(story(), judge))
    assert [row.expected for row in check.evidence[:-1]] == [{"contains": "Snow."}, {"contains": "Snow"}]


def _asked(evidence: Evidence, judge: Any) -> Evidence:
    return Evidence(evidence.task, evidence.events, {}, evidence.ending, model=judge)
