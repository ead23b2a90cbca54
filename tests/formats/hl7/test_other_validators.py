"""Compare the validation with two libraries, on valid and changed messages; deviations are listed with reasons."""

import warnings
from collections.abc import Iterator
from random import Random
from typing import NamedTuple

import pytest
from hl7apy.consts import VALIDATION_LEVEL
from hl7apy.exceptions import HL7apyException
from hl7apy.parser import parse_message as parse_with_hl7apy
from hl7types import decode_er7

from clerkship.formats.hl7.message import parse_message
from clerkship.formats.hl7.tables import VersionTables, load_tables
from clerkship.formats.hl7.validation import validate_message
from tests.choices import mark_slow_after
from tests.formats.hl7.samples import VERSIONS, Fields, build_segments, list_message_types, render

JUDGED = ("2.3", "2.4", "2.5.1", "2.7")
"""The versions whose messages others judge: a model of hl7types takes up to half a second to build."""
EACH = 80
"""How many changes of each kind of message are judged."""
THEY_DEMAND = {
    ("2.3", "ORC", 7): "the attribute table of 2.3 (figure 4-1) has it as optional",
    ("2.3", "OBR", 27): "hl7types itself says O beside it",
    ("2.3.1", "OBX", 2): "conditional; hl7types itself says C beside it",
    ("2.3.1", "OBX", 4): "conditional; hl7types itself says C beside it",
    ("2.7", "OBX", 2): "conditional; hl7apy alone demands it",
    ("2.7", "OBX", 4): "conditional; hl7apy alone demands it",
    ("2.7.1", "OBX", 2): "conditional, as in 2.7 and 2.8",
    ("2.7.1", "OBX", 4): "conditional, as in 2.7 and 2.8",
}
"""Fields that one or both demand and we do not: the messages that are compared have a value there."""
THEY_WANT_OBX = ("2.3", "2.3.1", "2.4")
"""ORU has here a group of [OBX] [{NTE}] that must be there: both want something in it, though each may be missing."""
FORMS = ("DT", "TM", "DTM", "NM", "SI")
"""hl7types dies of these where the field may come again: the messages that are compared have none."""
HL7TYPES_TAKES = {
    "left over": "reads greedily, and drops without a word what is left over",
    "twice": "the same",
    "stranger": "passes over any segment that its model does not have",
    "calendar": "looks at the digits alone: 30 February",
    "sign": "takes a sign without a digit for a number",
    "repeated": "takes the delimiter for a part of the text",
    "delimiters alone": "the same",
    "observation": "does not look at OBX-5, whatever OBX-2 says",
}
"""Changes that we refuse and hl7types takes, and why. All others both refuse."""
HL7APY_REFUSES = ("missing segment", "missing field", "missing component", "number", "sign")
"""Changes that all three refuse. hl7apy does not look at the order of segments, nor into TS, nor at OBX-5; it takes -1
for an SI, and delimiters alone for a value. Of the rest it refuses some."""
HL7APY_LACKS = {("2.3", "ADT^A08"), ("2.3", "ADT^A40"), ("2.3", "SIU^S15")}
"""It finds the structure of an event by its name alone, and before 2.3.1 nothing else names it."""


class Change(NamedTuple):
    """A change of a valid message."""

    kind: str
    what: str
    text: str


def judge_by_hl7types(text: str) -> str | None:
    """Return why hl7types refuses a message; None if it accepts it."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            decode_er7(text)
        except ValueError as wrong:
            return str(wrong)
    return None


def judge_by_hl7apy(text: str) -> str | None:
    """Return why hl7apy refuses a message; None if it accepts it."""
    try:
        parse_with_hl7apy(text, validation_level=VALIDATION_LEVEL.STRICT).validate()
    except (HL7apyException, ValueError) as wrong:
        return str(wrong)
    return None


def judge_here(text: str) -> list[str]:
    """Return the flaws found by `validate_message`."""
    return [flaw.text for flaw in validate_message(parse_message(text))]


def build_comparable_message(version: str, kind: str, *, full: bool = False) -> list[Fields]:
    """Build a valid message without parts on which the validators are known to differ."""
    segments = build_segments(version, kind, full=full)
    segments = [fields for at, fields in enumerate(segments) if fields[0] != "ROL" or segments[at - 1][0] != "PV2"]
    for of_version, name, number in THEY_DEMAND:
        for fields in segments:
            if of_version == version and fields[0] == name:
                fields.extend([""] * (number + 1 - len(fields)))
                fields[number] = fields[number] or ("ST" if (name, number) == ("OBX", 2) else "1")
    if segments[-1][0] == "OBR" and version in THEY_WANT_OBX:
        segments.append(["OBX", "1", "ST", "K", "1", "x", "", "", "", "", "", "F"])
    listed = load_tables(version)["segments"]
    for fields in segments:
        for number, of_type in enumerate(listed[fields[0]], 1):
            if number < len(fields) and "*" in of_type and of_type.rstrip("!*") in FORMS:
                fields[number] = ""
    return segments


def list_changes(version: str, kind: str) -> Iterator[Change]:
    """Return all changes that are tried on a message of this type."""
    whole = build_comparable_message(version, kind)
    yield from _moved(version, whole)
    for at, fields in enumerate(whole):
        for number, of_type in enumerate(load_tables(version)["segments"][fields[0]], 1):
            if fields[0] != "MSH" or number not in (1, 2, 9, 12):
                for change, value in _wrong_values(load_tables(version), of_type):
                    what = f"{fields[0]}-{number} {value!r}"
                    yield Change(change, what, _with(whole, at, number, value))
    for at, fields in enumerate(whole):
        if fields[0] == "OBX":
            for of_type, value in [("NM", "high"), ("DT", "2026-03-02"), ("TS", "soon")]:
                changed = [*fields[:2], of_type, *fields[3:]]
                other = [*whole[:at], changed, *whole[at + 1 :]]
                yield Change("observation", f"{of_type} {value}", _with(other, at, 5, value))


def _moved(version: str, whole: list[Fields]) -> Iterator[Change]:
    names = [fields[0] for fields in whole]
    for at in range(1, len(whole)):
        if names[at] != "OBX" or version not in THEY_WANT_OBX:
            yield Change("missing segment", names[at], render(whole[:at] + whole[at + 1 :]))
        yield Change("stranger", names[at], render([*whole[:at], ["ABC", "1"], *whole[at:]]))
        if at > 1:
            yield Change("swapped", names[at], render([*whole[: at - 1], whole[at], whole[at - 1], *whole[at + 1 :]]))
    if names[1] in ("EVN", "SCH"):
        yield Change("left over", names[1], render([*whole, whole[1]]))
    if names[-1] == "PV1":
        yield Change("twice", "PV1", render([*whole, whole[-1]]))


def _with(whole: list[Fields], at: int, number: int, value: str) -> str:
    fields = [*whole[at], *[""] * (number + 1 - len(whole[at]))]
    fields[number] = value
    return render([*whole[:at], fields, *whole[at + 1 :]])


def _wrong_values(table: VersionTables, of_type: str) -> Iterator[tuple[str, str]]:
    name = of_type.rstrip("!*")
    if "!" in of_type:
        yield "missing field", ""
        if name not in FORMS:
            yield ("emptied" if name in table["types"] else "delimiters alone"), "^^"
    if "*" in of_type:
        return
    if name in ("TS", "DTM", "DT"):
        yield from (("time", value) for value in ("yesterday", "2026-03-02", "20261"))
        yield "calendar", "20260230"
    if name in ("NM", "SI"):
        yield from (("number", value) for value in ("many", "1,5", "1.2.3"))
    if name == "NM":
        yield "sign", "-"
    if name == "SI":
        yield "whole", "-1"
    if name in ("ST", "ID", "IS"):
        yield "repeated", "A~B"
    components = table["types"].get(name, [])
    if components and "!" in components[0] and "ST" in components[1:]:
        yield "missing component", "^" * (components[1:].index("ST") + 1) + "X"


CASES = [(version, kind) for version in VERSIONS for kind in list_message_types(version)]
OTHERS = mark_slow_after(len(list_message_types(JUDGED[0])), [case for case in CASES if case[0] in JUDGED])
"""Those of the first version are judged by others in `make test`."""
KNOWN_TO_HL7APY = [case for case in OTHERS if case.values not in HL7APY_LACKS]


@pytest.mark.parametrize(("version", "kind"), CASES)
@pytest.mark.parametrize("full", [False, True])
def test_generated_message_is_valid(version: str, kind: str, full: bool) -> None:
    assert judge_here(render(build_segments(version, kind, full=full))) == []


@pytest.mark.parametrize(("version", "kind"), OTHERS)
@pytest.mark.parametrize("full", [False, True])
def test_generated_message_is_accepted_by_hl7types(version: str, kind: str, full: bool) -> None:
    assert judge_by_hl7types(render(build_comparable_message(version, kind, full=full))) is None


def test_null_is_valid_for_any_type_only_here() -> None:
    head, event, patient, visit = build_segments("2.5.1", "ADT^A01")
    text = render([head, event, [*patient, "", '""'], visit])
    assert judge_here(text) == []
    assert judge_by_hl7types(text) is not None  # hl7types refuses "" as a date; §2.5.3 allows it in any field
    assert judge_by_hl7apy(text) is not None


def test_only_hl7apy_requires_all_of_a_choice() -> None:
    order = [*build_segments("2.5.1", "ORM^O01"), ["OBR", "1", "", "", "K"]]
    assert judge_here(render(order)) == []
    assert judge_by_hl7types(render(order)) is None
    assert judge_by_hl7apy(render(order)) is not None


def test_only_hl7types_ignores_repeated_name_in_structure() -> None:
    first, second = [["ROL", "", "AD", "AT", "7^Who"] for _ in range(2)]
    head, event, patient, visit = build_segments("2.5.1", "ADT^A01")
    procedure = ["PR1", "1", "", "99^Some", "", "20260302"]
    text = render([head, event, patient, first, visit, second, procedure])
    assert judge_here(text) == []
    assert judge_by_hl7apy(text) is None
    assert (
        judge_by_hl7types(text) is not None
    )  # it reads the second ROL as part of the procedure, which then lacks its PR1


@pytest.mark.parametrize(("version", "kind"), KNOWN_TO_HL7APY)
def test_generated_message_is_accepted_by_hl7apy(version: str, kind: str) -> None:
    assert judge_by_hl7apy(render(build_comparable_message(version, kind))) is None


@pytest.mark.parametrize(("version", "kind"), OTHERS)
def test_changed_message_is_judged_as_by_hl7types(version: str, kind: str) -> None:
    disagreed = []
    for change in choose_changes(version, kind):
        theirs = judge_by_hl7types(change.text)
        if not judge_here(change.text) or (theirs is None) != (change.kind in HL7TYPES_TAKES):
            disagreed.append((change.kind, change.what, judge_here(change.text), theirs))
    assert disagreed == []


@pytest.mark.parametrize(("version", "kind"), KNOWN_TO_HL7APY)
def test_changed_message_is_judged_as_by_hl7apy(version: str, kind: str) -> None:
    disagreed = []
    for change in choose_changes(version, kind)[:30]:
        theirs = judge_by_hl7apy(change.text)
        if theirs is None and change.kind in HL7APY_REFUSES:
            disagreed.append((change.kind, change.what, judge_here(change.text)))
    assert disagreed == []


def choose_changes(version: str, kind: str) -> list[Change]:
    """Return a sample of the changes, the same each time."""
    every = list(list_changes(version, kind))
    return Random(7).sample(every, min(EACH, len(every)))
