"""Patients who are easily taken for each other, planted in every fifty: tasks may be about telling them apart."""

from typing import Literal, NamedTuple

Kind = Literal[
    "same name",
    "twins",
    "same name, born days apart",
    "record numbers transposed",
    "maiden name",
    "registered twice",
    "father and son",
]
BLOCK = 50


class LookAlike(NamedTuple):
    """Two patients, and how they resemble each other."""

    kind: Kind
    first: str
    second: str
    """`Patient/pat-0004`."""
    how: str


class Planted(NamedTuple):
    """What one place in every fifty is made after."""

    kind: Kind
    model: int
    """The place whom they resemble: an earlier one."""
    how: str


PLANTED = {
    4: Planted("same name", 2, "the same name; years between their birth dates"),
    6: Planted("twins", 5, "the same family name, birth date, address and phone"),
    9: Planted("same name, born days apart", 3, "the same name; born in the same days of the same year"),
    12: Planted("record numbers transposed", 7, "two digits of their record numbers have changed places"),
    16: Planted("maiden name", 11, "the second was called what the first is called now, before she married"),
    20: Planted("registered twice", 14, "one person with two records: the same birth date, the name written otherwise"),
    25: Planted("father and son", 18, "the same name and address; the son is called Jr."),
}
LIVING = frozenset(PLANTED) | {planted.model for planted in PLANTED.values()}
"""Places whose patients are alive, so that both of a pair can be met."""
WOMEN, MEN = frozenset({11, 16}), frozenset({18, 25})
BORN_SO = frozenset({planted.model for planted in PLANTED.values() if planted.kind == "twins"})
"""Places whose patients have the name that they were born with, as their twins have it too."""
TWICE = frozenset(
    {place for place, planted in PLANTED.items() if planted.kind == "registered twice"}
    | {planted.model for planted in PLANTED.values() if planted.kind == "registered twice"}
)
"""The two places of one person."""
DECEASED = 33
"""The place in every fifty whose patient has died."""


def place_of(number: int) -> int:
    """A patient's place among fifty."""
    return (number - 1) % BLOCK + 1


def key_for(number: int) -> str:
    """`Patient/pat-0004`."""
    return f"Patient/pat-{number:04}"


def look_alikes(patients: int) -> tuple[LookAlike, ...]:
    """The pairs among so many patients: the same for every seed, as their names are not."""
    found = []
    for number in range(1, patients + 1):
        place = place_of(number)
        if (planted := PLANTED.get(place)) is not None:
            model = number - place + planted.model
            found.append(LookAlike(planted.kind, key_for(model), key_for(number), planted.how))
    return tuple(found)
