"""A message of a played person that breaks a rule is never sent, and never fails the agent."""

import json
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from clerkship.actors.person_contract import LineContext, PersonLimits, PersonLine, find_breach
from tests.engine.test_played_people import DELAY, list_messages, order_desk, script
from tests.examples import examples
from tests.workbench import Workbench

ODD = st.sampled_from(
    [
        *("How can I help you?", "Agent: hello", "As an AI I cannot.", "Call 555 123 4567.", "ORD-1111", "", "   "),
        *('{"message": 1}', "On 3 June 2011.", "a@b.example", "```", "\x00", "It is ORD-9981.", "Where is it?", "Bye."),
    ]
)
PLAIN = st.text(st.characters(max_codepoint=0xD7FF, exclude_categories=["Cc", "Cs"]), max_size=40)
LINES = st.lists(st.tuples(ODD | PLAIN, st.booleans()), min_size=1, max_size=4)


@pytest.fixture
def shared(bench: Workbench) -> Workbench:
    bench.write("late.yml", DELAY)
    return bench


@settings(max_examples=examples(40), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(LINES)
def test_invalid_person_never_fails_the_agent(shared: Workbench, lines: list[tuple[str, bool]]) -> None:
    answers: list[dict[str, Any]] = [
        {"contains": f"Reply {number}.", "answer": {"message": text, "done": done}}
        for number, (text, done) in enumerate(lines[1:], 1)
    ]
    first = {"contains": "The conversation starts", "answer": {"message": lines[0][0], "done": lines[0][1]}}
    remaining = {"answer": {"message": "", "done": True}}
    count = iter(range(1, 100))
    agent: Any = lambda message: f"Reply {next(count)}. {order_desk(message)}"  # noqa: E731  (it counts)
    task_run = shared.run_one(agent, person=script(shared, first, *answers, remaining), max_turns=5)
    broken = [event for event in shared.events(task_run) if event["kind"] == "person.broke_contract"]
    assert (task_run.status == "invalid_person") == bool(broken)
    if broken:
        assert (task_run.verdict, task_run.score, shared.exit_code()) == (None, None, 2)
        would = broken[0]["payload"]["would_have_said"]
        spoken = [text for who, text in list_messages(shared, task_run) if who == "person"]
        assert would.strip() not in spoken or broken[0]["payload"]["rule"] in (
            "stops_early",
            "echoes",
            "repeats_itself",
        )
    assert task_run.status in ("completed", "invalid_person")


@given(st.text(max_size=400), st.text(max_size=200), st.booleans())
def test_any_text_can_be_checked(text: str, given_text: str, done: bool) -> None:
    results = find_breach(
        PersonLine(text, done), PersonLimits(given_text, given_text), LineContext((given_text,), given_text, 1)
    )
    assert results is None or json.dumps(results)


@given(st.from_regex(r"[A-Z]{2,4}-[0-9]{3,8}", fullmatch=True), st.from_regex(r"[A-Z]{2,4}-[0-9]{3,8}", fullmatch=True))
def test_code_may_be_said_only_if_it_was_given(code: str, other: str) -> None:
    bounds = PersonLimits(f"Your order is {code}.")
    assert find_breach(PersonLine(f"It is {code}."), bounds, LineContext(answers=1)) is None
    digits, others = code.split("-")[1], other.split("-")[1]
    if not digits.endswith(others) and others not in ("100", "1000"):
        assert find_breach(PersonLine(f"It is {other}."), bounds, LineContext(answers=1)) is not None
