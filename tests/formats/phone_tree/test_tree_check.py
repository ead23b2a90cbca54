"""Mistakes in phone trees are found, all at once, and named with their node and key."""

from typing import Any

import pytest
from pydantic import ValidationError

from clerkship.formats.phone_tree.nodes import UncheckedTree
from clerkship.formats.phone_tree.tree import IvrTree
from clerkship.formats.phone_tree.tree_check import find_tree_problems

END: dict[str, Any] = {"type": "end", "prompt": "Goodbye."}
TO_END: dict[str, Any] = {"type": "say", "prompt": "Hello.", "next": "done"}
MENU: dict[str, Any] = {"type": "menu", "prompt": "Press 1.", "choices": [{"key": "1", "next": "done"}]}
COLLECT: dict[str, Any] = {"type": "collect", "prompt": "Enter it.", "variable": "entered", "next": "done"}
HOOK: dict[str, Any] = {"type": "hook", "hook": "payer.find_member", "outcomes": {"found": "done"}}


def build_fields(nodes: dict[str, Any], **fields: Any) -> dict[str, Any]:
    return {"name": "Test line", "start": next(iter(nodes)), "nodes": nodes, **fields}


def find_problems(nodes: dict[str, Any], **fields: Any) -> list[str]:
    """Return the mistakes of a tree that starts at its first node."""
    return [str(each) for each in find_tree_problems(UncheckedTree.model_validate(build_fields(nodes, **fields)))]


def test_tree_without_mistakes_has_no_problems() -> None:
    assert find_problems({"main": MENU, "done": END}) == []


def test_all_mistakes_are_reported_at_once_with_their_places() -> None:
    nodes = {"main": {**MENU, "choices": [{"key": "1", "next": "nowhere"}, {"key": "1", "next": "done"}]}, "done": END}
    with pytest.raises(ValidationError) as caught:
        IvrTree.model_validate(build_fields({**nodes, "lost": END}))
    assert [(error["loc"], error["msg"]) for error in caught.value.errors()] == [
        (
            ("nodes", "main", "choices", 0, "next"),
            "there is no node `nowhere` (expected: main, done, lost)",
        ),
        (("nodes", "main", "choices", 1), "key 1 has 2 choices (expected: one)"),
        (
            ("nodes", "lost"),
            "it cannot be reached from the start node `main`; lead to it from another node, or remove it",
        ),
    ]


def test_mistake_at_a_key_that_is_not_in_the_file_has_the_place_of_the_node() -> None:
    star = {**MENU, "choices": [{"key": "*", "next": "done"}]}
    with pytest.raises(ValidationError) as caught:
        IvrTree.model_validate(build_fields({"main": star, "done": END}))
    assert [(error["loc"], error["msg"]) for error in caught.value.errors()] == [
        (("nodes", "main"), "`repeat_key`: key * is also a choice")
    ]


def test_place_of_a_mistake_in_a_map_may_contain_dots() -> None:
    branch = {"type": "branch", "variable": "plan", "cases": {"1.5": "nowhere"}, "otherwise": "done"}
    with pytest.raises(ValidationError) as caught:
        IvrTree.model_validate(build_fields({"main": branch, "done": END}, values={"plan": "1.5"}))
    assert [error["loc"] for error in caught.value.errors()] == [("nodes", "main", "cases", "1.5")]


def test_mistake_of_the_tree_itself_has_the_place_of_its_key() -> None:
    with pytest.raises(ValidationError) as caught:
        IvrTree.model_validate(build_fields({"done": END}, start="main"))
    assert [error["loc"] for error in caught.value.errors()] == [("start",)]


def test_nearest_of_many_nodes_is_named_for_one_that_does_not_exist() -> None:
    many = {f"node_{number}": {**TO_END, "next": f"node_{number + 1}"} for number in range(12)}
    problems = find_problems({**many, "node_12": {**TO_END, "next": "dnoe"}, "done": END})
    assert problems[0] == "node `node_12`, `next`: there is no node `dnoe`; did you mean `done`?"


def test_value_that_is_not_set_is_reported_with_those_that_are() -> None:
    nodes = {"main": COLLECT, "done": {**END, "prompt": "You entered {enterd}."}}
    [problem] = find_problems(nodes, values={"clinic": "Elm"})
    assert problem.endswith("or a hook on the way here (set here: clinic, entered)")


def test_missing_start_node_is_found() -> None:
    assert find_problems({"done": END}, start="main") == ["`start`: there is no node `main` (expected: done)"]


@pytest.mark.parametrize(
    ("node", "key"),
    [
        ({**TO_END, "next": "nowhere"}, "next"),
        ({**MENU, "failed": "nowhere"}, "failed"),
        ({**COLLECT, "failed": "nowhere"}, "failed"),
        ({**COLLECT, "next": "nowhere"}, "next"),
        ({**HOOK, "outcomes": {"found": "nowhere"}}, "outcomes.found"),
        ({**HOOK, "max_visits": 2, "exhausted": "nowhere"}, "exhausted"),
        ({"type": "branch", "variable": "plan", "cases": {"gold": "nowhere"}, "otherwise": "done"}, "cases.gold"),
        ({"type": "branch", "variable": "plan", "cases": {"gold": "done"}, "otherwise": "nowhere"}, "otherwise"),
        ({"type": "hours", "hours": [], "opened": "nowhere", "closed": "done"}, "opened"),
        ({"type": "hours", "hours": [], "opened": "done", "closed": "nowhere"}, "closed"),
        ({"type": "queue", "wait": "1m", "next": "nowhere"}, "next"),
        (
            {"type": "queue", "wait": "1m", "choices": [{"key": "1", "next": "nowhere"}], "next": "done"},
            "choices.0.next",
        ),
    ],
)
def test_unknown_target_is_found_at_every_key(node: dict[str, Any], key: str) -> None:
    problems = find_problems({"main": node, "done": END}, values={"plan": "gold"})
    assert f"node `main`, `{key}`: there is no node `nowhere` (expected: main, done)" in problems


def test_loop_without_an_exit_is_found_once() -> None:
    claims = {**MENU, "choices": [{"key": "1", "next": "main"}]}
    main = {**MENU, "choices": [{"key": "1", "next": "claims"}]}
    assert find_problems({"main": main, "claims": claims}) == [
        "node `main`: the loop main -> claims -> main has no exit: "
        "it reaches no end, transfer or voicemail node; lead to one from here"
    ]


def test_part_of_a_tree_without_an_exit_is_found() -> None:
    main = {**MENU, "choices": [{"key": "1", "next": "trap"}, {"key": "2", "next": "done"}]}
    trap = {**MENU, "choices": [{"key": "1", "next": "trap"}]}
    assert find_problems({"main": main, "trap": trap, "done": END}) == [
        "node `trap`: the loop trap -> trap has no exit: "
        "it reaches no end, transfer or voicemail node; lead to one from here"
    ]


@pytest.mark.parametrize(
    "exit",
    [
        END,
        {"type": "transfer", "number": "+15550100123"},
        {"type": "voicemail", "prompt": "Leave a message.", "mailbox": "office"},
    ],
)
def test_loop_with_an_exit_is_allowed(exit: dict[str, Any]) -> None:
    main = {**MENU, "choices": [{"key": "1", "next": "info"}, {"key": "2", "next": "done"}]}
    assert find_problems({"main": main, "info": {**TO_END, "next": "main"}, "done": exit}) == []


RETRY: dict[str, Any] = {**HOOK, "outcomes": {"found": "done", "not_found": "sorry"}}
SORRY: dict[str, Any] = {"type": "say", "prompt": "Sorry.", "next": "find"}


def test_loop_that_never_waits_for_the_caller_is_found() -> None:
    assert find_problems({"find": RETRY, "sorry": SORRY, "done": END}) == [
        "node `find`: the loop find -> sorry -> find never waits for the caller: add a menu, or `max_visits` to a hook"
    ]


def test_loop_with_a_hook_of_limited_visits_is_allowed() -> None:
    assert find_problems({"find": {**RETRY, "max_visits": 3, "exhausted": "done"}, "sorry": SORRY, "done": END}) == []


def test_loop_through_exhausted_is_found() -> None:
    find = {**HOOK, "max_visits": 3, "exhausted": "sorry"}
    assert "never waits for the caller" in " ".join(find_problems({"find": find, "sorry": SORRY, "done": END}))


def test_loop_through_a_queue_is_allowed() -> None:
    queue = {"type": "queue", "wait": "5m", "choices": [{"key": "1", "next": "done"}], "next": "sorry"}
    assert find_problems({"hold": queue, "sorry": {**SORRY, "next": "hold"}, "done": END}) == []


@pytest.mark.parametrize(
    ("node", "expected"),
    [
        (
            {**MENU, "choices": [{"speech": ["Claims!"], "next": "done"}, {"speech": ["claims", "x"], "next": "done"}]},
            "node `main`, `choices`: the phrase “claims” is in 2 choices (expected: one)",
        ),
        (
            {**MENU, "choices": [{"next": "done"}]},
            "node `main`, `choices.0`: it has neither `key` nor `speech`, so it cannot be chosen",
        ),
        (
            {**MENU, "choices": [{"speech": ["?!"], "next": "done"}]},
            "node `main`, `choices.0.speech`: a phrase has no words",
        ),
        (
            {**MENU, "choices": [{"key": "*", "next": "done"}]},
            "node `main`, `repeat_key`: key * is also a choice",
        ),
        (
            {"type": "queue", "wait": "1m", "choices": [{"key": "1", "next": "done"}] * 2, "next": "done"},
            "node `main`, `choices.1`: key 1 has 2 choices (expected: one)",
        ),
        (
            {"type": "queue", "wait": "2m", "wait_up_to": "1m", "next": "done"},
            "node `main`, `wait_up_to`: it is shorter than `wait`",
        ),
        (
            {**COLLECT, "min_length": 5, "max_length": 4},
            "node `main`, `min_length`: 5 is greater than `max_length`, which is 4",
        ),
        ({**COLLECT, "end_key": "*"}, "node `main`, `end_key`: key * is also `repeat_key`"),
        (
            {**COLLECT, "end_key": "1", "confirm": True},
            "node `main`, `end_key`: key 1 is a digit, which an entry may contain and answers the confirmation "
            "(expected: * or #)",
        ),
        (
            {**COLLECT, "repeat_key": "9"},
            "node `main`, `repeat_key`: key 9 is a digit, which an entry may contain (expected: * or #)",
        ),
        (
            {**HOOK, "max_visits": 2},
            "node `main`, `max_visits`: `exhausted` is missing: the node to go to after so many visits",
        ),
        (
            {**HOOK, "exhausted": "done"},
            "node `main`, `exhausted`: `max_visits` is missing: without it, the call never goes there",
        ),
        (
            {
                "type": "hours",
                "hours": [{"days": ["mon"], "opens": "17:00", "closes": "08:00"}],
                "opened": "done",
                "closed": "done",
            },
            "node `main`, `hours.0`: it closes at 08:00, but opens at 17:00",
        ),
        (
            {**TO_END, "prompt": "{entered|shout}"},
            "node `main`, `prompt`: unknown filter `shout` in `{entered|shout}`",
        ),
    ],
)
def test_mistake_in_one_node_is_found(node: dict[str, Any], expected: str) -> None:
    problems = find_problems({"main": node, "done": END}, values={"entered": "1"})
    assert len(problems) == 1
    assert problems[0].startswith(expected)


@pytest.mark.parametrize(
    ("targets", "problem"),
    [({}, "is missing"), ({"representative": "team", "number": "+15550100123"}, "is given twice")],
)
def test_transfer_has_one_target(targets: dict[str, str], problem: str) -> None:
    assert find_problems({"main": {"type": "transfer", **targets}}) == [
        f"node `main`: the target {problem}: expected one of `representative` and `number`"
    ]


NOT_SET = "is not set before: expected a value of the tree, a collect node, or a hook on the way here"


def test_value_that_is_not_set_is_found() -> None:
    assert find_problems({"main": {**END, "prompt": "Your plan is {plan}."}}) == [
        f"node `main`, `prompt`: {{plan}} {NOT_SET}"
    ]


def test_value_that_is_set_only_later_is_found() -> None:
    first = {**TO_END, "prompt": "You are {entered|digits}.", "next": "ask"}
    assert find_problems({"main": first, "ask": COLLECT, "done": {**END, "prompt": "{entered}"}}) == [
        f"node `main`, `prompt`: {{entered}} {NOT_SET}"
    ]


def test_argument_that_is_not_set_is_found() -> None:
    assert find_problems({"main": {**HOOK, "arguments": {"member_id": "{entered}"}}, "done": END}) == [
        f"node `main`, `arguments.member_id`: {{entered}} {NOT_SET}"
    ]


def test_branch_by_a_value_that_is_not_set_is_found() -> None:
    branch = {"type": "branch", "variable": "plan", "cases": {"gold": "done"}, "otherwise": "done"}
    assert find_problems({"main": branch, "done": END}) == [f"node `main`, `variable`: `plan` {NOT_SET}"]


def test_value_after_a_hook_may_have_any_name_unless_its_outputs_are_known() -> None:
    tree = UncheckedTree.model_validate(build_fields({"main": HOOK, "done": {**END, "prompt": "{nickname}"}}))
    assert find_tree_problems(tree) == []
    assert find_tree_problems(tree, {"payer.find_member": ("nickname",)}) == []
    (problem,) = find_tree_problems(tree, {"payer.find_member": ("member_name",)})
    assert (problem.node, problem.key) == ("done", "prompt")


def test_position_is_known_only_in_a_queue() -> None:
    queue = {"type": "queue", "wait": "1m", "announcement": "Number {position}.", "next": "done"}
    assert find_problems({"main": queue, "done": END}) == []
    assert find_problems({"main": queue, "done": {**END, "prompt": "{position}"}}) == [
        f"node `done`, `prompt`: {{position}} {NOT_SET}"
    ]


@pytest.mark.parametrize("at", [1020, "08:00Z", "8am", "24:00", "08:00:30"])
def test_opening_time_is_a_local_time(at: Any) -> None:
    hours = [{"days": ["mon"], "opens": at, "closes": "17:00"}]
    with pytest.raises(ValidationError, match="expected a local time such as 08:00 or 17:30"):
        IvrTree.model_validate(
            build_fields({"main": {"type": "hours", "hours": hours, "opened": "done", "closed": "done"}, "done": END})
        )


def test_operator_must_be_a_node_and_counts_as_a_way_to_it() -> None:
    assert find_problems({"main": MENU, "done": END, "desk": END}, operator="desk") == []
    [problem] = find_problems({"main": MENU, "done": END}, operator="desk")
    assert problem.startswith("`operator`: there is no node `desk`")


@pytest.mark.parametrize(
    ("fields", "problem"),
    [
        ({"confirmation": "{entry}?"}, "it is never said without `confirm: true`"),
        ({"confirm": True, "confirmation": "Right?"}, "`{entry}` is missing: what the caller entered"),
    ],
)
def test_sentence_that_reads_an_entry_back_needs_the_entry(fields: dict[str, Any], problem: str) -> None:
    assert find_problems({"main": {**COLLECT, **fields}, "done": END}) == [f"node `main`, `confirmation`: {problem}"]
