"""Events that only the agent reports are marked in the ledger, and prove nothing that a sandbox could have observed."""

from dataclasses import replace
from typing import Any

import pytest

from clerkship.assertions.judged import JudgedAssertion
from clerkship.events.agent import ActionExecuted, FlowStarted, SlotSet, ToolExecuted
from clerkship.events.evidence import Evidence
from clerkship.events.ledger import render_ledger
from clerkship.llm.contract import BadAnswer
from tests.assertions.judge import FakeJudge, SampledJudge
from tests.assertions.log_builder import LogBuilder
from tests.workbench import Workbench


def build_log(judge: Any, *observers: str) -> Evidence:
    """#2 to #4 are reported, #5 is observed, #6 is said."""
    told = LogBuilder()
    told.add_message("Please file it.", actor="person")
    told.add_event(ToolExecuted(tool_name="write_letter", result={"ok": True}))
    told.add_event(ActionExecuted(name="action_file_letter"))
    told.add_event(FlowStarted(flow_id="filing"))
    told.add_write("outbox/letter.txt", b"Dear")
    told.add_message("It is filed.")
    told.add_event(SlotSet(name="account", value="1"), actor="scenario")
    return replace(told.evidence(), model=judge, observers=frozenset(observers))


def build_verdict(*places: str) -> dict[str, Any]:
    """Return a pass that cites these lines."""
    return {"passed": True, "reasoning": "So.", "citations": [{"where": place, "quote": ""} for place in places]}


def test_ledger_marks_reported_events() -> None:
    lines = [line.strip() for line in render_ledger(build_log(None)).splitlines()]
    assert '#2 reported tool: write_letter() → ok: {"ok": true}' in lines
    assert "#3 reported action: action_file_letter" in lines
    assert '#5 drop: files.file.written path="outbox/letter.txt" size=4 data="Dear"' in lines
    assert '#7 slot_set: account = "1" (set by the scenario)' in lines


def test_judge_is_told_which_sandboxes_observe() -> None:
    judge = FakeJudge({"passed": False, "reasoning": "No."})
    JudgedAssertion(statement="It filed the letter").check(build_log(judge, "drop", "archive"))
    JudgedAssertion(statement="It filed the letter").check(build_log(judge))
    first, second = (question.instructions for question in judge.asked)
    assert "These sandboxes record what is done to them: archive, drop." in first
    assert "These sandboxes" not in second


@pytest.mark.parametrize("places", [("#2",), ("#3",), ("#2", "#3")])
def test_reported_action_is_no_evidence_if_sandbox_observes(places: tuple[str, ...]) -> None:
    judge = FakeJudge(build_verdict(*places))
    with pytest.raises(BadAnswer, match=r"is only reported by the agent; cite what was observed instead"):
        JudgedAssertion(statement="It filed the letter").check(build_log(judge, "drop"))


@pytest.mark.parametrize("places", [("#5",), ("#2", "#5"), ("#2", "T1.2"), ("#4",)])
def test_observed_or_unobservable_events_are_evidence(places: tuple[str, ...]) -> None:
    assert (
        JudgedAssertion(statement="It filed the letter")
        .check(build_log(FakeJudge(build_verdict(*places)), "drop"))
        .passed
    )


def test_report_is_evidence_without_sandbox() -> None:
    assert JudgedAssertion(statement="It filed the letter").check(build_log(FakeJudge(build_verdict("#2")))).passed


def test_judge_citing_a_report_is_asked_for_observed_event() -> None:
    judge = SampledJudge(once=[build_verdict("#2"), build_verdict("#5")])
    assert JudgedAssertion(statement="It filed the letter").check(build_log(judge, "drop")).passed
    assert "#2 is only reported by the agent; cite what was observed instead (drop)" in judge.asked[1].prompt


TASK = """
environment:
  name: desk
  simulators: {chat: {kind: chat}, drop: {kind: files}}
task:
  name: File it
  scenario: {starts: person, person: {lines: [Please file it.]}}
  criteria:
    - {label: Filed, assertion: {judged: It filed the letter}}
"""


def test_sandboxes_of_environment_are_observers(bench: Workbench) -> None:
    def agent(message: Any, sandboxes: Any) -> str:
        sandboxes.report(ToolExecuted(tool_name="write_letter", result={"ok": True}))
        return "It is filed."

    bench.write("desk.yml", TASK)
    answers = bench.folder.parent / "judge.yml"
    answers.write_text(
        "- matches: reported tool\n"
        "  answer: {passed: true, reasoning: So., citations: [{where: T1, quote: write_letter}]}\n"
    )
    task_run = bench.run_one(agent, judge=f"scripted:{answers}")
    [criterion] = [one for one in task_run.criteria if one.assertion == "judged"]
    assert (criterion.status, criterion.passed) == ("error", False)
    assert "is only reported by the agent; cite what was observed instead (drop)" in criterion.detail
