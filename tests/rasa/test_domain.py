"""Rasa domains: reading and finding them, and checking files against them."""

from pathlib import Path

import pytest

from clerkship.engine.catalog import build_catalog_without_plugins
from clerkship.model.agent_domain import AgentDomain
from clerkship.model.errors import InputError
from clerkship.rasa.names import BUILT_IN_ACTIONS, BUILT_IN_RESPONSES, BUILT_IN_SLOTS
from clerkship.suite_files.agent_check import find_event_needs, find_mentions
from clerkship.suite_files.foreign import find_domain, read_domain
from tests.suite_files.library_folder import LibraryFolder
from tests.suite_files.seed import DOMAIN

SHOP = AgentDomain(
    source="domain.yml",
    slots={"authenticated": "bool", "order_id": "text", "amount": "float", "items": "list", "plan": "categorical"}
    | {"anything": "any", "odd": "shop.slots.OddSlot"},
    actions=frozenset({"action_check", "utter_greet"}),
    responses=frozenset({"utter_greet"}),
    flows=frozenset({"check_order", "pattern_chitchat"}),
)


def get_error(path: Path) -> list[str]:
    """Return the error for an invalid domain."""
    with pytest.raises(InputError) as caught:
        read_domain(path)
    return [str(problem).replace(f"{path.parent}/", "") for problem in caught.value.problems]


# Reading.


def test_domain_file_is_read_with_actions_forms_and_responses(folder: LibraryFolder) -> None:
    folder.write("domain.yml", DOMAIN + "forms:\n  order_form: {required_slots: [order_id]}\nintents: [greet]\n")
    domain = read_domain(folder.root / "domain.yml")
    assert domain.slots == {
        "authenticated": "bool",
        "account_id": "text",
        "order_id": "text",
        "transfer_amount": "float",
    }
    responses = frozenset({"utter_order_delayed", "utter_dont_know"})
    assert domain.responses == responses
    assert domain.actions == responses | {"action_check_order_status", "action_verify_account", "order_form"}
    assert domain.source.endswith("domain.yml")


def test_domain_folder_is_merged_and_missing_keys_are_unknown(folder: LibraryFolder) -> None:
    folder.write("domain/slots.yml", "slots: {a: {type: text}}")
    folder.write("domain/deep/more.yaml", "slots: {b: {type: bool}}\nactions: [action_b]")
    folder.write("domain/empty.yml", "# nothing yet\n")
    folder.write("domain/nlu.yml", "nlu: [{intent: greet, examples: x}]")
    domain = read_domain(folder.root / "domain")
    assert (domain.slots, domain.actions) == ({"a": "text", "b": "bool"}, frozenset({"action_b"}))
    assert (domain.responses, domain.flows) == (None, None)


def test_flows_beside_the_domain_are_read_and_mistakes_there_ignored(folder: LibraryFolder) -> None:
    folder.write("domain.yml", "slots: {}")
    folder.write("data/flows/orders.yml", "flows: {check_order: {steps: []}}")
    folder.write("data/flows/broken.yml", "flows: {")
    assert read_domain(folder.root / "domain.yml").flows == frozenset({"check_order"})


def test_merge_keys_and_anchors_are_accepted(folder: LibraryFolder) -> None:
    folder.write(
        "domain.yml",
        "slots:\n  a: &base {type: text, values: []}\n  b: {<<: *base, type: bool}\n  c: {<<: [*base]}\n",
    )
    assert read_domain(folder.root / "domain.yml").slots == {"a": "text", "b": "bool", "c": "text"}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("slots: [a]", ["domain.yml:1:8: slots: expected a map of slots by name, not a list"]),
        ("slots: {a: text}", ["domain.yml:1:12: slots.a: expected a map with the slot's `type`, not 'text'"]),
        (
            "slots: {a: {}}",
            ["domain.yml:1:12: slots.a: `type` is missing; use text, bool, float, list, categorical or any"],
        ),
        ("slots: {a: {type: 3}}", ["domain.yml:1:19: slots.a.type: expected a type, not 3; use text, bool"]),
        ("actions: action_x", ["domain.yml:1:10: actions: expected a list of names, not 'action_x'"]),
        (
            "actions:\n- [x]\n- 3",
            ["domain.yml:2:3: actions.0: expected a name", "domain.yml:3:3: actions.1: expected a name"],
        ),
        ("responses: []", ["domain.yml:1:12: responses: expected a map by name, not a list"]),
        ("slots: {a: {type: text}, a: {type: bool}}", ["domain.yml:1:26: duplicate key `a`"]),
        ("slots: {\n", ["domain.yml:2:1: not YAML: did not find expected node content"]),
        ("", ["domain.yml:1:1: the file is empty, or has only comments"]),
        ("- a", ["domain.yml:1:1: expected a map with `slots`, `actions`, `responses`, not a list"]),
        ("task: {name: A}", ["domain.yml: this is not a Rasa domain; expected `slots`"]),
    ],
)
def test_mistake_in_a_domain_is_reported_with_its_place(folder: LibraryFolder, text: str, said: list[str]) -> None:
    lines = get_error(folder.write("domain.yml", text))
    assert len(lines) == len(said), lines
    assert [
        line
        for line, start in zip(lines, said, strict=True)
        if not line.startswith(start[:18]) or start[18:] not in line
    ] == []


def test_missing_domain_is_reported(tmp_path: Path) -> None:
    assert "there is no such domain; give a file, or a folder of files" in get_error(tmp_path / "domian.yml")[0]
    (tmp_path / "empty").mkdir()
    assert "this is not a Rasa domain" in get_error(tmp_path / "empty")[0]


# Finding.


@pytest.mark.parametrize("name", ["domain.yml", "domain.yaml", "domain/slots.yml"])
@pytest.mark.parametrize("pointed", ["", "eval", "eval/scenarios", "eval/scenarios/a.yml"])
def test_domain_of_the_project_is_found(
    folder: LibraryFolder, name: str, pointed: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder.write(f"shop/{name}", "slots: {a: {type: text}}")
    folder.write("shop/eval/scenarios/a.yml", "scenario: {}")
    monkeypatch.chdir(folder.root / "shop")
    assert find_domain(folder.root / "shop" / pointed) == Path(name.partition("/")[0])
    assert find_domain(Path(pointed)) == Path(name.partition("/")[0])


def test_domain_too_far_up_or_other_file_is_not_found(folder: LibraryFolder) -> None:
    folder.write("domain.yml", "slots: {}")
    folder.write("a/b/c/x.yml", "scenario: {}")
    assert find_domain(folder.root / "a" / "b") == folder.root / "domain.yml"
    assert find_domain(folder.root / "a" / "b" / "c") is None
    folder.write("a/domain.yml", "task: {}")
    folder.write("a/domain/model.py", "slots: 1")
    assert find_domain(folder.root / "a" / "b") == folder.root / "domain.yml"


# Slots: mistakes.


@pytest.mark.parametrize(
    ("slot", "wanted"),
    [
        ("order_id: 9981", "text: expected text, not 9981; quote it"),
        ("order_id: true", "text: expected text, not true"),
        ('authenticated: "true"', "bool: expected true or false, not 'true'; write true or false, without quotes"),
        ("authenticated: 1", "bool: expected true or false, not 1"),
        ("authenticated: yes", "bool: expected true or false, not 'yes'"),
        ("amount: true", "float: expected a number, not true"),
        ('amount: "3"', "float: expected a number, not '3'"),
        ("items: a", "list: expected a list, not 'a'"),
        ("plan: 3", "categorical: expected text, not 3"),
        ("requested_slot: 3", "text: expected text, not 3"),
    ],
)
def test_value_of_the_wrong_slot_type_is_rejected(folder: LibraryFolder, slot: str, wanted: str) -> None:
    name, _, value = slot.partition(": ")
    folder.scenario(f"setup:\n  initial_slots: {{{slot}}}")
    [line] = folder.lines(SHOP)
    assert f"scenario.setup.initial_slots.{name}: the slot `{name}` is of type {wanted}" in line
    assert line.startswith(f"eval/scenarios/one.yml:5:{len(f'    initial_slots: {{{name}: ') + 1}:")
    folder.scenario("")
    begins = "starts: person, person: {opening: Hi}"
    folder.write("task.yml", f"task: {{name: A, scenario: {{initial_slots: {{{name}: {value}}}, {begins}}}}}")
    [line] = folder.lines(SHOP)
    assert line.startswith("task.yml:1:")
    assert wanted in line


@pytest.mark.parametrize(
    "slots",
    [
        "{order_id: '1', authenticated: false, amount: 3, items: [], plan: gold, anything: {a: 1}, odd: 3}",
        "{order_id: null, authenticated: null, amount: null, items: null}",
        "{amount: 2.5, requested_slot: order_id, session_started_metadata: {a: 1}, flow_hashes: {}, return_value: 3}",
    ],
)
def test_values_of_the_right_slot_type_are_accepted(folder: LibraryFolder, slots: str) -> None:
    folder.scenario(f"setup: {{initial_slots: {slots}}}")
    assert folder.warnings(SHOP) == []


def test_unknown_slot_is_rejected(folder: LibraryFolder) -> None:
    folder.scenario("""\
        setup: {initial_slots: {order_idd: x}}
        goals:
          assertions:
            - sequencing: [{slot_was_set: autenticated}, {slot_was_set: order_id}]
        """)
    folder.write(
        "task.yml",
        """
        task:
          name: A
          scenario: {initial_slots: {amuont: 3}, starts: person, person: {opening: Hi}}
          criteria: [{label: x, assertion: {sequencing: {steps: [{slot_was_set: itmes}]}}}]
        """,
    )
    assert folder.lines(SHOP) == [
        "eval/scenarios/one.yml:4:27: scenario.setup.initial_slots.order_idd: no slot `order_idd` in domain.yml; "
        "did you mean `order_id`?",
        "eval/scenarios/one.yml:7:37: scenario.goals.assertions.0.sequencing.0.slot_was_set: no slot `autenticated` in "
        "domain.yml; did you mean `authenticated`?",
        "task.yml:4:30: task.scenario.initial_slots.amuont: no slot `amuont` in domain.yml; did you mean `amount`?",
        "task.yml:5:73: task.criteria.0.assertion.sequencing.steps.0.slot_was_set: no slot `itmes` in domain.yml; "
        "did you mean `items`?",
    ]


def test_missing_domain_is_one_warning(folder: LibraryFolder) -> None:
    folder.scenario("setup: {initial_slots: {a: 1}}", "a.yml")
    folder.scenario("name: B\ngoals: {assertions: [{sequencing: [{slot_was_set: b}]}]}", "b.yml")
    said = "slot names and types were not checked, because no domain is known; use --domain, or an agent `rasa:…`"
    assert folder.warnings() == [said]
    folder.scenario("", "a.yml")
    folder.scenario("name: B", "b.yml")
    assert folder.warnings() == []


# Everything else: warnings.


def test_unknown_actions_responses_and_flows_are_warnings(folder: LibraryFolder) -> None:
    folder.scenario("""\
        goals:
          assertions:
            - bot_uttered: {utter_name: utter_great}
            - bot_did_not_utter: {utter_name: utter_nothing_like_it_at_all}
            - sequencing: [{action_executed: action_chek}, {flow_started: chek_order}]
        """)
    at = "eval/scenarios/one.yml:"
    assert folder.warnings(SHOP) == [
        f"{at}6:35: scenario.goals.assertions.0.bot_uttered.utter_name: no response `utter_great` in domain.yml; "
        "did you mean `utter_greet`?",
        f"{at}7:41: scenario.goals.assertions.1.bot_did_not_utter.utter_name: no response "
        "`utter_nothing_like_it_at_all` in domain.yml; known: utter_greet",
        f"{at}8:40: scenario.goals.assertions.2.sequencing.0.action_executed: no action `action_chek` in domain.yml; "
        "did you mean `action_check`?",
        f"{at}8:69: scenario.goals.assertions.2.sequencing.1.flow_started: no flow `chek_order` in domain.yml; "
        "did you mean `check_order`?",
    ]


def test_built_in_and_unknowable_names_are_not_warned_about(folder: LibraryFolder) -> None:
    folder.scenario("""\
        goals:
          assertions:
            - bot_uttered: {utter_name: utter_ask_rephrase}
            - sequencing:
                - {action_executed: action_listen}
                - {action_executed: utter_greet}
                - {action_executed: utter_can_do_something_else}
                - {flow_started: pattern_clarification}
                - {slot_was_set: requested_slot}
        """)
    assert folder.warnings(SHOP) == []
    folder.scenario("goals: {assertions: [{bot_uttered: {utter_name: x}}, {sequencing: [{flow_started: y}]}]}")
    assert folder.warnings(AgentDomain(source="a server")) == []


EMITS = {"agent.slot.set", "agent.action.executed"}


def test_events_that_the_engine_does_not_report_are_warnings(folder: LibraryFolder) -> None:
    folder.scenario("""\
        goals:
          assertions:
            - sequencing: [{flow_started: a}, {slot_was_set: b}, {flow_completed: a}]
            - event_occurred: {event: agent.skill.activated}
            - event_occurred: {event: agent.action.executed}
        """)
    engine, at = "Rasa 3.6 (open source)", "eval/scenarios/one.yml:"
    domain = AgentDomain(source="it", slots={"b": "any"})
    assert folder.warnings(domain, engine=engine, emits=EMITS) == [
        f"{at}6:37: scenario.goals.assertions.0.sequencing.0.flow_started: `sequencing`: {engine} reports no flows",
        f"{at}6:77: scenario.goals.assertions.0.sequencing.2.flow_completed: `sequencing`: {engine} reports no flows",
        f"{at}7:33: scenario.goals.assertions.1.event_occurred.event: `event_occurred`: {engine} reports no skills",
    ]
    some = {*EMITS, "agent.flow.started", "agent.skill.activated"}
    [only] = folder.warnings(domain, engine=engine, emits=some)
    assert only.endswith(f"`sequencing`: {engine} reports no `agent.flow.completed`")
    assert folder.warnings(domain, engine=engine) == []


RESPONSES = ["response utter_a", "response utter_b"]


@pytest.mark.parametrize(
    ("name", "args", "found"),
    [
        ("slot_was_set", [{"name": "a", "value": 1}, {"name": "b"}], ["slot a", "slot b"]),
        ("slot_was_not_set", {"name": "a"}, ["slot a"]),
        ("slot_was_set", {"slots": [{"name": "a"}]}, ["slot a"]),
        ("slot_was_set", ["a", None, {"name": 3}], []),
        ("flow_started", "a", ["flow a"]),
        ("flow_started", {"flow_ids": ["a", 3, "b"], "operator": "all"}, ["flow a", "flow b"]),
        ("flow_completed", {"flow_id": "a", "flow_step_id": "x"}, ["flow a"]),
        ("pattern_clarification_contains", {"flow_ids": ["a"]}, ["flow a"]),
        ("pattern_clarification_contains", ["a name, not an id"], []),
        ("action_executed", "action_a", ["action action_a"]),
        ("generative_response_is_grounded", {"utter_name": "utter_a", "utter_source": "X"}, ["response utter_a"]),
        ("bot_uttered", "utter_a", []),
        ("sequencing", [{"flow_interrupted": "a"}, {"event": "agent.slot.set"}, {"slot_was_set": 3}], ["flow a"]),
        ("sequencing", [{"bot_uttered": "utter_a"}, {"bot_uttered": {"utter_name": "utter_b"}}], RESPONSES),
        ("never", {"event": "agent.slot.set"}, []),
    ],
)
def test_names_in_assertions_are_found(name: str, args: object, found: list[str]) -> None:
    assert [f"{mention.kind} {mention.name}" for mention in find_mentions(name, args)] == found


def test_assertions_need_existing_events() -> None:
    catalog = build_catalog_without_plugins()
    events = catalog.events
    told = {name: catalog.reads(name) for name in catalog.assertions}
    assert {kind for kinds in told.values() for kind in kinds} <= events.keys()
    assert told["tool_called"] == {"agent.tool.executed", "agent.action.executed"}
    assert told["slot_was_not_set"] == {"agent.slot.set"}
    assert not told["never"] | catalog.reads("nothing")
    ours_alone = {name for name, check in catalog.assertions.items() if not check.engines}
    spoken = {"bot_uttered", "bot_did_not_utter", "sequencing"}
    assert {n for n in told if not told[n]} - ours_alone - spoken == {
        "generative_response_is_relevant",
        "generative_response_is_grounded",
    }
    steps = [{name: "x"} for name in ("flow_started", "flow_completed", "flow_cancelled", "flow_interrupted")]
    steps += [{"action_executed": "x"}, {"slot_was_set": "x"}]
    found = list(find_event_needs("sequencing", steps, catalog.reads))
    assert len(found) == 6
    assert {kind for reading in found for kind in reading.kinds} <= events.keys()


def test_built_in_names_have_valid_form() -> None:
    assert {"action_listen", "action_session_start", "action_clean_stack"} <= BUILT_IN_ACTIONS
    assert {"utter_flow_cancelled_rasa", "utter_internal_error_rasa"} <= BUILT_IN_RESPONSES
    assert {
        "requested_slot",
        "session_started_metadata",
        "return_value",
        "flow_hashes",
        "dialogue_stack",
    } <= BUILT_IN_SLOTS.keys()


# A Rasa project's own files.

PROJECT = {
    "config.yml": "recipe: default.v1\nassistant_id: shop\nlanguage: en\npipeline:\n- name: X\npolicies: null\n",
    "domain.yml": DOMAIN,
    "endpoints.yml": "action_endpoint: {url: http://localhost:5055/webhook}\n",
    "credentials.yml": "rest:\n",
    "data/nlu.yml": 'version: "3.1"\nnlu:\n- intent: greet\n  examples: |\n    - hey\n',
    "data/rules.yml": "version: '3.1'\nrules: [{rule: a, rule: twice}]\n",
    "data/stories.yml": "stories:\n- <<: x\n",
}


def test_whole_rasa_project_can_be_loaded(folder: LibraryFolder) -> None:
    for name, text in PROJECT.items():
        folder.write(name, text)
    folder.scenario("")
    library = folder.load()
    assert list(library.tasks) == ["One"]
    assert sorted(Path(file).name for file in library.skipped_files) == sorted(Path(name).name for name in PROJECT)


def test_project_without_scenarios_reports_skipped_files(folder: LibraryFolder) -> None:
    folder.write("domain.yml", DOMAIN)
    [line] = folder.lines()
    assert line.endswith("the key `task`, `scenario` or `test_cases`; 1 other file skipped")
