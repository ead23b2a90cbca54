"""E2E test files: each test case becomes a task with a scripted person, and mistakes are reported with their places."""

from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest

from clerkship.engine.catalog import RegisteredCatalog
from clerkship.model.call import AssertionCall
from clerkship.model.errors import InputError
from clerkship.model.scenario import Scenario
from clerkship.model.task import Criterion
from clerkship.rasa.e2e_case import ASSERTIONS_FROM_START, E2E_ASSERTIONS, get_turn_scope, scope_call
from clerkship.suite_files.library import Library
from clerkship.suite_files.load import load_library

CATALOG = RegisteredCatalog()
FIRST: dict[str, Any] = {"lte": 1}


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


class E2eFolder:
    """A folder of files, by path."""

    __test__ = False

    def __init__(self, **files: str) -> None:
        for name, text in files.items():
            path = Path(f"{name.replace('__', '/')}.yml")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(dedent(text), encoding="utf-8")

    def load(self, path: str = ".") -> Library:
        return load_library(Path(path), CATALOG)

    def scenario(self, name: str = "a") -> Scenario:
        """Return the scenario of a test case."""
        found = self.load().tasks[name].task.scenario
        assert found is not None
        return found

    def criteria(self, name: str = "a") -> tuple[Criterion, ...]:
        """Return the criteria of a test case."""
        return self.load().tasks[name].task.criteria

    def checks(self, name: str = "a") -> dict[str, Any]:
        """Return the assertion of each criterion by label."""
        return {criterion.label: criterion.assertion.model_dump() for criterion in self.criteria(name)}

    def lines(self, path: str = ".") -> list[str]:
        """Return the problems, one line each."""
        with pytest.raises(InputError) as caught:
            self.load(path)
        return [str(problem) for problem in caught.value.problems]


def case(steps: str, before: str = "", **more: str) -> E2eFolder:
    """Write a file with one test case `a`, and other files."""
    body = "\n".join(f"      {line}" for line in dedent(steps).strip().splitlines())
    return E2eFolder(cases=f"{dedent(before)}test_cases:\n  - test_case: a\n    steps:\n{body}\n", **more)


def test_test_case_becomes_a_task_with_lines() -> None:
    tests = E2eFolder(
        refunds="""
        fixtures:
          - premium: [{membership: premium}, {logged_in: true}]
          - late: [{membership: basic}, {days: 3}]
        metadata:
          - device: {os: linux, screen: small}
          - phone: {os: android}
        test_cases:
          - test_case: a
            fixtures: [premium, late]
            metadata: device
            steps:
              - user: hello
              - user: where is it
                metadata: phone
              - user: yes
          - test_case: b
            steps: [{user: hi}]
        """
    )
    library = tests.load()
    assert [(name, loaded.line, loaded.task.tags) for name, loaded in library.tasks.items()] == [
        ("a", 9, ("e2e",)),
        ("b", 17, ("e2e",)),
    ]
    scenario = tests.scenario()
    assert scenario.initial_slots == {"membership": "basic", "logged_in": True, "days": 3}
    assert scenario.person is not None
    assert [(line.say, line.metadata) for line in scenario.person.lines] == [
        ("hello", {"os": "linux", "screen": "small"}),
        ("where is it", {"os": "android", "screen": "small"}),
        ("yes", {"os": "linux", "screen": "small"}),
    ]
    assert (scenario.starts, scenario.max_turns) == ("person", None)
    assert tests.criteria() == ()


def test_long_test_case_keeps_all_turns() -> None:
    scenario = case("\n".join(f"- user: line {n}" for n in range(60))).scenario()
    assert scenario.max_turns == 60


def test_assertions_apply_to_their_turn_and_gate() -> None:
    tests = case(
        """
        - user: hello
          assertions:
            - flow_started: {flow_ids: [greet], operator: any}
            - slot_was_set: [{name: name}, {name: age, value: 3}]
            - slot_was_not_set: [{name: email}]
            - action_executed: action_greet
            - bot_uttered: {utter_name: utter_greet}
            - bot_did_not_utter: {text_matches: sorry}
            - pattern_clarification_contains: {flow_ids: [a, b], operator: any}
        - user: hello
          assertions:
            - action_executed: action_greet
            - slot_was_set: [{name: name}]
            - flow_completed: {flow_id: greet, flow_step_id: end}
            - flow_cancelled: {flow_id: refund}
        """
    )
    assert all(criterion.gate for criterion in tests.criteria())
    assert tests.checks() == {
        "turn 1: flow_started(greet)": {"flow_started": {"flow_ids": ["greet"], "operator": "any", "turn": 1}},
        "turn 1: slot_was_set(name, age=3)": {
            "slot_was_set": [{"name": "name", "turn": FIRST}, {"name": "age", "value": 3, "turn": FIRST}]
        },
        "turn 1: slot_was_not_set(email)": {"slot_was_not_set": [{"name": "email", "turn": FIRST}]},
        "turn 1: action_executed(action_greet)": {"action_executed": {"name": "action_greet", "turn": FIRST}},
        "turn 1: bot_uttered(utter_greet)": {"bot_uttered": {"utter_name": "utter_greet", "turn": FIRST}},
        "turn 1: bot_did_not_utter(sorry)": {"bot_did_not_utter": {"text_matches": "sorry", "turn": FIRST}},
        "turn 1: pattern_clarification_contains(a, b)": {
            "pattern_clarification_contains": {"flow_ids": ["a", "b"], "operator": "any", "turn": 1}
        },
        "turn 2: action_executed(action_greet)": {"action_executed": {"name": "action_greet", "turn": 2}},
        "turn 2: slot_was_set(name)": {"slot_was_set": [{"name": "name", "turn": 2}]},
        "turn 2: flow_completed(greet)": {"flow_completed": {"flow_id": "greet", "flow_step_id": "end", "turn": 2}},
        "turn 2: flow_cancelled(refund)": {"flow_cancelled": {"flow_id": "refund", "turn": 2}},
    }


@pytest.mark.parametrize("name", E2E_ASSERTIONS)
def test_e2e_assertions_exist_and_support_turns(name: str) -> None:
    written: dict[str, Any] = {
        "flow_started": "f",
        "flow_completed": {"flow_id": "f"},
        "flow_cancelled": {"flow_id": "f"},
        "pattern_clarification_contains": ["a flow"],
        "action_executed": "x",
        "slot_was_set": [{"name": "s"}],
        "slot_was_not_set": [{"name": "s", "value": 1}],
        "bot_uttered": {"text_matches": "x"},
        "bot_did_not_utter": {"buttons": [{"title": "x"}]},
        "generative_response_is_relevant": {"threshold": 0.5},
        "generative_response_is_grounded": {"ground_truth": "x"},
    }
    model = CATALOG.assertion(name)
    on_turn = scope_call(AssertionCall.model_validate({name: written[name]}), get_turn_scope(name, 1), model)
    found = model.model_validate(on_turn.args).model_dump_json()
    assert found.count('"turn":{"lte":1}' if name in ASSERTIONS_FROM_START else '"turn":1') == 1


def test_assertion_order_adds_one_criterion() -> None:
    checks = case(
        """
        - user: hello
          assertion_order_enabled: true
          assertions:
            - flow_started: {flow_ids: [a, b], operator: any}
            - slot_was_set: [{name: x}, {name: y, value: null}]
            - slot_was_not_set: [{name: z}]
            - action_executed: act
            - bot_uttered: {utter_name: u, text_matches: "^Hi", buttons: [{title: Yes, payload: /yes}]}
            - pattern_clarification_contains: {flow_ids: [c], operator: all}
            - flow_completed: {flow_id: a}
        - user: once
          assertion_order_enabled: true
          assertions:
            - action_executed: act
            - bot_did_not_utter: {utter_name: u}
        """
    ).checks()
    assert [label for label in checks if "in order" in label] == ["turn 1: in order"]
    order = checks["turn 1: in order"]["sequencing"]
    assert order == {
        "steps": [
            {"event": "agent.flow.started", "where": {"flow_id": {"in": ["a", "b"]}}},
            {"event": "agent.slot.set", "where": {"name": {"equals": "y"}, "value": {"equals": None}}},
            {"event": "agent.action.executed", "where": {"name": "act"}},
            {
                "event": "chat.message.sent",
                "where": {"utter_name": "u", "text": {"matches": "^Hi"}, "buttons.0.title": {"equals": "Yes"}},
                "actor": "agent",
            },
            {"event": "agent.clarification.offered", "where": {"flow_ids": {"contains": "c"}}},
            {"event": "agent.flow.completed", "where": {"flow_id": "a"}},
        ],
        "turn": FIRST,
    }
    assert len(checks) == 7 + 1 + 2
    for step in order["steps"]:
        fields = CATALOG.payloads(step["event"])[step["event"]].model_fields
        assert all(path.split(".")[0] in fields for path in step["where"])


def test_legacy_steps_are_checked() -> None:
    checks = case(
        """
        - bot: Good morning!
        - user: hello
        - bot: "What (exactly) do you want? [a|b]"
        - utter: utter_menu
        - user: this
        - slot_was_set: [size, {colour: null, weight: 2}]
        - slot_was_not_set: [name, {price: 3}]
        """
    ).checks()
    assert checks == {
        "before turn 1: bot(Good morning!)": {"bot_uttered": {"text_matches": r"\AGood morning!\Z", "turn": 0}},
        "turn 1: bot(What (exactly) do you want? [a|b])": {
            "bot_uttered": {"text_matches": r"\AWhat \(exactly\) do you want\? \[a\|b\]\Z", "turn": 1}
        },
        "turn 1: utter(utter_menu)": {"bot_uttered": {"utter_name": "utter_menu", "turn": 1}},
        "turn 2: slot_was_set(size, colour=None, weight=2)": {
            "slot_was_set": [
                {"name": "size", "turn": 2},
                {"name": "colour", "value": None, "turn": 2},
                {"name": "weight", "value": 2, "turn": 2},
            ]
        },
        "turn 2: slot_was_not_set(name, price=3)": {
            "slot_was_not_set": [{"name": "name", "turn": 2}, {"name": "price", "value": 3, "turn": 2}]
        },
    }


def test_legacy_steps_beside_assertions_are_ignored_with_a_warning() -> None:
    tests = case(
        """
        - user: hello
          assertions: [{action_executed: act}]
        - bot: hi
        - user: go on
        - utter: utter_more
        """
    )
    library = tests.load()
    assert list(tests.checks()) == ["turn 1: action_executed(act)"]
    assert [str(note) for note in library.warnings] == [
        "cases.yml:6:9: test_cases.0.steps.1: 2 steps are not checked: 'a' has assertions, so only these are checked"
    ]


def test_inner_conftest_overrides_outer() -> None:
    slots = "fixtures: [{{base: [{{{0}: {1}}}]}}]\n"
    tests = E2eFolder(
        conftest=f"fixtures: [{{base: [{{from: root}}]}}, {{only: [{{top: 1}}]}}]\n{META}",
        tests__conftest=slots.format("from", "tests"),
        tests__near__conftest="fixtures: [{base: [{from: near}]}]\nllm_judge: {llm: {provider: openai}}",
        tests__near__a="test_cases: [{test_case: a, fixtures: [base, only], metadata: m, steps: [{user: x}]}]",
        tests__b="test_cases: [{test_case: b, fixtures: [base], steps: [{user: x}]}]",
        tests__c="""
        fixtures: [{base: [{from: file}]}]
        test_cases: [{test_case: c, fixtures: [base], steps: [{user: x}]}]
        """,
    )
    found = {name: tests.scenario(name).initial_slots for name in "abc"}
    assert found == {"a": {"from": "near", "top": 1}, "b": {"from": "tests"}, "c": {"from": "file"}}
    below = tests.load("tests/near")  # the conftest files above it count, as far as the working folder
    scenario = below.tasks["a"].task.scenario
    assert scenario is not None
    assert scenario.initial_slots == {"from": "near", "top": 1}
    assert [str(note) for note in below.warnings] == [
        "slot names and types were not checked, because no domain is known; use --domain, or an agent `rasa:…`",
    ]


META = "metadata: [{m: {k: v}}]"


def test_conftest_of_scenarios_is_not_used() -> None:
    tests = E2eFolder(
        eval__e2e__a="test_cases: [{test_case: a, fixtures: [base], steps: [{user: x}]}]",
        eval__conftest="fixtures: [{base: [{from: eval}]}]",
    )
    [unknown] = tests.lines("eval/e2e")
    assert unknown.startswith("eval/e2e/a.yml:1:40: test_cases.0.fixtures.0: unknown fixture `base`")


def test_test_cases_with_the_same_name_get_the_file_name_added() -> None:
    one = "test_cases: [{test_case: hello, steps: [{user: x}]}]"
    assert list(E2eFolder(a=one, b=one, sub__b=one).load().tasks) == ["hello", "hello (b)", "hello (b 2)"]


def test_stub_of_a_test_case_overrides_the_general_one() -> None:
    tests = E2eFolder(
        conftest="stub_custom_actions: {action_all: {responses: [{text: conftest}]}, action_x: {}}",
        cases="""
        stub_custom_actions:
          action_x: {events: [{event: slot, name: a, value: 1}]}
          the_second_one::action_x: {responses: [{text: hi}]}
        test_cases:
          - {test_case: first, steps: [{user: x}]}
          - {test_case: the second one, steps: [{user: x}]}
        """,
    )
    everywhere = {"action_all": {"responses": [{"text": "conftest"}]}}
    assert tests.scenario("first").stubs == {
        **everywhere,
        "action_x": {"events": [{"event": "slot", "name": "a", "value": 1}]},
    }
    assert tests.scenario("the second one").stubs == {**everywhere, "action_x": {"responses": [{"text": "hi"}]}}


def test_variables_are_stored_unexpanded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHOP", "ours")
    tests = case("- user: open ${SHOP}")
    scenario = tests.scenario()
    assert scenario.person is not None
    assert scenario.person.lines[0].say == "open ${SHOP}"
    monkeypatch.delenv("SHOP")
    [line] = tests.lines()
    assert line.startswith("cases.yml:4:15: test_cases.0.steps.0.user: the environment variable SHOP is not set")


BAD: list[tuple[str, str]] = [
    # One case called `a`, whose steps are these; what is said of it.
    ("- usr: hello", "cases.yml:4:9: test_cases.0.steps.0.usr: unknown key `usr`; did you mean `user`?"),
    ("- user: 5", "cases.yml:4:15: test_cases.0.steps.0.user: expected text, not 5; quote it if it is text"),
    ("- user: ''", "cases.yml:4:15: test_cases.0.steps.0.user: expected text that is not empty"),
    (
        "- {user: x, bot: y}",
        "cases.yml:4:9: test_cases.0.steps.0: a step has one key, not 2 (user, bot); put `-` before each step",
    ),
    (
        "- {assertions: []}",
        "cases.yml:4:9: test_cases.0.steps.0: expected one of `user`, `bot`, `utter`, `slot_was_set`, "
        "`slot_was_not_set`",
    ),
    (
        "- user: x\n- bot: y\n  assertions: []",
        "cases.yml:5:9: test_cases.0.steps.1: `assertions` belongs to a `user` step",
    ),
    (
        "- user: x\n  assertion_order_enabled: true",
        "cases.yml:4:9: test_cases.0.steps.0: `assertion_order_enabled` needs `assertions`",
    ),
    (
        "- user: x\n  assertions: [{flow_startd: y}]",
        "cases.yml:5:23: test_cases.0.steps.0.assertions.0.flow_startd: unknown assertion `flow_startd`; "
        "did you mean `flow_started`?",
    ),
    (
        "- user: x\n  assertions: [{sequencing: [{action_executed: y}]}]",
        "cases.yml:5:23: test_cases.0.steps.0.assertions.0.sequencing: `sequencing` is not part of E2E test files; "
        "use `assertion_order_enabled: true` to check the order of a step's assertions, or a scenario file",
    ),
    (
        "- user: x\n  assertions: [{event_occurred: {event: run.ended}}]",
        "cases.yml:5:23: test_cases.0.steps.0.assertions.0.event_occurred: `event_occurred` is not part of E2E test "
        "files; use it in a task or a scenario file",
    ),
    (
        "- user: x\n  assertions: [{action_executed: y, bot_uttered: {utter_name: z}}]",
        "cases.yml:5:22: test_cases.0.steps.0.assertions.0: expected a map with one key, the assertion's name, not 2 "
        "(action_executed, bot_uttered); indent its arguments, and put `-` before each assertion",
    ),
    (
        "- user: x\n  assertions: [{bot_uttered: {text_matches: '('}}]",
        "cases.yml:5:51: test_cases.0.steps.0.assertions.0.bot_uttered.text_matches: not a regular expression: "
        "missing ) at position 1",
    ),
    (
        "- user: x\n  assertions: [{bot_uttered: {utter_nam: y}}]",
        "cases.yml:5:37: test_cases.0.steps.0.assertions.0.bot_uttered.utter_nam: unknown key `utter_nam`; "
        "did you mean `utter_name`?",
    ),
    (
        "- user: x\n  assertions: [{bot_uttered: {utter_name: y, turn: 2}}]",
        "cases.yml:5:36: test_cases.0.steps.0.assertions.0.bot_uttered: `turn` is not allowed here: "
        "an assertion applies to its own step",
    ),
    (
        "- user: x\n  assertion_order_enabled: true\n  assertions: [{flow_started: {flow_ids: [a, b], operator: ALL}}]",
        "cases.yml:6:37: test_cases.0.steps.0.assertions.0.flow_started: `all` of several flows cannot be ordered; "
        "write an assertion for each flow",
    ),
    (
        "- user: x\n  metadata: phone",
        "cases.yml:5:19: test_cases.0.steps.0.metadata: unknown metadata `phone`; "
        "define it in this file, or in a conftest.yml beside or above it",
    ),
    (
        "- user: x\n- bot: costs ${PRICE}",
        "cases.yml:5:14: test_cases.0.steps.1.bot: `bot` is compared literally: environment variables are not "
        "replaced; use the assertion `bot_uttered` with `text_matches`",
    ),
    (
        "- user: x\n- slot_was_set: []",
        "cases.yml:5:23: test_cases.0.steps.1.slot_was_set: expected a list with at least 1 item",
    ),
]


@pytest.mark.parametrize(("steps", "said"), BAD)
def test_invalid_step_is_reported_with_its_place(steps: str, said: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PRICE", "5")
    [line] = case(steps).lines()
    assert line == said


BAD_FILES: list[tuple[str, list[str]]] = [
    ("fixtures: [{a: [{x: 1}]}]", ["1:1: `test_cases` is missing; only conftest.yml may have none"]),
    ("test_cases: []\ntestcases: []", ["2:1: testcases: unknown key `testcases`; did you mean `test_cases`?"]),
    ("test_cases: [{steps: [{user: x}]}]", ["1:14: test_cases.0: `test_case` is missing"]),
    (
        "test_cases: [{test_case: a, stps: [{user: x}]}]",
        ["1:29: test_cases.0.stps: unknown key `stps`; did you mean `steps`?"],
    ),
    ("test_cases: [{test_case: a, steps: null}]", ["1:36: test_cases.0.steps: expected a list, not nothing"]),
    ("test_cases: {a: b}", ["1:13: test_cases: expected a list, not a map"]),
    (
        "fixtures:\n- a: [{x: 1}]\n- a: [{x: 2}]\ntest_cases: [{test_case: a, steps: [{user: x}]}]",
        ["3:3: fixtures.1.a: two fixtures have the name `a`; the other is at x.yml:2:3"],
    ),
    (
        "metadata:\n- m: {x: 1}\n- m: {x: 2}\ntest_cases: [{test_case: a, steps: [{user: x}]}]",
        ["3:3: metadata.1.m: two sets of metadata have the name `m`; the other is at x.yml:2:3"],
    ),
    (
        "fixtures: [{premium: [{x: 1}]}]\ntest_cases: [{test_case: a, fixtures: [premum], steps: [{user: x}]}]",
        ["2:40: test_cases.0.fixtures.0: unknown fixture `premum`; did you mean `premium`?"],
    ),
    (
        "fixtures: [{1st: [{x: 1}]}]\ntest_cases: [{test_case: a, steps: [{user: x}]}]",
        ["1:13: fixtures.0.1st: expected a letter or _, then letters, digits, - and _, not '1st'"],
    ),
    (
        "metadata: [{a-b: {x: 1}}]\ntest_cases: [{test_case: a, steps: [{user: x}]}]",
        ["1:13: metadata.0.a-b: expected a letter, then letters, digits and _, not 'a-b'"],
    ),
    (
        "fixtures:\n- noon: [{x: 1}, {mocked_datetime: 2026-03-02}]\n"
        "test_cases: [{test_case: a, fixtures: [noon], steps: [{user: x}]}]",
        [
            "2:19: fixtures.0.noon.1.mocked_datetime: `mocked_datetime` is not supported: the agent uses its own "
            "clock; use `now` of an environment, for agents that read the playground's clock"
        ],
    ),
    (
        "stub_custom_actions:\n  some_tst::action_x: {}\ntest_cases: [{test_case: some test, steps: [{user: x}]}]",
        [
            "2:3: stub_custom_actions.some_tst::action_x: no test case `some_tst` in this file; "
            "did you mean `some_test`?"
        ],
    ),
    (
        "stub_custom_actions:\n  x: {response: []}\ntest_cases: [{test_case: a, steps: [{user: x}]}]",
        ["2:7: stub_custom_actions.x.response: unknown key `response`; did you mean `responses`?"],
    ),
    (
        "test_cases:\n- {test_case: a, fixtures: [n], steps: [{usr: x}]}\n"
        "- {test_case: b, steps: [{user: x, metadata: m}]}",
        [
            "2:29: test_cases.0.fixtures.0: unknown fixture `n`; "
            "define it in this file, or in a conftest.yml beside or above it",
            "2:42: test_cases.0.steps.0.usr: unknown key `usr`; did you mean `user`?",
            "3:46: test_cases.1.steps.0.metadata: unknown metadata `m`; "
            "define it in this file, or in a conftest.yml beside or above it",
        ],
    ),
]


@pytest.mark.parametrize(("text", "said"), BAD_FILES)
def test_all_mistakes_in_a_file_are_reported_with_their_places(text: str, said: list[str]) -> None:
    assert E2eFolder(x=text).lines() == [f"x.yml:{line}" for line in said]


def test_unused_fixture_may_set_the_clock() -> None:
    tests = case("- user: x", before="fixtures: [{noon: [{mocked_datetime: 2026-03-02}]}]\n")
    assert tests.scenario().initial_slots == {}


def test_test_cases_in_a_conftest_are_rejected() -> None:
    lines = E2eFolder(conftest="test_cases: [{test_case: a, steps: [{user: x}]}]").lines()
    assert lines == ["conftest.yml:1:1: test_cases: a conftest may not have test cases; move them to another file"]


def test_unreadable_conftest_is_reported_once() -> None:
    tests = E2eFolder(
        conftest="fixtures: [{base: [}", a="test_cases: [{test_case: a, fixtures: [base], steps: [{user: x}]}]"
    )
    [line] = tests.lines()
    assert line.startswith("conftest.yml:1:")
