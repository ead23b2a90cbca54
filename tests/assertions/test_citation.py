"""Citations of a judge: wrong ones are reported, asked for again, and finally an error."""

from typing import Any

import pytest

from clerkship.assertions.citation import Citation, CitationIndex, FoundCitation
from clerkship.assertions.judged import MAX_CITATION_RETRIES, JudgedAssertion
from clerkship.events.agent import ActionExecuted, FlowStarted, ToolExecuted
from clerkship.events.evidence import Evidence
from clerkship.llm.contract import BadAnswer
from tests.assertions.judge import FakeJudge, SampledJudge
from tests.assertions.log_builder import LogBuilder


def build_log() -> Evidence:
    """Two turns: #1 and #6 are said by the person, #5 and #7 by the agent."""
    told = LogBuilder()
    told.add_message("Where is my “order”?", actor="person")
    for _ in range(3):
        told.add_event(ActionExecuted(name="action_retry", arguments={"n": 1}))
    told.add_message('It\'s late …\nbecause of   the snow, she said: "wait".', buttons=({"title": "Track it"},))
    told.add_message("Why?", actor="person")
    told.add_message("Snow.")
    told.add_event(ToolExecuted(tool_name="lookup", result={"eta": "Friday"}))
    told.add_message("Ask for Sheila, she books it.")
    return told.evidence()


def build_verdict(*cites: tuple[str, str], passed: bool = True) -> dict[str, Any]:
    """Return an answer of the judge."""
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
        ("#2..#4", "action: action_retry", 2),
        ("[#8]", "lookup", 8),
        ("#8", '{"eta": "Friday"}', 8),
        (" #8 ", "lookup", 8),
        ("T1.2", "because of the snow", 5),
        ("[T2.1]", "Why?", 6),
        ("T1.2", "", 5),
        ("#3", "", 3),
        ("[#8]", " ", 8),
    ],
)
def test_quote_is_found_despite_spacing_and_quote_marks(where: str, quote: str, seq: int) -> None:
    found = CitationIndex(build_log()).find(Citation(where=where, quote=quote))
    assert isinstance(found, FoundCitation), found
    row = found.to_row()
    assert (row.seq, row.passed, row.path) == (seq, True, where.strip(" []").upper())


@pytest.mark.parametrize(
    ("where", "quote", "told"),
    [
        ("T1", "Because of the snow", "does not occur in T1"),
        ("T1", "late because of snow", "does not occur in T1"),
        ("T1", "late ... snow", "does not occur in T1"),
        ("T3", "Rain.", "there is no turn T3 in the transcript"),
        ("T1.9", "Rain.", "there is no line T1.9 in the transcript"),
        ("#99", "Rain.", "there is no event #99 in the ledger"),
        ("#8", "Saturday", '"Saturday" does not occur in #8'),
        ("T1, T2", "Rain.", '"T1, T2" is not the id of a line, such as T2.1 or #12'),
        ("", "Rain.", "is not the id of a line"),
        ("#8", "she", '"she" does not occur in #8, but in T1.2 and in T2.3'),
        ("T2.2", "User: Snow.", '"User: Snow." does not occur in T2.2'),
        ("T2", "Agent: Why?", '"Agent: Why?" does not occur in T2'),
        ("T9", "ok", "there is no turn T9 in the transcript"),
        ("T1", "", "T1 is a turn with 2 lines: give the id of one, such as T1.1, T1.2"),
        ("T7", "", "there is no turn T7 in the transcript"),
        ("T1.3", "", "there is no line T1.3 in the transcript"),
        ("#5", "", "there is no event #5 in the ledger"),
        ("the reply", "", "is not the id of a line"),
        ("T1", " … ", "the quote from T1 has no words in it"),
        ("T1", '"."', "the quote from T1 has no words in it"),
    ],
)
def test_missing_quote_is_reported(where: str, quote: str, told: str) -> None:
    found = CitationIndex(build_log()).find(Citation(where=where, quote=quote))
    assert isinstance(found, str)
    assert told in found


def test_judge_with_invented_citation_is_asked_again() -> None:
    judge = SampledJudge(
        once=[build_verdict(("T1", "I am sorry"), ("T9", "Rain.")), build_verdict(("T2", "Snow."), ("#8", "Friday"))]
    )
    evidence = build_log()
    check = JudgedAssertion(statement="It says why").check(_with_judge(evidence, judge))
    assert check.passed
    assert [(row.path, row.seq) for row in check.evidence[:-1]] == [("T2", 7), ("#8", 8)]
    first, second = judge.asked
    assert [line.role for line in second.talk] == ["user", "assistant"]
    assert second.talk[0].text == first.prompt
    assert '"quote":"I am sorry"' in second.talk[1].text
    assert '"I am sorry" does not occur in T1' in second.prompt
    assert "there is no turn T9 in the transcript" in second.prompt
    assert (second.instructions, second.about) == (first.instructions, "criterion")


@pytest.mark.parametrize(
    ("where", "quote", "seq"),
    [
        ("T2", "Agent: Snow.", 7),
        ("T2", "agent: “Snow.”", 7),
        ("T2", '[T2.2] agent: "Snow."', 7),
        ("T2", "[T2] Assistant: Snow.", 7),
        ("T2.1", "User: Why?", 6),
        ("T1", "Customer: Where is my", 1),
        ("#8", "#8 reported tool: lookup", 8),
        ("#8", "reported tool: lookup", 8),
    ],
)
def test_label_before_quote_is_removed(where: str, quote: str, seq: int) -> None:
    found = CitationIndex(build_log()).find(Citation(where=where, quote=quote))
    assert isinstance(found, FoundCitation), found
    assert (found.to_row().seq, found.to_row().path) == (seq, where)


@pytest.mark.parametrize(
    ("where", "quote", "place", "seq"),
    [
        ("T2", "because of the snow", "T1.2", 5),
        ("T2", "Agent: because of the snow", "T1.2", 5),
        ("T2", "action_retry", "#2", 2),
        ("#8", "Snow.", "T2.2", 7),
        ("T3", "Snow.", "T2.2", 7),
        ("turn 1", "Snow.", "T2.2", 7),
        ("#1", "Where is my", "T1.1", 1),
        ("#99", "lookup", "#8", 8),
    ],
)
def test_wrong_id_of_unique_quote_is_corrected(where: str, quote: str, place: str, seq: int) -> None:
    found = CitationIndex(build_log()).find(Citation(where=where, quote=quote))
    assert isinstance(found, FoundCitation), found
    assert (found.to_row().path, found.to_row().seq) == (place, seq)
    assert found.to_row().expected == {"contains": quote, "moved_from": where}


def test_id_without_quote_cites_whole_line() -> None:
    judge = FakeJudge(build_verdict(("T2.2", ""), ("#8", "")))
    check = JudgedAssertion(statement="It says why").check(_with_judge(build_log(), judge))
    said, looked_up, _ = check.evidence
    assert (check.passed, len(judge.asked)) == (True, 1)
    assert (said.path, said.expected, said.actual, said.seq) == ("T2.2", {"contains": "Snow."}, "Snow.", 7)
    assert looked_up.actual == '#8 reported tool: lookup() → ok: {"eta": "Friday"}'


def test_judge_that_keeps_inventing_citations_is_an_error() -> None:
    judge = FakeJudge(build_verdict(("T1", "I am sorry")))
    with pytest.raises(BadAnswer, match=r'^the judge gives wrong citations: "I am sorry" does not occur in T1$'):
        JudgedAssertion(statement="It says why").check(_with_judge(build_log(), judge))
    assert len(judge.asked) == MAX_CITATION_RETRIES + 1
    assert [len(question.talk) for question in judge.asked] == [0, 2, 4]


def test_only_pass_without_citation_is_asked_again() -> None:
    judge = SampledJudge(once=[build_verdict(), build_verdict(("T2", "Snow."))])
    assert JudgedAssertion(statement="It says why").check(_with_judge(build_log(), judge)).passed
    assert "the verdict is a pass, but there are no citations" in judge.asked[1].prompt
    stubborn = FakeJudge(build_verdict())
    with pytest.raises(BadAnswer, match="the judge passes the criterion without any citation"):
        JudgedAssertion(statement="It says why").check(_with_judge(build_log(), stubborn))
    strict = FakeJudge(build_verdict(passed=False))
    check = JudgedAssertion(statement="It says why").check(_with_judge(build_log(), strict))
    assert (check.passed, len(strict.asked), len(check.evidence)) == (False, 1, 1)


def test_fail_with_wrong_citation_stays_a_fail_with_note() -> None:
    judge = FakeJudge(build_verdict(("T1", "I am sorry"), ("T2", "Snow."), passed=False))
    check = JudgedAssertion(statement="It says why").check(_with_judge(build_log(), judge))
    assert (check.passed, len(judge.asked)) == (False, 1)
    assert check.detail == 'So it is. (citations that do not hold: "I am sorry" does not occur in T1)'
    assert [row.path for row in check.evidence[:-1]] == ["T2"]


def test_second_question_asks_for_citations_only() -> None:
    judge = SampledJudge(once=[build_verdict(("T1", "I am sorry")), build_verdict(("T2", "Snow."), passed=False)])
    check = JudgedAssertion(statement="It says why").check(_with_judge(build_log(), judge))
    assert (check.passed, check.detail) == (True, "So it is.")
    second = judge.asked[1]
    assert list(second.schema["properties"]) == ["citations"]
    assert "decide" not in second.prompt
    assert "another" not in second.prompt


def test_pass_without_any_citation_is_an_error() -> None:
    judge = SampledJudge(
        once=[build_verdict(("T1", "I am sorry")), build_verdict(passed=False), build_verdict(passed=False)]
    )
    with pytest.raises(BadAnswer, match="the judge passes the criterion without any citation"):
        JudgedAssertion(statement="It says why").check(_with_judge(build_log(), judge))


def test_scripted_answers_may_omit_citations_but_not_invent_them() -> None:
    assert (
        JudgedAssertion(statement="x")
        .check(_with_judge(build_log(), SampledJudge("scripted:a.yml", once=[build_verdict()])))
        .passed
    )
    judge = SampledJudge("scripted:a.yml", once=[build_verdict(("T1", "I am sorry"))])
    with pytest.raises(BadAnswer, match="gives wrong citations"):
        JudgedAssertion(statement="x").check(_with_judge(build_log(), judge))
    assert len(judge.asked) == 1


def test_pass_without_anything_to_cite_needs_no_citation() -> None:
    told = LogBuilder()
    told.add_event(FlowStarted(flow_id="pattern_hidden"))
    judge = FakeJudge(build_verdict())
    assert JudgedAssertion(statement="x").check(_with_judge(told.evidence(), judge)).passed


def test_too_many_citations_are_rejected() -> None:
    judge = SampledJudge(once=[build_verdict(*[("T2", "Snow.")] * 51), build_verdict(("T2", "Snow."))])
    assert JudgedAssertion(statement="x").check(_with_judge(build_log(), judge)).passed
    assert "there are 51 citations, but at most 50 are allowed" in judge.asked[1].prompt


def test_excerpt_of_long_turn_contains_quote() -> None:
    told = LogBuilder()
    told.add_message("Why?", actor="person")
    told.add_message("x" * 5000 + "because it snows" + "y" * 5000)
    judge = FakeJudge(build_verdict(("T1", "because it snows")))
    row = JudgedAssertion(statement="x").check(_with_judge(told.evidence(), judge)).evidence[0]
    assert "because it snows" in row.actual
    assert len(row.actual) == 2000


def test_duplicate_citations_give_one_row() -> None:
    judge = FakeJudge(build_verdict(("T2", "Snow."), ("T2", "“Snow.”"), ("T2", "Snow")))
    check = JudgedAssertion(statement="x").check(_with_judge(build_log(), judge))
    assert [row.expected for row in check.evidence[:-1]] == [{"contains": "Snow."}, {"contains": "Snow"}]


def _with_judge(evidence: Evidence, judge: Any) -> Evidence:
    return Evidence(evidence.task, evidence.events, {}, evidence.ending, model=judge)
