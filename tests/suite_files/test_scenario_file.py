"""Scenario files: valid and invalid content, and the tasks made from them."""

from pathlib import Path
from typing import Any

import pytest

from clerkship.engine.build import build_tasks
from clerkship.model.agent_domain import AgentDomain
from clerkship.model.errors import InputError
from clerkship.model.scenario import Scenario, ScenarioPerson
from clerkship.model.scenario_file import ScenarioFile
from clerkship.model.task import Criterion, Task
from clerkship.service.planning.plan import plan_run
from clerkship.service.planning.request import RunRequest
from clerkship.settings import Settings
from tests.suite_files.library_folder import CATALOG, LibraryFolder
from tests.workbench import Workbench

LINE = "eval/scenarios/one.yml"


def load_only_task(folder: LibraryFolder) -> tuple[Task, Scenario, ScenarioPerson]:
    [loaded] = folder.load().tasks.values()
    assert loaded.task.scenario is not None
    assert loaded.task.scenario.person is not None
    return loaded.task, loaded.task.scenario, loaded.task.scenario.person


def criteria(folder: LibraryFolder) -> list[tuple[str, str, bool | None]]:
    """Return the assertion, label and gate of each criterion."""
    return [(c.assertion.name, c.label, c.gate) for c in load_only_task(folder)[0].criteria]


# What it takes.


def test_minimal_scenario_is_a_task_without_criteria(folder: LibraryFolder) -> None:
    folder.scenario("")
    task, scenario, person = load_only_task(folder)
    assert (task.name, task.criteria, task.tags, task.compat) == ("One", (), (), None)
    assert (scenario.starts, scenario.initial_slots, person.simulation_context) == ("person", {}, "A customer.")
    assert person.needs_model


@pytest.mark.parametrize(
    "written",
    [
        "goals: {}",
        "goals: {assertions: [], criteria: []}",
        "setup: {}",
        "setup: {initial_slots: {}}",
        "setup: {initial_slots: {a: {b: [1, {c: null}]}, d: null}}",
        "type: happy_path",
        "goals: {assertions: [{bot_uttered: {text_matches: hello}}]}",
        "goals: {assertions: [{bot-uttered: {text_matches: hello}}]}",
        "goals: {assertions: [{assert: bot_uttered, text_matches: hello}]}",
        "goals: {expected_tools: []}",
        "goals: {expected_tools: [{tool_group: [{ordered: true}, {gate: true}, {tool_called: a}]}]}",
    ],
)
def test_valid_variants_of_the_format_are_accepted(folder: LibraryFolder, written: str) -> None:
    folder.write(LINE, f"scenario:\n  name: One\n  simulation_context: x\n  {written}\n")
    assert list(folder.load().tasks) == ["One"]


def test_empty_name_defaults_to_the_file_name(folder: LibraryFolder) -> None:
    folder.scenario('name: ""', "eval/scenarios/order_delay.yml")
    assert load_only_task(folder)[0].name == "order_delay"


def test_type_becomes_the_first_tag(folder: LibraryFolder) -> None:
    folder.scenario("type: edge_case\ntags: [slow]")
    assert load_only_task(folder)[0].tags == ("edge_case", "slow")


def test_additional_keys_are_passed_to_the_task(folder: LibraryFolder) -> None:
    folder.scenario("""\
        setup:
          person: {opening: Hello, fallback: Well?, end: {after: 3}}
          max_turns: 4
          turn_timeout: 2.5
        timeout: 30
        """)
    task, scenario, person = load_only_task(folder)
    assert (scenario.max_turns, scenario.turn_timeout, task.timeout) == (4, 2.5, 30)
    assert (person.opening, person.simulation_context, person.needs_model) == ("Hello", "A customer.", False)


def test_every_assertion_gates_and_has_a_label(folder: LibraryFolder) -> None:
    folder.scenario("""\
        goals:
          assertions:
            - bot_uttered: {utter_name: utter_x}
            - sequencing: [{flow_started: a}, {slot_was_set: b}]
        """)
    assert criteria(folder) == [
        ("bot_uttered", "bot_uttered(utter_x)", True),
        ("sequencing", "sequencing(2 steps)", True),
    ]


def tools(written: list[Any]) -> list[Criterion]:
    """Return expected tools as criteria."""
    file = {"name": "One", "simulation_context": "x", "goals": {"expected_tools": written}}
    return list(ScenarioFile.model_validate(file).to_task("one").criteria)


def test_criterion_in_plain_language_is_judged_and_gates() -> None:
    file = {"name": "One", "simulation_context": "x", "goals": {"criteria": ["Be kind"]}}
    [kind] = ScenarioFile.model_validate(file).to_task("one").criteria
    assert (kind.label, kind.assertion.name, kind.assertion.args, kind.gate) == ("Be kind", "judged", "Be kind", True)


def test_expected_tools_gate_only_if_requested() -> None:
    alone, full, group = tools(
        [
            {"tool_called": "look_up"},
            {"tool_called": {"tool_name": "refund", "arguments": {"amount": 5}}, "gate": True},
            {"tool_group": [{"ordered": True}, {"gate": True}, {"tool_called": "a"}, {"tool_called": "b"}]},
        ]
    )
    assert (alone.label, alone.gate, alone.weight) == ("tool_called(look_up)", False, 0.0)
    assert (full.label, full.gate, full.weight) == ("tool_called(refund)", True, 1.0)
    assert full.assertion.args == {"tool_name": "refund", "arguments": {"amount": 5}}
    assert (group.label, group.gate) == ("tool_group(a, b)", True)
    assert isinstance(group.assertion.args, dict)
    assert group.assertion.args["ordered"] is True


# What it refuses, each with its place.


@pytest.mark.parametrize(
    ("written", "said"),
    [
        ("critera: []", "4:3: scenario.critera: unknown key `critera`"),
        ("setup: {initial_slot: {}}", "4:11: scenario.setup.initial_slot: unknown key `initial_slot`; did you mean"),
        ("goals: {asertions: []}", "4:11: scenario.goals.asertions: unknown key `asertions`; did you mean"),
        ("setup: {person: {opning: x}}", "4:20: scenario.setup.person.opning: unknown key `opning`; did you mean"),
        ("goals: {expected_tools: [{tool: a}]}", "4:29: scenario.goals.expected_tools.0.tool: unknown key `tool`"),
        ("setup:", "4:9: scenario.setup: expected a map, not nothing"),
        ("goals:", "4:9: scenario.goals: expected a map, not nothing"),
        ("setup: {initial_slots: null}", "4:26: scenario.setup.initial_slots: expected a map, not nothing"),
        ("setup: {initial_slots: [a]}", "4:26: scenario.setup.initial_slots: expected a map, not a list"),
        ("goals: {criteria: null}", "4:21: scenario.goals.criteria: expected a list, not nothing"),
        ("goals: {criteria: Be nice}", "4:21: scenario.goals.criteria: expected a list, not 'Be nice'"),
        ("goals: {criteria: [3]}", "4:22: scenario.goals.criteria.0: expected text, not 3; quote it if it is text"),
        ('goals: {criteria: [""]}', "4:22: scenario.goals.criteria.0: expected text that is not empty"),
        ('goals: {criteria: ["  "]}', "4:22: scenario.goals.criteria.0: expected text that is not empty"),
        ("goals: {assertions: null}", "4:23: scenario.goals.assertions: expected a list, not nothing"),
        (
            "goals: {assertions: [{}]}",
            "4:24: scenario.goals.assertions.0: expected a map with one key, the assertion's",
        ),
        (
            "goals: {assertions: [{bot_uttered: {utter_name: a}, never: {event: x}}]}",
            "name, not 2 (bot_uttered, never)",
        ),
        ("goals: {assertions: [null]}", "scenario.goals.assertions.0: expected a map with one key"),
        (
            "goals: {assertions: [{bot_utered: {}}]}",
            "4:25: scenario.goals.assertions.0.bot_utered: unknown assertion `bot_utered`; did you mean `bot_uttered`?",
        ),
        ("goals: {assertions: [{bot_uttered: {}}]}", "expected `utter_name`, `text_matches` or `buttons`"),
        ("goals: {assertions: [{bot_uttered: {text_matches: '('}}]}", "4:53: scenario.goals.assertions.0.bot_uttered"),
        ("type: [a]", "4:9: scenario.type: expected text, not a list"),
        ("goals: {expected_tools: [{gate: true}]}", "expected `tool_called` or `tool_group`"),
        ("goals: {expected_tools: [{tool_group: [{ordered: true}]}]}", "`tool_group` needs at least one `tool_called`"),
        ("name: Twice", "4:3: duplicate key `name`"),
        ("solution: nowhere.py", "4:13: scenario.solution: nowhere.py: there is no such file"),
    ],
)
def test_invalid_scenario_is_reported_with_its_place(folder: LibraryFolder, written: str, said: str) -> None:
    folder.write(LINE, f"scenario:\n  name: One\n  simulation_context: x\n  {written}\n")
    lines = folder.lines()
    assert len(lines) == 1, lines
    assert said in lines[0]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("scenario: {name: A}", "1:11: scenario: `simulation_context` is missing"),
        ("scenario: {simulation_context: x}", "1:11: scenario: `name` is missing"),
        ("scenario: {name: null, simulation_context: x}", "1:18: scenario.name: expected text, not nothing"),
        (
            "scenario: {name: A, simulation_context: null}",
            "1:41: scenario.simulation_context: expected text, not nothing",
        ),
        (
            "scenario: {name: A, simulation_contxt: x}",
            "unknown key `simulation_contxt`; did you mean `simulation_context`?",
        ),
        ("scenario: null", "1:11: scenario: expected a map, not nothing"),
        ("scenario: []", "1:11: scenario: expected a map, not a list"),
        ("scenario: {name: A, simulation_context: x}\nversion: 1", "2:1: version: unknown key `version`"),
        ("scenarios: []", "1:1: scenarios: unknown key `scenarios`, so the file is skipped; did you mean `scenario`?"),
    ],
)
def test_file_without_required_keys_is_rejected(folder: LibraryFolder, text: str, said: str) -> None:
    folder.write(LINE, text)
    lines = folder.lines()
    assert len(lines) == 1, lines
    assert said in lines[0]


def test_mistakes_of_all_files_are_reported_in_order(folder: LibraryFolder) -> None:
    folder.scenario("goals: {criteria: [1], assertions: [{sequencin: []}]}\nsetup:", "eval/scenarios/b.yml")
    folder.write("eval/scenarios/a.yml", "scenario: {name: A}")
    folder.write("eval/scenarios/c.yml", "scenario: {name: [}")
    found = [line.partition(": ")[0] for line in folder.lines()]
    assert found == [
        f"eval/scenarios/{place}" for place in ("a.yml:1:11", "b.yml:4:22", "b.yml:4:40", "b.yml:5:9", "c.yml:1:19")
    ]


# YAML and the environment.


def test_scenario_file_is_yaml_1_2(folder: LibraryFolder) -> None:
    folder.scenario("setup: {initial_slots: {user: yes, off: 1:30, on: true, no: 0o10}}")
    assert load_only_task(folder)[1].initial_slots == {"user": "yes", "off": "1:30", "on": True, "no": 8}


def test_variables_are_stored_by_name_and_expanded_at_run_time(
    bench: Workbench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SHOP_ACCOUNT", "account-77")
    bench.write(
        "one.yml",
        """
        scenario:
          name: One
          simulation_context: You are ${SHOP_ACCOUNT}.
          setup:
            initial_slots: {account: "${SHOP_ACCOUNT}", template: "$${SHOP_ACCOUNT}"}
            person: {opening: "I am ${SHOP_ACCOUNT}", end: {after: 1}}
          goals:
            assertions: [{bot_uttered: {text_matches: "hello ${SHOP_ACCOUNT}"}}]
        """,
    )

    def greets(message: Any) -> str:
        return f"hello {message.slots['account']}"

    task_run = bench.run_one(greets)
    assert task_run.verdict == "pass"
    stored = bench.store.blob(task_run.snapshot)
    assert b"${SHOP_ACCOUNT}" in stored
    assert b"account-77" not in stored
    set_slots = [event for event in bench.events(task_run) if event["kind"] == "agent.slot.set"]
    assert [(e["payload"]["name"], e["payload"]["value"], e.get("expand", False)) for e in set_slots] == [
        ("account", "${SHOP_ACCOUNT}", True),
        ("template", "${SHOP_ACCOUNT}", False),
    ]


def test_unset_variable_is_reported_with_its_place(folder: LibraryFolder) -> None:
    folder.scenario('setup: {initial_slots: {a: "$${NO_SUCH}", b: "${NO_SUCH}"}}')
    assert folder.lines() == [
        f"{LINE}:4:48: scenario.setup.initial_slots.b: the environment variable NO_SUCH is not set; "
        "set it, or write $${NO_SUCH} to keep the text as it is"
    ]


# Names.


def test_scenarios_with_the_same_name_get_the_file_name_added(folder: LibraryFolder) -> None:
    folder.scenario("name: Same", "a/x.yml")
    folder.scenario("name: Same", "a/y.yml")
    folder.scenario("name: Same", "b/y.yml")
    folder.scenario('name: ""', "a/z.yml")
    folder.scenario('name: ""', "b/z.yml")
    assert list(folder.load().tasks) == ["Same (x)", "Same (y)", "z", "Same (b/y)", "z (b/z)"]


def test_scenario_is_selected_by_file_name_or_benchmark(folder: LibraryFolder) -> None:
    folder.scenario("name: Agent handles delayed order gracefully", "eval/scenarios/order_delay.yml")
    folder.scenario("name: Another", "eval/scenarios/other.yml")
    folder.write("eval/all.yml", "benchmark: {name: B, slug: b, tasks: [order_delay, Anoth*]}")
    library = folder.load()
    assert [t.task.name for t in library.select(names=["order_delay"])] == ["Agent handles delayed order gracefully"]
    assert len(library.select(names=library.benchmarks["b"].tasks)) == 2
    folder.write("eval/all.yml", "benchmark: {name: B, slug: b, tasks: [order_dely]}")
    assert "no task `order_dely`; did you mean `order_delay`?" in folder.lines()[0]


def test_scenario_uses_the_named_or_only_environment(folder: LibraryFolder) -> None:
    folder.write("places.yml", "environments: [{name: a, simulators: {talk: {kind: chat}}}, {name: b}]")
    folder.scenario("environment: a")
    assert folder.load().tasks["One"].environment.name == "a"
    folder.scenario("environment: b")
    assert "has no sandbox of kind chat; add `chat: {kind: chat}` under `simulators`" in folder.lines()[0]
    folder.scenario("environment: c")
    assert "unknown environment `c`" in folder.lines()[0]
    folder.scenario("")
    assert "`environment` is missing; use one of a, b" in folder.lines()[0]


def test_scenario_without_goals_is_ungraded_and_without_script_needs_a_model(bench: Workbench) -> None:
    scripted = "scenario: {name: One, simulation_context: x, setup: {person: {opening: Hi, end: {after: 1}}}}"
    bench.write("one.yml", scripted)
    assert bench.run_one(lambda message: "Hello").verdict == "ungraded"
    assert bench.exit_code() == 0


def test_oracle_runs_the_solution_beside_the_file(bench: Workbench) -> None:
    bench.write("say.py", "def on_turn(message):\n    return 'hello'\n")
    bench.write(
        "one.yml",
        """
        scenario:
          name: One
          simulation_context: x
          setup: {person: {opening: Hi, end: {after: 1}}}
          goals: {assertions: [{bot_uttered: {text_matches: hello}}]}
          solution: say.py
        """,
    )
    assert bench.run_one("oracle").verdict == "pass"
    assert bench.run_one("nop").verdict == "fail"


def test_only_the_given_file_runs(folder: LibraryFolder) -> None:
    path = folder.scenario("setup: {person: {opening: Hi}}")
    folder.scenario("name: Other\nsetup: {person: {opening: Hi}}", "eval/scenarios/other.yml")

    def names(at: Path, **more: Any) -> list[str]:
        plan = plan_run(RunRequest(path=at, agent="nop", **more), Settings(), CATALOG)
        return [snapshot.task.name for snapshot in plan.snapshots]

    assert names(path) == ["One"]
    assert names(folder.root / "eval") == ["One", "Other"]
    assert names(folder.root / "eval", tasks=("other",)) == ["Other"]


@pytest.mark.parametrize("name", ["credentials", "endpoints", "docker-compose"])
def test_scenario_file_can_have_any_name(folder: LibraryFolder, name: str) -> None:
    folder.scenario("name: Odd", f"eval/scenarios/{name}.yml")
    assert list(folder.load().tasks) == ["Odd"]


def test_slot_of_type_any_accepts_any_value(folder: LibraryFolder) -> None:
    folder.scenario("setup: {initial_slots: {a: 1}}")
    assert folder.warnings(AgentDomain(source="d", slots={"a": ""})) == []


def test_changed_variable_that_makes_a_task_invalid_is_an_input_error(
    folder: LibraryFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WHO", "x")
    folder.scenario("goals: {assertions: [bot_uttered: {text_matches: '${WHO}'}]}")
    library = folder.load()
    [loaded] = library.tasks.values()
    monkeypatch.setenv("WHO", "(")
    with pytest.raises(InputError, match=r"task 'One': bot_uttered\.text_matches: not a regular expression"):
        build_tasks([library.snapshot(loaded, 9)], {}, CATALOG)
    assert "not a regular expression" in folder.lines()[0]


def test_e2e_file_is_checked_with_variables_expanded(folder: LibraryFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    case = "{test_case: a, steps: [{user: x, assertions: [{bot_uttered: {text_matches: '${WHO}'}}]}]}"
    folder.write("tests/cases.yml", f"test_cases: [{case}]")
    monkeypatch.setenv("WHO", "(")
    assert "not a regular expression" in folder.lines()[0]
