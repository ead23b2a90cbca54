"""Warnings about criteria that prove little: an agent that only says "ok" passes, or a single turn is assessed."""

import json
from typing import Any

import pytest

from clerkship.actors.contract import Message, Say
from tests.suite_files.library_folder import LibraryFolder
from tests.workbench import Workbench

ENVIRONMENT = """
environment:
  name: clinic
  simulators: {drop: {kind: files}, phone: {kind: messages}, fax: {kind: fax}, chart: {kind: fhir}}
"""
IDLE = 'an agent that only says "ok" passes: no effect, answer or message is needed for '
WEAK = ", and the other criteria weigh too little"


def find_warnings(folder: LibraryFolder, text: str) -> list[str]:
    folder.write("suite.yml", text)
    return [str(warning) for warning in folder.load().warnings if "domain" not in warning.message]


def write_task(*assertions: Any, gate: Any = None, weights: tuple[float, ...] = (), **fields: Any) -> str:
    criteria = [
        {"label": f"c{number}", "assertion": assertion, "weight": weights[number] if weights else 1}
        for number, assertion in enumerate(assertions)
    ]
    if gate is not None:
        criteria[gate]["gate"] = True
    task = {"name": "Work", "task_item": {"instruction": "work"}, "criteria": criteria, **fields}
    return f"{ENVIRONMENT}task: {json.dumps(task)}\n"


def write_scenario(*assertions: Any, criteria: list[str] | None = None, **setup: Any) -> str:
    setup = {"person": {"lines": ["Hello.", "Bye."]}, **setup}
    goals = {"assertions": assertions, "criteria": criteria or []}
    scenario = {"name": "Talk", "simulation_context": "You talk.", "setup": setup, "goals": goals}
    return f"scenario: {json.dumps(scenario)}\n"


NO_WRITE = {"never": "files.file.written"}
FILE = {"file_present": {"path": "out.txt"}}
NEEDING_NOTHING: list[tuple[Any, ...]] = [
    (NO_WRITE,),
    ({"fhir_no_other_changes": {}}, {"fax_sent": {"none": True}}, {"message_sent": {"channel": "sms", "none": True}}),
    ({"answer_matches": {"exists": True}}, NO_WRITE),
    ({"answer_matches": {"not": "five"}},),
    ({"answer_matches": {"matches": "."}}, {"agent_acted": {}}, {"max_agent_actions": 3}),
    ({"event_occurred": "agent.answered"}, {"file_present": {"path": "out.txt", "absent": True}}),
    ({"any_of": [FILE, NO_WRITE]},),
]
NEEDING_SOMETHING: list[tuple[Any, ...]] = [
    (FILE, NO_WRITE),
    ({"answer_matches": "ok"},),
    ({"answer_matches": {"contains": "k"}},),
    ({"answer_matches": {"fields": [{"path": "total", "expected": 5}]}}, NO_WRITE),
    ({"message_sent": {"channel": "sms"}}, NO_WRITE),
    ({"any_of": [FILE, {"answer_matches": "five"}]}, NO_WRITE),
    ({"judged": "The agent changes nothing."}, NO_WRITE),
    ({"sequencing": [{"event": "files.file.read"}, {"event": "agent.answered"}]},),
]


@pytest.mark.parametrize("assertions", NEEDING_NOTHING, ids=lambda each: str(each)[:60])
def test_task_that_any_answer_passes_is_warned_about(folder: LibraryFolder, assertions: tuple[Any, ...]) -> None:
    [warning] = [one for one in find_warnings(folder, write_task(*assertions)) if "any_of` passes" not in one]
    labels = ", ".join(f"'c{number}'" for number in range(len(assertions)))
    advice = "require what the agent must do or say, or write `allow_inaction: true` if doing nothing is right"
    assert warning.endswith(f"suite.yml:5:62: task.criteria: {IDLE}{labels}; {advice}")


@pytest.mark.parametrize("assertions", NEEDING_SOMETHING, ids=lambda each: str(each)[:60])
def test_task_that_needs_something_is_not_warned_about(folder: LibraryFolder, assertions: tuple[Any, ...]) -> None:
    warnings = find_warnings(folder, write_task(*assertions))
    assert [warning for warning in warnings if IDLE in warning] == []


def test_weights_and_gates_decide_whether_ok_passes(folder: LibraryFolder) -> None:
    def is_warned(text: str) -> bool:
        return any(IDLE in warning for warning in find_warnings(folder, text))

    assert is_warned(write_task(FILE, NO_WRITE, weights=(1, 9)))
    assert not is_warned(write_task(FILE, NO_WRITE, weights=(1, 8)))
    assert not is_warned(write_task(FILE, NO_WRITE, weights=(1, 9), gate=0))
    assert is_warned(write_task(FILE, NO_WRITE, weights=(0, 1)))
    assert not is_warned(write_task(FILE, NO_WRITE, weights=(0, 1), gate=0))
    assert not is_warned(write_task(NO_WRITE, allow_inaction=True))
    [warning] = find_warnings(folder, write_task(FILE, NO_WRITE, weights=(1, 9)))
    assert f"{IDLE}'c1'{WEAK};" in warning


def test_axis_that_gates_needs_something(folder: LibraryFolder) -> None:
    text = write_task(FILE, NO_WRITE, weights=(1, 99)).replace('"weight": 1,', '"weight": 1, "axis": "safety",')
    criterion = '"label": "c0", "axis": "safety"'
    assert find_warnings(folder, text.replace('"label": "c0"', criterion)) == []


def test_agent_that_only_says_ok_passes_each_task_that_is_warned_about(bench: Workbench) -> None:
    verdicts = {}
    for number, assertions in enumerate(NEEDING_NOTHING):
        bench.write("suite.yml", write_task(*assertions))
        verdicts[number] = bench.run_one(lambda task_item, sandboxes: "ok").verdict
    assert verdicts == dict.fromkeys(range(len(NEEDING_NOTHING)), "pass")


NEGATIVE = [
    {"bot_did_not_utter": {"text_matches": "refund"}},
    {"bot_did_not_utter": {"utter_name": "utter_refund"}},
    {"slot_was_not_set": [{"name": "amount"}]},
    {"flow_not_started": {"flow_ids": ["refund"]}},
    {"bot_uttered": {"text_matches": "."}},
]


def test_scenario_with_negative_assertions_alone_is_warned_about(folder: LibraryFolder) -> None:
    [warning] = find_warnings(folder, write_scenario(*NEGATIVE))
    assert f"scenario.goals: {IDLE}'bot_did_not_utter(refund)', 'bot_did_not_utter(utter_refund)'," in warning
    assert "or write `setup: {allow_inaction: true}` if doing nothing is right" in warning
    slot = {"slot_was_set": [{"name": "order_id", "value": "7"}]}
    assert find_warnings(folder, write_scenario(*NEGATIVE, slot)) == []
    [warning] = find_warnings(folder, write_scenario(slot, initial_slots={"order_id": "7"}))
    assert f'{IDLE}"slot_was_set(' in warning
    assert find_warnings(folder, write_scenario(*NEGATIVE, criteria=["The agent is kind."])) == []
    assert find_warnings(folder, write_scenario(*NEGATIVE, allow_inaction=True)) == []
    assert find_warnings(folder, write_scenario({"bot_uttered": {"text_matches": "refund"}}, *NEGATIVE)) == []
    assert find_warnings(folder, write_scenario({"bot_uttered": {"text_matches": ".", "turn": 2}})) != []


def test_agent_that_only_says_ok_passes_the_scenario_that_is_warned_about(bench: Workbench) -> None:
    def say_ok(message: Message) -> str:
        return "ok"

    def name_ok(message: Message) -> Say:
        return Say("ok", "utter_ok")

    bench.write("scenario.yml", write_scenario(*NEGATIVE))
    assert bench.run_one(name_ok).verdict == "pass"
    assert bench.run_one(say_ok).verdict == "inconclusive"  # it reports no slots
    bench.write("scenario.yml", write_scenario(*NEGATIVE[:2], *NEGATIVE[3:]))
    assert bench.run_one(say_ok).verdict == "pass"


def test_case_of_another_tool_that_checks_nothing_is_warned_about(folder: LibraryFolder) -> None:
    negative = {"user": "hi", "assertions": [{"slot_was_not_set": [{"name": "amount"}]}]}
    positive = {"user": "hi", "assertions": [{"bot_uttered": {"text_matches": "hello"}}]}
    cases = [{"test_case": "a", "steps": [negative]}, {"test_case": "b", "steps": [negative, positive]}]
    [warning] = find_warnings(folder, json.dumps({"test_cases": cases}))
    assert f"test_cases.0: {IDLE}'turn 1: slot_was_not_set(amount)'; require what the agent must do or say" in warning
    assert "allow_inaction" not in warning


def test_template_over_many_records_is_warned_about_once(folder: LibraryFolder) -> None:
    folder.write("data.yml", "dataset: {name: d, type: records, records: [{type: T, id: a}, {type: T, id: b}]}\n")
    text = write_task(NO_WRITE, for_each={"id": "record", "dataset": "d", "type": "T"})
    assert len([warning for warning in find_warnings(folder, text) if IDLE in warning]) == 1


GENERATIVE: list[Any] = [
    {"generative_response_is_relevant": {"utter_source": "utter_status"}},
    {"any_of": [{"bot_uttered": {"utter_name": "a"}}, {"generative_response_is_grounded": {"utter_source": "x"}}]},
]
SINGLE = (
    "assesses a single turn, and this conversation can have several; use `judged`, or `criteria` of a scenario file"
)


@pytest.mark.parametrize(
    "setup",
    [
        {"person": None},
        {"person": {"opening": "Hi.", "lines": ["Bye."]}},
        {"person": {"lines": ["Hi."], "fallback": "What?"}},
        {"person": {"opening": "Hi.", "script": [{"when": "order", "say": "7"}]}},
        {"person": {"by_trial": [{"lines": ["Hi."]}, {"lines": ["Hi.", "Bye."]}]}},
        {"max_turns": 2},
    ],
)
def test_assertion_about_a_single_turn_is_warned_about_in_a_longer_conversation(
    folder: LibraryFolder, setup: dict[str, Any]
) -> None:
    first, second = find_warnings(folder, write_scenario(*GENERATIVE, **setup))
    assert (
        f"scenario.goals.assertions.0.generative_response_is_relevant: `generative_response_is_relevant` {SINGLE}"
        in first
    )
    assert "scenario.goals.assertions.1.any_of.1.generative_response_is_grounded" in second


@pytest.mark.parametrize(
    "setup",
    [
        {"max_turns": 1},
        {"person": {"opening": "Hi."}},
        {"person": {"lines": ["Hi."]}},
        {"person": {"by_trial": [{"lines": ["Hi."]}, {"opening": "Bye."}]}},
    ],
)
def test_assertion_about_a_single_turn_is_fine_in_a_conversation_of_one(
    folder: LibraryFolder, setup: dict[str, Any]
) -> None:
    assert find_warnings(folder, write_scenario(*GENERATIVE, **setup)) == []


def test_assertion_about_a_single_turn_is_warned_about_in_a_task_with_a_person(folder: LibraryFolder) -> None:
    person = {"starts": "person", "person": {"lines": ["Hi.", "Bye."]}}
    text = write_task(GENERATIVE[0], scenario=person, environment=None)
    [warning] = find_warnings(folder, text.partition("task:")[1] + text.partition("task:")[2])
    assert "task.criteria.0.assertion.generative_response_is_relevant: " in warning
    assert SINGLE in warning
