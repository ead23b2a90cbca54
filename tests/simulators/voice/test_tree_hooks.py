"""Mistakes in how phone trees and representatives use hooks."""

from typing import Any

import pytest

from clerkship.formats.phone_tree.representative_script import RepresentativeScript
from clerkship.formats.phone_tree.tree import IvrTree
from clerkship.model.located_error import FoundMistake
from clerkship.simulators.voice.tree_source import find_script_hook_mistakes, find_tree_hook_mistakes

OUTCOMES = {"found": "done", "inactive": "done", "not_found": "done"}
VALUES = ("payer_id", "npi")


def build_tree(**hook: Any) -> IvrTree:
    node = {"type": "hook", "hook": "payer.find_member", "outcomes": OUTCOMES, **hook}
    entry = {"type": "collect", "prompt": "Enter it."}
    nodes = {
        "ask_id": {**entry, "variable": "member_id", "next": "ask_date"},
        "ask_date": {**entry, "variable": "birth_date", "format": "date", "next": "look_up"},
        "look_up": node,
        "done": {"type": "end"},
    }
    return IvrTree.model_validate({"name": "line", "start": "ask_id", "nodes": nodes})


def list_mistakes(values: tuple[str, ...] | None = VALUES, *domains: str, **hook: Any) -> list[FoundMistake]:
    return list(find_tree_hook_mistakes(build_tree(**hook), values, domains or ("payer",)))


def test_tree_whose_hook_has_all_inputs_and_outcomes_has_no_mistakes() -> None:
    assert list_mistakes() == []


def test_unknown_hook_is_a_mistake_with_a_suggestion() -> None:
    [mistake] = list_mistakes(hook="payer.find_membr")
    assert mistake.path == ("nodes", "look_up", "hook")
    assert mistake.message == "unknown hook `payer.find_membr`"
    assert "payer.find_member" in mistake.hint


def test_outcome_that_the_hook_does_not_have_is_a_mistake() -> None:
    [mistake] = list_mistakes(outcomes={**OUTCOMES, "expired": "done"})
    assert mistake.path == ("nodes", "look_up", "outcomes", "expired")
    assert "has no outcome `expired`" in mistake.message
    assert "found, inactive, not_found" in mistake.hint


def test_outcome_that_is_not_handled_is_a_mistake() -> None:
    [mistake] = list_mistakes(outcomes={"found": "done"})
    assert mistake.path == ("nodes", "look_up", "outcomes")
    assert "`inactive`, `not_found`, which is not handled" in mistake.message


def test_input_that_nothing_sets_is_a_mistake() -> None:
    [mistake] = list_mistakes(("payer_id",))
    assert mistake.path == ("nodes", "look_up", "hook")
    assert "needs the value `npi`" in mistake.message
    assert list_mistakes(("payer_id",), arguments={"npi": "9999900019"}) == []


def test_input_may_be_missing_while_the_line_is_not_known() -> None:
    assert list_mistakes(None) == []


def test_argument_that_the_hook_does_not_have_is_a_mistake() -> None:
    [mistake] = list_mistakes(arguments={"member": "{member_id}"})
    assert mistake.path == ("nodes", "look_up", "arguments", "member")
    assert "member_id" in mistake.hint


def test_hook_that_asks_a_payer_needs_one_in_the_environment() -> None:
    [mistake] = list_mistakes(VALUES, "other")
    assert mistake.message == "the hook `payer.find_member` needs a domain of kind payer"
    assert mistake.hint == "add `payer: {kind: payer}` under `domains`"
    case = {"hook": "office.open_case", "arguments": {"subject": "A question"}, "outcomes": {"opened": "done"}}
    assert list_mistakes((), "other", **case) == []


def test_output_of_another_hook_is_a_value() -> None:
    tree = build_tree().model_dump(mode="json")
    tree["nodes"]["look_up"]["outcomes"]["found"] = "appointment"
    tree["nodes"]["appointment"] = {
        "type": "hook",
        "hook": "chart.find_appointment",
        "outcomes": {"found": "done", "not_found": "done"},
    }
    missing = list(find_tree_hook_mistakes(IvrTree.model_validate(tree), VALUES, ("payer",)))
    assert [each.message for each in missing] == [
        "`chart.find_appointment` needs the value `patient`, and nothing sets it"
    ]
    tree["nodes"]["look_up"]["outcomes"]["inactive"] = "patient"
    tree["nodes"]["patient"] = {
        "type": "hook",
        "hook": "chart.find_patient",
        "outcomes": dict.fromkeys(("found", "several", "not_found"), "appointment"),
    }
    assert list(find_tree_hook_mistakes(IvrTree.model_validate(tree), VALUES, ("payer",))) == []


def build_script(**fields: Any) -> RepresentativeScript:
    return RepresentativeScript.model_validate(
        {
            "name": "Robin",
            "greeting": "Hello.",
            "verify": {"member_id": "Which member?", "birth_date": "Born when?"},
            "verify_hook": "payer.find_member",
            "answers": [
                {
                    "asks": ["open a case"],
                    "hook": "office.open_case",
                    "arguments": {"subject": "Appeal"},
                    "says": "The number is {case_number}.",
                }
            ],
            **fields,
        }
    )


def test_script_whose_hooks_have_all_inputs_has_no_mistakes() -> None:
    assert list(find_script_hook_mistakes(build_script(), VALUES, ("payer",))) == []


def test_script_that_does_not_ask_for_an_input_has_a_mistake() -> None:
    script = build_script(verify={"member_id": "Which member?"})
    [mistake] = find_script_hook_mistakes(script, VALUES, ("payer",))
    assert mistake.path == ("verify_hook",)
    assert "needs the value `birth_date`" in mistake.message


@pytest.mark.parametrize(
    ("says", "path", "text"),
    [
        ({"booked": "Done."}, ("answers", 0, "says"), "`invalid`"),
        ({"booked": "Done.", "invalid": "No.", "later": "?"}, ("answers", 0, "says", "later"), "no outcome `later`"),
    ],
)
def test_answers_of_a_script_must_fit_the_outcomes(says: dict[str, str], path: tuple[Any, ...], text: str) -> None:
    answer = {"asks": ["call me"], "hook": "office.book_callback", "arguments": {"phone": "{phone}"}, "says": says}
    [mistake] = find_script_hook_mistakes(build_script(answers=[answer]), VALUES, ("payer",))
    assert mistake.path == path
    assert text in mistake.message


def test_optional_argument_that_the_hook_does_not_have_is_a_mistake() -> None:
    says = {"approved": "Yes.", "pending": "Wait.", "denied": "No.", "not_found": "None."}
    answer = {"asks": ["status"], "hook": "payer.find_authorization", "optional": ["reference"], "says": says}
    assert list(find_script_hook_mistakes(build_script(answers=[answer]), VALUES, ("payer",))) == []
    wrong = {**answer, "optional": ["reference", "number"]}
    [mistake] = find_script_hook_mistakes(build_script(answers=[wrong]), VALUES, ("payer",))
    assert mistake.path == ("answers", 0, "optional", 1)
    assert "has no optional argument `number`" in mistake.message
