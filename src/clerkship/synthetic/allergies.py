"""What people cannot have, and what happens to them when they do."""

from collections.abc import Iterator
from datetime import date, timedelta
from typing import NamedTuple

from clerkship.fhir.resource import Resource
from clerkship.synthetic.dice import Dice
from clerkship.synthetic.people import Person
from clerkship.synthetic.terms import RXNORM, Term, concept, hl7, made, reference, snomed
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


_HIVES = snomed("126485001", "Urticaria")
_RASH = snomed("271807003", "Eruption of skin")
_SHOCK = snomed("39579001", "Anaphylaxis")
_NAUSEA = snomed("422587007", "Nausea")
_SWELLING = snomed("41291007", "Angioedema")
_COUGH = snomed("49727002", "Cough")
_BREATH = snomed("267036007", "Dyspnea")


def _drug(code: str, display: str) -> Term:
    return Term(RXNORM, code, display)


ALLERGENS = (
    Allergen(
        "penicillin",
        _drug("70618", "penicillin"),
        "Penicillin",
        "medication",
        9,
        (_HIVES, _RASH, _SHOCK),
        "penicillin",
    ),
    Allergen(
        "sulfa", _drug("10180", "sulfamethoxazole"), "Sulfamethoxazole", "medication", 5, (_RASH, _HIVES), "sulfonamide"
    ),
    Allergen("aspirin", _drug("1191", "aspirin"), "Aspirin", "medication", 3, (_HIVES, _BREATH), "nsaid"),
    Allergen("ibuprofen", _drug("5640", "ibuprofen"), "Ibuprofen", "medication", 3, (_HIVES, _SWELLING), "nsaid"),
    Allergen(
        "lisinopril", _drug("29046", "lisinopril"), "Lisinopril", "medication", 3, (_COUGH, _SWELLING), "lisinopril"
    ),
    Allergen("codeine", _drug("2670", "codeine"), "Codeine", "medication", 3, (_NAUSEA,), "codeine"),
    Allergen("peanut", snomed("762952008", "Peanut"), "Peanut", "food", 3, (_HIVES, _SHOCK)),
    Allergen("shellfish", snomed("735029006", "Shellfish"), "Shellfish", "food", 3, (_HIVES, _SWELLING)),
    Allergen("egg", snomed("102263004", "Eggs (edible)"), "Egg", "food", 1, (_HIVES,)),
    Allergen("latex", snomed("111088007", "Latex"), "Latex", "environment", 2, (_RASH,)),
    Allergen("bee", snomed("288328004", "Bee venom"), "Bee venom", "environment", 2, (_SHOCK, _SWELLING)),
    Allergen("mite", snomed("260147004", "House dust mite"), "House dust mite", "environment", 2, (_COUGH,)),
)
NONE_KNOWN = snomed("716186003", "No known allergy")
_ACTIVE = hl7("allergyintolerance-clinical", "active", "Active")
_CONFIRMED = hl7("allergyintolerance-verification", "confirmed", "Confirmed")


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
                clinicalStatus=concept(_ACTIVE),
                verificationStatus=concept(_CONFIRMED),
                code=concept(NONE_KNOWN, text="No known allergies"),
                patient=who,
                recordedDate=first_seen.isoformat(),
                recorder=reference(*recorder),
            )
        return
    for allergen in allergies:
        days = (first_seen - person.born).days
        since = first_seen - timedelta(days=dice.whole(0, min(max(days - 120, 0), 3650)))
        reaction = dice.pick(allergen.reactions)
        severity = "severe" if reaction.code == _SHOCK.code else dice.pick(("mild", "moderate"))
        yield made(
            "AllergyIntolerance",
            f"alg-{person.tag}-{allergen.key}",
            instant(at(first_seen, 17)),
            clinicalStatus=concept(_ACTIVE),
            verificationStatus=concept(_CONFIRMED),
            type="intolerance" if reaction.code in (_NAUSEA.code, _COUGH.code) else "allergy",
            category=[allergen.category],
            criticality="high" if severity == "severe" or reaction.code == _SWELLING.code else "low",
            code=concept(allergen.term, text=allergen.name),
            patient=who,
            onsetDateTime=since.isoformat(),
            recordedDate=first_seen.isoformat(),
            recorder=reference(*recorder),
            reaction=[{"manifestation": [concept(reaction)], "severity": severity}],
        )
