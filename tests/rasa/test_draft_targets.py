"""`--for rasa` writes files that Rasa's schema for scenarios accepts; `--for clerkship` uses what Clerkship adds."""

from pathlib import Path
from typing import Any

import pytest

from clerkship.cli.app import run
from clerkship.suite_files.yaml import parse_yaml

FLOWS = """
flows:
  renew_loan:
    description: Renew the loan of a book for ${WEEKS} weeks.
    if: slots.member
    steps:
      - collect: book_code
      - collect: weeks
        rejections: [{if: slots.weeks > 4, utter: utter_too_long}]
      - action: action_renew
        next:
          - {if: slots.renewed, then: [{action: utter_renewed, next: END}]}
          - else: [{action: utter_not_renewed, next: END}]
  return_loan:
    description: Return the loan of a book.
    steps: [{collect: book_code}, {collect: agreed}, {action: action_return}, {action: utter_returned}]
"""
DOMAIN = """
slots:
  member: {type: bool, mappings: [{type: controlled}]}
  renewed: {type: bool, mappings: [{type: controlled}]}
  book_code: {type: text, mappings: [{type: from_llm}]}
  weeks: {type: float, mappings: [{type: from_llm}]}
  agreed: {type: bool, mappings: [{type: from_llm}]}
actions: [action_renew, action_return]
responses: {utter_renewed: [{text: a}], utter_not_renewed: [{text: b}], utter_returned: [{text: c}]}
"""
SEQUENCE_STEPS = {
    "flow_started",
    "flow_completed",
    "flow_cancelled",
    "flow_interrupted",
    "action_executed",
    "slot_was_set",
}
SLOT_TYPES: dict[str, tuple[type, ...]] = {"book_code": (str,), "weeks": (int, float), "agreed": (bool,)}


@pytest.fixture(autouse=True)
def write_project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("flows.yml").write_text(FLOWS, encoding="utf-8")
    Path("domain.yml").write_text(DOMAIN, encoding="utf-8")


def generate(*options: str) -> dict[str, str]:
    """Run the command; return the text of each file by its name."""
    assert run(["generate", "scenarios", "--from", "flows.yml", "--to", "out", *options]) == 0
    return {path.name: path.read_text(encoding="utf-8") for path in Path("out").iterdir()}


def check_rasa_schema(data: Any) -> None:
    """Check a file as Rasa 3.17 does: known keys only, one key for each assertion, and its form of arguments."""
    assert set(data) == {"scenario"}
    scenario = data["scenario"]
    assert set(scenario) <= {"name", "simulation_context", "setup", "goals"}
    assert isinstance(scenario["name"], str)
    assert isinstance(scenario["simulation_context"], str)
    assert set(scenario["setup"]) == {"initial_slots"}
    assert isinstance(scenario["setup"]["initial_slots"], dict)
    assert set(scenario["goals"]) <= {"criteria", "assertions"}
    assert all(isinstance(criterion, str) for criterion in scenario["goals"]["criteria"])
    for assertion in scenario["goals"]["assertions"]:
        [(name, args)] = assertion.items()
        RASA_ASSERTIONS[name](args)


def check_operator(args: Any) -> None:
    assert set(args) == {"flow_ids", "operator"}
    assert args["operator"] in ("any", "all")
    assert args["flow_ids"]


def check_flow(args: Any) -> None:
    assert {"flow_id"} <= set(args) <= {"flow_id", "flow_step_id"}


def check_slots(args: Any) -> None:
    for slot in args:
        assert {"name"} <= set(slot) <= {"name", "value"}
        assert "value" not in slot or isinstance(slot["value"], SLOT_TYPES[slot["name"]])


def check_utterance(args: Any) -> None:
    assert args
    assert set(args) <= {"utter_name", "text_matches"}


def check_text(args: Any) -> None:
    assert isinstance(args, str)


def check_sequence(args: Any) -> None:
    for step in args:
        [(name, value)] = step.items()
        assert name in SEQUENCE_STEPS
        assert isinstance(value, str)


RASA_ASSERTIONS = {
    "flow_started": check_operator,
    "pattern_clarification_contains": check_operator,
    "flow_completed": check_flow,
    "flow_cancelled": check_flow,
    "action_executed": check_text,
    "slot_was_set": check_slots,
    "slot_was_not_set": check_slots,
    "bot_uttered": check_utterance,
    "bot_did_not_utter": check_utterance,
    "sequencing": check_sequence,
}


@pytest.mark.parametrize("options", [(), ("--for", "rasa")])
def test_files_for_rasa_fit_its_schema(options: tuple[str, ...]) -> None:
    files = generate(*options)
    assert len(files) == 11
    for name, text in files.items():
        check_rasa_schema(parse_yaml(text, name).data)
        assert "${" not in text  # Rasa would look for a variable of this name, and cannot escape it


def test_files_for_clerkship_have_a_type_and_more_assertions() -> None:
    files = generate("--for", "clerkship")
    types = {name: parse_yaml(text, name).data["scenario"]["type"] for name, text in files.items()}
    happy = {"renew_loan_happy_path.yml", "return_loan_happy_path.yml"}
    assert {name for name, kind in types.items() if kind == "happy_path"} == happy
    assert "flow_not_completed" in files["renew_loan_cancellation.yml"]
    assert "action_not_executed" in files["out_of_scope.yml"]
    assert "$${WEEKS}" in files["renew_loan_happy_path.yml"]
    assert run(["validate", "out", "--domain", "domain.yml"]) == 0


def test_unknown_tool_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["generate", "scenarios", "--from", "flows.yml", "--to", "out", "--for", "botium"]) == 2
    assert "unknown --for value `botium` (expected: rasa, clerkship)" in capsys.readouterr().err
    assert not Path("out").exists()


def test_out_of_scope_is_left_out_if_flows_are_chosen() -> None:
    assert "out_of_scope.yml" not in generate("--flow", "return_*")
    assert "out_of_scope.yml" in generate("--flow", "return_*", "--kind", "out_of_scope")
