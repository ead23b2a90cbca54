"""The path that a draft takes through a flow, and the values that it asserts."""

from pathlib import Path
from textwrap import dedent, indent
from typing import Any

import pytest

from clerkship.engine.catalog import RegisteredCatalog
from clerkship.rasa.drafts.conditions import Requirement
from clerkship.rasa.drafts.drafting import DraftRequest, draft_scenarios
from clerkship.settings import Settings
from clerkship.suite_files.yaml import parse_yaml

SLOTS = """
slots:
  pet: {type: text, mappings: [{type: from_llm}]}
  weight: {type: float, mappings: [{type: from_llm}]}
  diet: {type: categorical, values: [dry, wet, raw], mappings: [{type: from_llm}]}
  chipped: {type: categorical, values: [true, false], mappings: [{type: from_llm}]}
  agreed: {type: bool, mappings: [{type: from_llm}]}
  wish: {type: text, mappings: [{type: from_llm}]}
  tag_number: {type: text, mappings: [{type: from_llm}]}
  table_free: {type: bool, mappings: [{type: controlled}]}
  outcome: {type: text, mappings: [{type: controlled}]}
  signed_in: {type: bool, mappings: [{type: controlled}]}
  clinic: {type: text, mappings: [{type: controlled}]}
"""


@pytest.fixture(autouse=True)
def work_in_empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def draft(steps: str, flow: str = "groom_pet", **options: Any) -> dict[str, list[Any]]:
    """Draft the happy path of a flow with these steps; return its assertions by name."""
    Path("data").mkdir(exist_ok=True)
    body = indent(dedent(steps).strip(), "      ")
    flows = f"flows:\n  {flow}:\n    description: Look after a pet.\n    steps:\n{body}\n"
    Path("data/flows.yml").write_text(flows + options.pop("more", ""), encoding="utf-8")
    Path("domain.yml").write_text(SLOTS, encoding="utf-8")
    request = DraftRequest(sources=(Path("data"),), to=Path("out"), kinds=("happy_path",), force=True, **options)
    draft_scenarios(request, Settings(), RegisteredCatalog())
    found: dict[str, list[Any]] = {"setup": [read(flow)["setup"]["initial_slots"]]}
    for call in read(flow)["goals"]["assertions"]:
        for name, args in call.items():
            found.setdefault(name, []).append(args)
    return found


def read(flow: str) -> dict[str, Any]:
    path = Path(f"out/{flow}_happy_path.yml")
    data = parse_yaml(path.read_text(encoding="utf-8"), path.name).data["scenario"]
    assert isinstance(data, dict)
    return data


def actions(found: dict[str, list[Any]]) -> list[str]:
    [steps] = found["sequencing"]
    return [step["action_executed"] for step in steps if "action_executed" in step]


FAILURES = {
    "a slot that says no": "if: not slots.table_free",
    "a slot that is false": "if: slots.table_free is false",
    "a word for failure": 'if: slots.outcome == "failed"',
    "a text for failure": 'if: slots.outcome is "not found"',
}


@pytest.mark.parametrize("condition", FAILURES.values(), ids=FAILURES.keys())
def test_branch_of_a_failure_is_not_taken_even_if_more_is_done_there(condition: str) -> None:
    found = draft(f"""
        - action: action_find_table
          next:
            - {condition}
              then:
                - collect: wish
                - action: action_queue
                - action: action_call_staff
                - {{action: utter_queued, next: END}}
            - else:
                - action: action_groom
                - {{action: utter_groomed, next: END}}
    """)
    assert actions(found) == ["action_find_table", "action_groom"]
    assert found["bot_uttered"] == [{"utter_name": "utter_groomed"}]
    assert found["bot_did_not_utter"] == [{"utter_name": "utter_queued"}]


@pytest.mark.parametrize(
    "bad",
    [
        *("utter_groom_error", "utter_sorry", "utter_not_possible", "utter_limit_exceeded", "utter_booking_pending"),
        *("utter_try_again", "utter_already_groomed", "utter_nothing_changed"),
    ],
)
def test_branch_that_turns_the_user_away_is_not_taken(bad: str) -> None:
    found = draft(f"""
        - action: action_groom
          next:
            - if: slots.weight > 3
              then: [{{action: action_look}}, {{action: action_look_again}}, {{action: {bad}, next: END}}]
            - else: [{{action: utter_groomed, next: END}}]
    """)
    assert found["bot_uttered"] == [{"utter_name": "utter_groomed"}]


def test_words_of_the_flow_do_not_mean_failure() -> None:
    found = draft(
        """
        - collect: tag_number
        - action: action_cancel_visit
          next:
            - if: slots.outcome == "cancelled"
              then: [{action: utter_visit_cancelled, next: END}]
            - else: [{action: utter_cancel_failed}, {action: action_open_ticket}, {action: action_tell, next: END}]
        """,
        flow="cancel_visit",
    )
    assert actions(found) == ["action_cancel_visit"]
    assert found["bot_uttered"] == [{"utter_name": "utter_visit_cancelled"}]


def test_branches_do_not_contradict_each_other() -> None:
    found = draft("""
        - collect: diet
          next:
            - if: slots.diet is "wet"
              then: [{action: action_open_tin}, {action: action_warm, next: rest}]
            - else: rest
        - id: rest
          noop: true
          next:
            - if: slots.diet is "dry"
              then: [{action: action_weigh}, {action: action_pour}, {action: action_soak, next: END}]
            - else: [{action: utter_fed, next: END}]
    """)
    assert found["slot_was_set"] == [[{"name": "diet", "value": "wet"}]]
    assert actions(found) == ["action_open_tin", "action_warm"]


VALUES: dict[str, tuple[str, dict[str, Any]]] = {
    "a value that is refused": (
        "{collect: weight, rejections: [{if: slots.weight > 60, utter: utter_a}, {if: slots.weight < 1, utter: utter_b}"
        "]}",
        {"name": "weight", "value": 60},
    ),
    "a limit between two bounds": (
        "{collect: weight, rejections: [{if: slots.weight < 2 or slots.weight >= 4, utter: utter_a}]}",
        {"name": "weight", "value": 2},
    ),
    "a choice that does not match": (
        "{collect: diet, next: [{if: slots.diet matches '^(wet|raw)$', then: [{action: action_groom, next: END}]}, "
        "{else: END}]}",
        {"name": "diet", "value": "wet"},
    ),
    "a pattern that no sample matches": (
        "{collect: tag_number, rejections: [{if: \"not (slots.tag_number matches '^[0-9]{9}$')\", utter: utter_a}]}",
        {"name": "tag_number"},
    ),
    "a choice that is refused": (
        '{collect: diet, rejections: [{if: slots.diet = "dry", utter: utter_a}]}',
        {"name": "diet", "value": "wet"},
    ),
    "a category that looks like a boolean": ("{collect: chipped}", {"name": "chipped", "value": "true"}),
    "free text": ("{collect: wish}", {"name": "wish"}),
    "a code": ("{collect: tag_number}", {"name": "tag_number", "value": "TAG-1001"}),
    "a slot that only the assistant fills": ("{collect: clinic}", {"name": "clinic"}),
    "a boolean that is compared with a word": (
        '{collect: agreed, next: [{if: slots.agreed = "yes", then: [{action: action_groom, next: END}]}, {else: END}]}',
        {"name": "agreed", "value": True},
    ),
    "a boolean that must be false": (
        "{collect: agreed, next: [{if: slots.agreed, then: [{action: utter_sorry, next: END}]}, "
        "{else: [{action: action_groom, next: END}]}]}",
        {"name": "agreed", "value": False},
    ),
}


@pytest.mark.parametrize(("step", "slot"), VALUES.values(), ids=VALUES.keys())
def test_only_values_that_can_be_set_are_asserted(step: str, slot: dict[str, Any]) -> None:
    found = draft(f"- {step}")
    assert found["slot_was_set"] == [[slot]]
    assert type(found["slot_was_set"][0][0].get("value")) is type(slot.get("value"))


def test_slot_that_decides_at_the_start_is_set_before_the_conversation() -> None:
    found = draft("""
        - noop: true
          next:
            - if: not slots.signed_in
              then: [{action: utter_sign_in, next: END}]
            - else: [{action: action_groom, next: END}]
    """)
    assert found["setup"] == [{"signed_in": True}]


def test_slots_of_other_flows_are_not_listed() -> None:
    more = "  feed: {description: Feed it., steps: [{action: action_feed, next: [{if: slots.outcome, then: END}]}]}\n"
    draft("- {action: action_groom, next: [{if: slots.table_free, then: END}, {else: END}]}", more=more)
    text = " ".join(Path("out/groom_pet_happy_path.yml").read_text(encoding="utf-8").replace("#", "").split())
    assert "Slots that no user fills: clinic (text), signed_in (bool), table_free (bool)." in text


@pytest.mark.parametrize(
    ("text", "values", "met"),
    [
        ("slots.a and slots.b", {"a": True}, None),
        ("slots.a and slots.b", {"a": False}, False),
        ("slots.a or slots.b", {"a": True}, True),
        ("not (slots.a or slots.b)", {"a": False, "b": False}, True),
        ("slots.a >= 3 and slots.a < 5", {"a": 4}, True),
        ("slots.a != 3", {"a": 3}, False),
        ("slots.a is not null", {"a": "x"}, True),
        ("slots.a = 'true'", {"a": True}, True),
        ("slots.a > 3", {"a": "many"}, None),
        ("slots.a contains 'x'", {"a": "fox"}, True),
        ("slots.a contains 'x'", {"a": ["fox"]}, False),
        ("slots.a contains 5", {"a": "5"}, None),
        ("slots.a matches '^(wet|dry)$'", {"a": "dry"}, True),
        ("not (slots.a matches '^[0-9]+$')", {"a": "12b"}, True),
        ("slots.a matches '^[0-9]+$'", {"a": 12}, None),
        ("slots.a matches '('", {"a": "x"}, None),
        ("slots.a in {'x' 'y'}", {"a": "x"}, None),
        ("(" * 500 + "slots.a" + ")" * 500, {"a": True}, None),
    ],
)
def test_conditions_are_evaluated_as_far_as_values_are_known(
    text: str, values: dict[str, Any], met: bool | None
) -> None:
    assert Requirement(text).is_met(values) is met
    assert Requirement(text, expected=False).is_met(values) is (None if met is None else not met)
