"""The phone trees and scripts of representatives that ship."""

import re
from collections.abc import Iterator

import pytest

from clerkship.formats.phone_tree.caller_line import find_intent
from clerkship.formats.phone_tree.grammar import match_choice
from clerkship.formats.phone_tree.nodes import Choice, MenuNode, QueueNode, TransferNode
from clerkship.formats.phone_tree.prompts import check_prompt
from clerkship.formats.phone_tree.shipped import list_representatives, list_trees, load_representative, load_tree
from clerkship.formats.phone_tree.tree import IvrTree

TREES = ("front_desk", "pharmacy", "provider_line")
REPRESENTATIVES = ("pharmacist", "provider_representative", "receptionist")
PRESSED = re.compile(r"press (\d)")


def list_choices(tree: IvrTree) -> Iterator[tuple[str, str, tuple[Choice, ...]]]:
    """Yield the name, the prompt and the choices of each node that offers some."""
    for name, node in tree.nodes.items():
        if isinstance(node, MenuNode):
            yield name, node.prompt, node.choices
        elif isinstance(node, QueueNode):
            yield name, node.announcement, node.choices


def test_trees_and_representatives_are_listed() -> None:
    assert list_trees() == TREES
    assert list_representatives() == REPRESENTATIVES


def test_unknown_name_lists_those_that_exist() -> None:
    with pytest.raises(ValueError, match=r"unknown phone tree `x` \(expected: front_desk, pharmacy, provider_line\)"):
        load_tree("x")
    with pytest.raises(ValueError, match=r"unknown representative `\.\./trees/pharmacy`"):
        load_representative("../trees/pharmacy")


@pytest.mark.parametrize("name", TREES)
def test_prompts_offer_the_keys_of_their_menu(name: str) -> None:
    for node, prompt, choices in list_choices(load_tree(name)):
        offered = PRESSED.findall(prompt)
        assert sorted(offered) == sorted(choice.key for choice in choices if choice.key), node


@pytest.mark.parametrize("name", TREES)
def test_each_phrase_of_a_menu_chooses_its_own_choice(name: str) -> None:
    for node, _, choices in list_choices(load_tree(name)):
        for choice in choices:
            for phrase in choice.speech:
                assert match_choice(choices, f"Um, {phrase}, please") == choice, (node, phrase)


@pytest.mark.parametrize("text", ["I want to talk to a human", "Can I speak to someone about an authorization?"])
def test_caller_who_asks_for_a_person_gets_one_whatever_it_is_about(text: str) -> None:
    menu = load_tree("provider_line").nodes["main_menu"]
    assert isinstance(menu, MenuNode)
    choice = match_choice(menu.choices, text)
    assert choice is not None
    assert choice.next == "staffing"


@pytest.mark.parametrize("name", TREES)
def test_tree_transfers_to_a_representative_that_its_comment_names(name: str) -> None:
    tree = load_tree(name)
    transfers = {node.representative for node in tree.nodes.values() if isinstance(node, TransferNode)}
    expected = {"provider_line": "representative", "pharmacy": "pharmacist", "front_desk": "receptionist"}
    assert transfers == {expected[name]}


@pytest.mark.parametrize("name", REPRESENTATIVES)
def test_each_phrase_of_a_representative_finds_its_own_answer(name: str) -> None:
    script = load_representative(name)
    for index, answer in enumerate(script.answers):
        for phrase in answer.asks:
            assert find_intent(script.answers, f"Hello, {phrase}?") == index, phrase


@pytest.mark.parametrize(
    ("question", "phrase"),
    [
        ("What is the reference number of our pending request for the lumbar MRI?", "authorization status"),
        ("Do you see a decision on our request?", "authorization status"),
        ("What is the reference number of this call?", "call reference number"),
        ("Our doctor wants to discuss a denial with one of yours. Can you set up a P2P, please?", "peer to peer"),
        ("Why was the request denied?", "authorization status"),
    ],
)
def test_provider_representative_understands_other_words(question: str, phrase: str) -> None:
    answers = load_representative("provider_representative").answers
    assert find_intent(answers, question) == next(index for index, each in enumerate(answers) if phrase in each.asks)


@pytest.mark.parametrize("name", REPRESENTATIVES)
def test_prompts_of_a_representative_have_no_mistakes(name: str) -> None:
    script = load_representative(name)
    says = [
        text for each in script.answers for text in ([each.says] if isinstance(each.says, str) else each.says.values())
    ]
    for text in (
        script.greeting,
        script.verified,
        script.not_verified,
        script.fallback,
        *script.verify.values(),
        *says,
    ):
        check_prompt(text)
