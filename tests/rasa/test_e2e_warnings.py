"""E2E test files that the original tool accepts load too; what looks wrong in them is a warning."""

import json
from pathlib import Path
from typing import Any

import pytest

from clerkship.model.agent_domain import AgentDomain
from clerkship.rasa.agent import load_rasa
from clerkship.settings import Settings
from tests.rasa.servers import LISTEN, START, SmallRasa, bot
from tests.rasa.test_agent import SolverWithoutCapabilities
from tests.suite_files.library_folder import LibraryFolder
from tests.workbench import Workbench

DOMAIN = AgentDomain(
    source="domain.yml",
    slots={"amount": "float", "account": "categorical", "level": "strict_categorical", "note": "text"},
    choices={"account": ("savings", "Current"), "level": (1, 2), "note": ("x",)},
)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> LibraryFolder:
    monkeypatch.chdir(tmp_path)
    return LibraryFolder(tmp_path)


def write_case(folder: LibraryFolder, steps: str, slots: str = "") -> None:
    fixtures = f"fixtures: [{{f: [{slots}]}}]\n" if slots else ""
    named = "fixtures: [f], " if slots else ""
    folder.write("t.yml", f"{fixtures}test_cases: [{{test_case: a, {named}steps: {steps}}}]\n")


@pytest.mark.parametrize(
    ("slots", "warning"),
    [
        ("{amuont: 3}", "t.yml:1:18: fixtures.0.f.0.amuont: no slot `amuont` in domain.yml; did you mean `amount`?"),
        ("{amount: [3]}", "t.yml:1:26: fixtures.0.f.0.amount: the slot `amount` is of type float: expected a number, "),
        (
            "{account: gold}",
            "t.yml:1:27: fixtures.0.f.0.account: 'gold' is not one of the values of the slot `acc",
        ),
    ],
)
def test_fixture_that_does_not_fit_the_domain_is_a_warning(folder: LibraryFolder, slots: str, warning: str) -> None:
    write_case(folder, "[{user: hi}]", slots)
    [line] = folder.warnings(DOMAIN)
    assert line.startswith(warning)


@pytest.mark.parametrize(
    "steps",
    [
        "[{user: hi, assertions: [{slot_was_set: [{name: colour}]}]}]",
        "[{user: hi}, {slot_was_set: [colour]}]",
        "[{user: hi}, {slot_was_not_set: [{colour: red}]}]",
    ],
)
def test_slot_that_the_domain_lacks_is_a_warning_in_steps(folder: LibraryFolder, steps: str) -> None:
    write_case(folder, steps)
    [line] = [line for line in folder.warnings(DOMAIN) if "colour" in line.partition("needed for")[0]]
    assert "no slot `colour` in domain.yml" in line
    assert list(folder.load(DOMAIN).tasks) == ["a"]


def test_same_slots_are_mistakes_in_a_scenario_file(folder: LibraryFolder) -> None:
    folder.scenario("setup: {initial_slots: {colour: red, amount: many}}\n")
    assert len(folder.lines(DOMAIN)) == 2


@pytest.mark.parametrize(
    ("slots", "count"),
    [
        ("{account: gold}", 1),
        ("{account: savings}", 0),
        ("{account: CURRENT}", 0),
        ("{account: null}", 0),
        ("{level: 2}", 0),
        ("{level: '2'}", 0),
        ("{level: '3'}", 1),
        ("{note: anything}", 0),
    ],
)
def test_value_that_a_categorical_slot_does_not_list_is_a_warning(
    folder: LibraryFolder, slots: str, count: int
) -> None:
    folder.scenario(f"setup: {{initial_slots: {slots}}}\n")
    warnings = folder.warnings(DOMAIN)
    assert len(warnings) == count
    assert all("is not one of the values of the slot" in line for line in warnings)


def test_value_of_a_categorical_slot_gets_the_known_values_as_a_hint(folder: LibraryFolder) -> None:
    folder.scenario("setup: {initial_slots: {account: saving}}\n")
    [line] = folder.warnings(DOMAIN)
    assert line == (
        "eval/scenarios/one.yml:4:36: scenario.setup.initial_slots.account: 'saving' is not one of the values of the "
        "slot `account`; did you mean `savings`?"
    )


def test_asserted_value_that_a_categorical_slot_does_not_list_is_a_warning(folder: LibraryFolder) -> None:
    slots = "[{name: account, value: saving}, {name: account, value: Savings}]"
    folder.scenario(f"goals: {{assertions: [{{slot_was_set: {slots}}}]}}\n")
    [line] = folder.warnings(DOMAIN)
    assert line.endswith("'saving' is not one of the values of the slot `account`; did you mean `savings`?")


def test_categorical_slot_with_other_values_accepts_every_value(folder: LibraryFolder) -> None:
    folder.scenario("setup: {initial_slots: {account: gold}}\n")
    open_domain = DOMAIN.model_copy(update={"choices": {"account": ("savings", "__other__")}})
    assert folder.warnings(open_domain) == []


def test_number_for_a_categorical_slot_of_other_values_is_a_mistake(folder: LibraryFolder) -> None:
    folder.scenario("setup: {initial_slots: {level: 3}}\n")
    [line] = folder.lines(DOMAIN)
    assert "expected text, not 3" in line


def test_repeated_names_in_one_file_are_numbered_with_a_warning(folder: LibraryFolder) -> None:
    cases = "".join(f"  - {{test_case: pay, steps: [{{user: line {n}}}]}}\n" for n in range(3))
    folder.write("t.yml", f"test_cases:\n{cases}")
    library = folder.load()
    people = {name: loaded.task.people[0].first_line for name, loaded in library.tasks.items()}
    assert people == {"pay": "line 0", "pay (2)": "line 1", "pay (3)": "line 2"}
    assert folder.warnings() == [
        f"t.yml:{line}:17: test_cases.{line - 2}.test_case: another test case has this name too, so this one is called "
        f"'pay ({line - 1})'; the other is at t.yml:2:17"
        for line in (3, 4)
    ]
    assert library.find_case(Path("t.yml").resolve(), "pay").task.name == "pay"
    assert library.find_case(Path("t.yml").resolve(), "pay (2)").task.name == "pay (2)"


def test_names_of_two_files_and_repeated_ones_stay_apart(folder: LibraryFolder) -> None:
    case = "  - {test_case: pay, steps: [{user: hi}]}\n"
    folder.write("a.yml", f"test_cases:\n{case}{case}")
    folder.write("b.yml", f"test_cases:\n{case}{case}")
    assert list(folder.load().tasks) == ["pay", "pay (2)", "pay (b)", "pay (b 2)"]


def test_stub_applies_to_all_test_cases_of_its_name(folder: LibraryFolder) -> None:
    case = "  - {test_case: pay, steps: [{user: hi}]}\n"
    stubs = "stub_custom_actions: {'pay::action_pay': {events: [], responses: []}}\n"
    folder.write("t.yml", f"{stubs}test_cases:\n{case}{case}")
    scenarios = [loaded.task.scenario for loaded in folder.load().tasks.values()]
    assert [list(scenario.stubs) for scenario in scenarios if scenario is not None] == [["action_pay"]] * 2


@pytest.mark.parametrize(
    ("steps", "said"),
    [
        ("[&hi {user: hi}, {<<: *hi}]", ["hi", "hi"]),
        ("[&hi {user: hi}, {<<: *hi, user: bye}]", ["hi", "bye"]),
        ("[&a {user: a}, &b {user: b, assertions: []}, {<<: [*a, *b]}]", ["a", "b", "a"]),
    ],
)
def test_merge_keys_are_read(folder: LibraryFolder, steps: str, said: list[str]) -> None:
    write_case(folder, steps)
    [person] = folder.load().tasks["a"].task.people
    assert [line.say for line in person.lines] == said


def test_merge_keys_in_a_conftest_are_read(folder: LibraryFolder) -> None:
    folder.write("conftest.yml", "fixtures:\n  - base: [&b {amount: 1}]\n  - more: [{<<: *b, note: x}]\n")
    folder.write("t.yml", "test_cases: [{test_case: a, fixtures: [more], steps: [{user: hi}]}]\n")
    scenario = folder.load().tasks["a"].task.scenario
    assert scenario is not None
    assert scenario.initial_slots == {"amount": 1, "note": "x"}


def test_mistake_in_a_merged_step_is_reported(folder: LibraryFolder) -> None:
    write_case(folder, "[&hi {usr: hi}, {<<: *hi}]")
    assert any("unknown key `usr`" in line for line in folder.lines())


def test_merge_keys_are_still_refused_in_tasks(folder: LibraryFolder) -> None:
    folder.write("t.yml", "tasks:\n  - &a {name: A}\n  - {<<: *a, name: B}\n")
    assert any("merge keys are not part of YAML 1.2" in line for line in folder.lines())


def test_long_name_is_cut_with_a_warning_and_stays_unique(folder: LibraryFolder) -> None:
    name, stem = "n" * 150, "a_file_with_a_long_name_for_the_refunds_of_the_shop_and_its_customers"
    cases = [{"test_case": f"{name}{end}", "steps": [{"user": "hi"}]} for end in ("one", "two", "two")]
    folder.write(f"{stem}.yml", json.dumps({"test_cases": cases, "stub_custom_actions": {f"{name}one::act": {}}}))
    library, cut = folder.load(), "n" * 149 + "…"
    assert list(library.tasks) == [cut, f"{cut} ({stem[:29]}…)", f"{cut} (2)"]
    assert library.tasks[cut].task.scenario.stubs == {"act": {}}  # type: ignore[union-attr]
    assert f"the name has 153 characters, so this test case is called '{cut}'" in str(library.warnings[0])


def test_test_case_without_steps_loads_without_criteria(folder: LibraryFolder) -> None:
    write_case(folder, "[]")
    assert folder.load().tasks["a"].task.criteria == ()


def converse(bench: Workbench, text: str, *greeting: dict[str, Any]) -> tuple[str, list[str]]:
    """Run a test case against a server with a greeting; return the verdict and the messages that it got."""
    bench.write("t.yml", text)
    rasa = SmallRasa([], [START[0], *greeting, *START[1:], LISTEN])
    with rasa.served() as served:
        solver = SolverWithoutCapabilities(load_rasa(served.url, Settings()))
        task_run = bench.run_one(solver)
    assert (task_run.error, task_run.agent_error) == ("", "")
    return task_run.verdict or "", [message["message"] for message in rasa.messages]


@pytest.mark.parametrize(
    ("step", "verdict"),
    [
        ("{utter: utter_welcome}", "pass"),
        ("{bot: Welcome}", "pass"),
        ("{utter: utter_bye}", "fail"),
        ("{slot_was_not_set: [mood]}", "pass"),
    ],
)
def test_test_case_without_a_user_step_checks_the_start_of_a_session(bench: Workbench, step: str, verdict: str) -> None:
    text = f"test_cases: [{{test_case: a, steps: [{step}]}}]\n"
    assert converse(bench, text, bot("Welcome", "utter_welcome")) == (verdict, ["/session_start"])


def test_test_case_without_a_user_step_fails_without_a_greeting(bench: Workbench) -> None:
    assert converse(bench, "test_cases: [{test_case: a, steps: [{utter: utter_welcome}]}]\n")[0] == "fail"
