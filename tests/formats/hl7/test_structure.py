"""Compare the automaton with a slow, plain interpreter of the same notation."""

import re
from random import Random

import pytest

from clerkship.formats.hl7.structure import MessageStructure, find_structure
from clerkship.formats.hl7.tables import VERSIONS, load_tables

STRUCTURES = [(version, name) for version in VERSIONS for name in load_tables(version)["structures"]]
Tree = str | tuple[str, list["Tree"]]


def parse_notation(notation: str) -> Tree:
    """Parse `MSH [{NTE}]` into a tree."""
    tokens = re.findall(r"[\[\]{}<>|]|\w+", notation)[::-1]

    def members(end: str) -> list[Tree]:
        found: list[Tree] = []
        while tokens and (token := tokens.pop()) != end:
            if token in "[{":
                found.append((token, members({"[": "]", "{": "}"}[token])))
            elif token == "<":
                found.append((token, choice()))
            else:
                found.append(token)
        return found

    def choice() -> list[Tree]:
        end = len(tokens) - 1 - tokens[::-1].index(">")
        inside = " ".join(tokens[end + 1 :][::-1])
        del tokens[end:]
        return [parse_notation(part) for part in inside.split("|")]

    return ("", members(""))


def find_ends(tree: Tree, names: list[str], starts: frozenset[int]) -> frozenset[int]:
    """Return the positions where a match may end, given where it may start."""
    if isinstance(tree, str):
        return frozenset(at + 1 for at in starts if at < len(names) and names[at] == tree)
    mark, members = tree
    if mark == "<":
        return frozenset(at for member in members for at in find_ends(member, names, starts))
    found = _in_turn(members, names, starts)
    if mark == "[":
        return found | starts
    while mark == "{" and not (further := _in_turn(members, names, found)) <= found:
        found |= further
    return found


def _in_turn(members: list[Tree], names: list[str], starts: frozenset[int]) -> frozenset[int]:
    for member in members:
        starts = find_ends(member, names, starts)
    return starts


def generate_message(notation: str, rng: Random) -> list[str]:
    """Generate a random message that follows the notation."""
    tokens = re.findall(r"[\[\]{}<>|]|\w+", notation)[::-1]

    def sequence(end: str) -> list[str]:
        found: list[str] = []
        while tokens and tokens[-1] != end:
            found += one()
        if tokens:
            tokens.pop()
        return found

    def one() -> list[str]:
        token = tokens.pop()
        if token == "[":
            inner = sequence("]")
            return inner if rng.random() < 0.5 else []
        if token == "{":
            mark = list(tokens)
            found = sequence("}")
            after = list(tokens)
            while rng.random() < 0.4:
                tokens[:] = mark
                found += sequence("}")
            tokens[:] = after
            return found
        if token == "<":
            end = len(tokens) - 1 - tokens[::-1].index(">")
            inside = " ".join(tokens[end + 1 :][::-1])
            del tokens[end:]
            return generate_message(rng.choice(inside.split("|")), rng)
        return [token]

    return sequence("")


def change_message(names: list[str], rng: Random) -> list[str]:
    """Remove, add or swap segments at random."""
    found = list(names)
    at = rng.randrange(len(found))
    match rng.randrange(3):
        case 0:
            del found[at]
        case 1:
            found.insert(at, rng.choice(names))
        case _:
            other = rng.randrange(len(found))
            found[at], found[other] = found[other], found[at]
    return found


@pytest.mark.parametrize(("version", "name"), STRUCTURES)
def test_automaton_accepts_same_messages_as_notation(version: str, name: str) -> None:
    notation = load_tables(version)["structures"][name]
    structure, tree, rng = find_structure(version, name), parse_notation(notation), Random(f"{version} {name}")
    for _ in range(40):
        names = generate_message(notation, rng)
        assert structure.find_deviations(names, 20) == []
        other = change_message(names, rng)
        fits = len(other) in find_ends(tree, other, frozenset({0}))
        assert (structure.find_deviations(other, 20) == []) == fits, other


def test_optional_repeating_group() -> None:
    structure = MessageStructure("X", "A {[B] [{C}]} [D]")
    assert structure.find_deviations(["A"], 9) == []
    assert structure.find_deviations(["A", "B", "B", "C", "C", "B", "D"], 9) == []
    assert [found.text for found in structure.find_deviations(["A", "D", "B"], 9)] == ["B (segment 3) may not follow D"]


def test_choice_of_groups() -> None:
    structure = MessageStructure("X", "A <B|C [{D}]|E> [{F}]")
    assert (
        structure.find_deviations(["A", "C", "D", "D", "F"], 9) == structure.find_deviations(["A", "B", "F"], 9) == []
    )
    assert [found.text for found in structure.find_deviations(["A", "B", "D"], 9)] == ["D (segment 3) may not follow B"]
    assert [found.text for found in structure.find_deviations(["A"], 9)] == ["B or C or E is missing after A"]


def test_empty_message() -> None:
    assert [found.name for found in MessageStructure("X", "A B [C]").find_deviations([], 9)] == ["A", "B"]
