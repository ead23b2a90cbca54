"""Steps that change the phone tree of a line, and what calls to it meet."""

from copy import deepcopy
from typing import Any

import pytest
from pydantic import ValidationError

from clerkship.formats.phone_tree.shipped import list_trees
from clerkship.sandbox.steps.contract import Step
from clerkship.simulators.voice.steps.line import ChangeLine
from clerkship.simulators.voice.steps.menu import ChangeMenu
from tests.simulators.voice.office_phone import MENU, MENU_PROMPT, TREE, OfficePhone

NEW_PROMPT = "For claims press 1, for billing press 2."


def build_new_tree(**fields: Any) -> dict[str, Any]:
    tree = deepcopy(TREE)
    tree["nodes"] = {
        "main": {
            "type": "menu",
            "prompt": NEW_PROMPT,
            "timeout": "30s",
            "choices": [{"key": "1", "next": "claims"}, {"key": "2", "next": "billing"}],
        },
        "billing": {"type": "end", "prompt": "Billing is closed."},
        "claims": {"type": "end", "prompt": "Claims are closed."},
    }
    return {**tree, "start": "main", **fields}


def run(phone: OfficePhone, step: Step) -> list[str]:
    phone.rig.playground.steps.run(step)
    return phone.rig.playground.steps.errors


def change_menu(phone: OfficePhone, **fields: Any) -> list[str]:
    return run(phone, ChangeMenu.model_validate({"number": MENU, "tree": build_new_tree(), **fields}))


def test_later_calls_get_the_new_tree_and_calls_under_way_keep_the_old_one() -> None:
    with OfficePhone() as phone:
        early = phone.reach_menu()
        assert change_menu(phone) == []
        late = phone.dial()
        assert phone.listen(late) == NEW_PROMPT
        phone.act(early, "press", digits="*")
        assert phone.listen(early).endswith(MENU_PROMPT)
        phone.act(early, "press", digits="1")
        phone.act(late, "press", digits="1")
        assert "account number" in phone.listen(early)
        assert "Claims are closed." in phone.listen(late)
        assert phone.path(early)[-1] == "office/billing"
        assert phone.path(late) == ["office/main", "office/claims"]


def test_call_that_still_rings_gets_the_new_tree() -> None:
    with OfficePhone() as phone:
        call = phone.dial()
        change_menu(phone)
        assert phone.listen(call) == NEW_PROMPT


def test_log_has_the_whole_tree_so_that_a_replay_rebuilds_it() -> None:
    with OfficePhone() as phone:
        early = phone.reach_menu()
        change_menu(phone)
        late = phone.dial()
        phone.hear(late)
        assert phone.rig.rebuilt() == phone.rig.dumped()
        with phone.rig.fork() as fork:
            for rig in (phone.rig, fork):
                rig.playground.advance(phone.state.config.ring_timeout)
            assert fork.dumped() == phone.rig.dumped()
            assert fork.lines == phone.rig.lines
        [changed] = phone.events("menu.changed")
        assert (changed.number, changed.tree, changed.version) == (MENU, "office", "1.2")
        assert changed.definition["nodes"]["main"]["timeout"] == "30s"
        assert phone.find(early).tree_version == "1"
        assert phone.find(late).tree_version == "1.2"


def test_tree_can_change_several_times_and_back() -> None:
    with OfficePhone() as phone:
        change_menu(phone, version="spring")
        change_menu(phone, tree=TREE)
        change_menu(phone, tree=build_new_tree(version="summer"))
        versions = [each.version for each in phone.events("menu.changed")]
        assert versions == ["spring", "1.2", "summer"]
        assert phone.listen(phone.dial()) == NEW_PROMPT
        assert phone.events("node.entered")[-1].version == "summer"


def test_version_that_the_line_has_already_is_an_error() -> None:
    with OfficePhone() as phone:
        [error] = change_menu(phone, version="1")
        assert "+15550100201 has a phone tree of version '1' already" in error
        assert phone.events("menu.changed") == []


def test_unknown_line_is_an_error_that_names_the_lines() -> None:
    with OfficePhone() as phone:
        [error] = change_menu(phone, number="+15550100299")
        assert "voice.menu: there is no line +15550100299" in error


def test_tree_that_ships_can_be_named() -> None:
    with OfficePhone() as phone:
        assert "pharmacy" in list_trees()
        assert change_menu(phone, tree="pharmacy") == []
        assert phone.listen(phone.dial())


@pytest.mark.parametrize(
    ("tree", "text"),
    [
        ("pharmcy", "unknown phone tree `pharmcy`"),
        (
            build_new_tree(
                nodes={
                    "main": {"type": "hook", "hook": "payer.find_membr", "outcomes": {"found": "bye"}},
                    "bye": {"type": "end"},
                }
            ),
            "unknown hook `payer.find_membr`",
        ),
    ],
)
def test_mistakes_in_the_new_tree_are_found_before_the_run(tree: Any, text: str) -> None:
    step = ChangeMenu.model_validate({"number": MENU, "tree": tree})
    [mistake] = step.find_mistakes(())
    assert mistake.path[0] == "tree"
    assert mistake.message == text


def test_line_becomes_busy_and_answers_again() -> None:
    with OfficePhone() as phone:
        phone.dial()
        assert run(phone, ChangeLine(number=MENU, outcomes=("busy", "answer"))) == []
        outcomes = []
        for _ in range(3):
            call = phone.dial()
            phone.hear(call)
            outcomes.append(phone.find(call).outcome or phone.find(call).status)
        assert outcomes == ["busy", "connected", "connected"]
        assert phone.rig.rebuilt() == phone.rig.dumped()


def test_line_rings_for_longer() -> None:
    with OfficePhone() as phone:
        run(phone, ChangeLine.model_validate({"number": MENU, "ring": "40s"}))
        call = phone.dial()
        phone.wait(39)
        assert phone.find(call).status == "ringing"
        phone.wait(2)
        assert phone.find(call).status == "connected"
        assert phone.rig.rebuilt() == phone.rig.dumped()


def test_change_of_a_line_needs_a_change_and_a_line() -> None:
    with pytest.raises(ValidationError, match="expected `outcomes` or `ring`"):
        ChangeLine(number=MENU)
    with OfficePhone() as phone:
        [error] = run(phone, ChangeLine(number="+15550100299", outcomes=("busy",)))
        assert "voice.line: there is no line +15550100299" in error


def test_replay_knows_the_tree_that_was_replaced_before_any_call() -> None:
    with OfficePhone() as phone:
        assert change_menu(phone) == []  # no call has reached the line, so its first tree was never used
        assert phone.rig.rebuilt() == phone.rig.dumped()
        other = OfficePhone.__new__(OfficePhone)
        other.rig = phone.rig.fork()
        with other:
            assert change_menu(phone) == change_menu(other) == []
            assert [each.version for each in other.events("menu.changed")] == ["1.2", "1.3"]
            assert other.rig.lines == phone.rig.lines
