"""What people cannot have, and what happens to them when they do."""

from collections.abc import Iterator
from datetime import date, timedelta
from typing import NamedTuple

from clerkship.fhir.resource import Resource
from clerkship.synthetic.dice import Dice
from clerkship.synthetic.people import Person
from clerkship.synthetic.table import coded, read_table
from clerkship.synthetic.terms import Term, concept, made, reference
from clerkship.synthetic.times import at, instant


class Allergen(NamedTuple):
    """Something, and what it does."""

    key: str
    term: Term
    name: str
    category: str
    weight: int
    reactions: tuple[Term, ...]
    ingredient: str = ""
    """What drugs with it are never given to them."""


ALLERGENS = read_table("allergens", Allergen)
_ANAPHYLAXIS, _NAUSEA, _ANGIOEDEMA, _COUGH = "39579001", "422587007", "41291007", "49727002"
"""Codes of SNOMED CT for reactions that make it severe, an intolerance, or critical."""


def draw_allergies(dice: Dice, person: Person, today: date) -> list[Allergen]:
    """None for most; the newborn have had no time to find out."""
    if person.age(today) < 1 or not dice.chance(0.36):
        return []
    count = 2 if dice.chance(0.3) else 1
    found = {dice.weighted(ALLERGENS, [allergen.weight for allergen in ALLERGENS]).key for _ in range(count)}
    return [allergen for allergen in ALLERGENS if allergen.key in found]


def allergy_resources(
    person: Person, allergies: list[Allergen], dice: Dice, first_seen: date, recorder: tuple[str, str]
) -> Iterator[Resource]:
    """Each of them; for some who have none, that this was asked."""
    who = {"reference": person.key, "display": person.name}
    if not allergies:
        if dice.chance(0.5):
            yield made(
                "AllergyIntolerance",
                f"alg-{person.tag}-none",
                instant(at(first_seen, 17)),
                clinicalStatus=coded("allergy.active"),
                verificationStatus=coded("allergy.confirmed"),
                code=coded("allergy.none", text="No known allergies"),
                patient=who,
                recordedDate=first_seen.isoformat(),
                recorder=reference(*recorder),
            )
        return
    for allergen in allergies:
        days = (first_seen - person.born).days
        since = first_seen - timedelta(days=dice.whole(0, min(max(days - 120, 0), 3650)))
        reaction = dice.pick(allergen.reactions)
        severity = "severe" if reaction.code == _ANAPHYLAXIS else dice.pick(("mild", "moderate"))
        yield made(
            "AllergyIntolerance",
            f"alg-{person.tag}-{allergen.key}",
            instant(at(first_seen, 17)),
            clinicalStatus=coded("allergy.active"),
            verificationStatus=coded("allergy.confirmed"),
            type="intolerance" if reaction.code in (_NAUSEA, _COUGH) else "allergy",
            category=[allergen.category],
            criticality="high" if severity == "severe" or reaction.code == _ANGIOEDEMA else "low",
            code=concept(allergen.term, text=allergen.name),
            patient=who,
            onsetDateTime=since.isoformat(),
            recordedDate=first_seen.isoformat(),
            recorder=reference(*recorder),
            reaction=[{"manifestation": [concept(reaction)], "severity": severity}],
        )
