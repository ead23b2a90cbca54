"""Patients who are easily confused with each other: tasks test whether agents tell them apart."""

from typing import Literal, NamedTuple

LookAlikeKind = Literal[
    "same name",
    "twins",
    "same name, born days apart",
    "record numbers transposed",
    "maiden name",
    "registered twice",
    "father and son",
]
BLOCK_SIZE = 50


class LookAlike(NamedTuple):
    """Two patients, and how they resemble each other."""

    kind: LookAlikeKind
    first: str
    second: str
    """Both are keys such as `Patient/pat-0004`."""
    how: str


class LookAlikeRule(NamedTuple):
    """How the patient at one place in every fifty resembles an earlier one."""

    kind: LookAlikeKind
    model: int
    """The place of the earlier patient that they resemble."""
    how: str


LOOK_ALIKE_RULES = {
    4: LookAlikeRule("same name", 2, "the same name; years between their birth dates"),
    6: LookAlikeRule("twins", 5, "the same family name, birth date, address and phone"),
    9: LookAlikeRule("same name, born days apart", 3, "the same name; born in the same days of the same year"),
    12: LookAlikeRule("record numbers transposed", 7, "two digits of their record numbers have changed places"),
    16: LookAlikeRule("maiden name", 11, "the second was called what the first is called now, before she married"),
    20: LookAlikeRule(
        "registered twice", 14, "one person with two records: the same birth date, the name written otherwise"
    ),
    25: LookAlikeRule("father and son", 18, "the same name and address; the son is called Jr."),
}
LIVING_PLACES = frozenset(LOOK_ALIKE_RULES) | {rule.model for rule in LOOK_ALIKE_RULES.values()}
"""Places whose patients are alive, so that both patients of a pair can have visits."""
FEMALE_PLACES, MALE_PLACES = frozenset({11, 16}), frozenset({18, 25})
BIRTH_NAME_PLACES = frozenset({rule.model for rule in LOOK_ALIKE_RULES.values() if rule.kind == "twins"})
"""Places whose patients have their birth name, because their twins have the same one."""
DUPLICATE_PLACES = frozenset(
    {place for place, rule in LOOK_ALIKE_RULES.items() if rule.kind == "registered twice"}
    | {rule.model for rule in LOOK_ALIKE_RULES.values() if rule.kind == "registered twice"}
)
"""The two places of one person who is registered twice."""
DECEASED_PLACE = 33
"""The place in every fifty whose patient has died."""


def get_place(number: int) -> int:
    """Return the place of a patient in its block of fifty, from 1."""
    return (number - 1) % BLOCK_SIZE + 1


def build_patient_key(number: int) -> str:
    """Return a key such as `Patient/pat-0004`."""
    return f"Patient/pat-{number:04}"


def list_look_alikes(patients: int) -> tuple[LookAlike, ...]:
    """Return the pairs among this many patients. They are the same for every seed; only their names differ."""
    pairs = []
    for number in range(1, patients + 1):
        place = get_place(number)
        if (rule := LOOK_ALIKE_RULES.get(place)) is not None:
            model = number - place + rule.model
            pairs.append(LookAlike(rule.kind, build_patient_key(model), build_patient_key(number), rule.how))
    return tuple(pairs)
