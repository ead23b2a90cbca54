"""The illnesses and allergies of `tables/`: their codes, who has them, how they are treated and monitored."""

from datetime import date
from typing import Literal, NamedTuple

from clerkship.suite_files.synthetic.people import SyntheticPerson
from clerkship.suite_files.synthetic.random_source import RandomSource
from clerkship.suite_files.synthetic.terms import Term, read_table


class Allergen(NamedTuple):
    """A substance and the reactions to it."""

    key: str
    term: Term
    name: str
    category: str
    weight: int
    reactions: tuple[Term, ...]
    ingredient: str = ""
    """Drugs with this ingredient are never prescribed to allergic patients."""


ALLERGENS = read_table("allergens", Allergen)


def draw_allergies(rng: RandomSource, person: SyntheticPerson, today: date) -> list[Allergen]:
    """Return the allergies of a patient: none for most patients, and none in the first year of life."""
    if person.age(today) < 1 or not rng.chance(0.36):
        return []
    count = 2 if rng.chance(0.3) else 1
    keys = {rng.weighted_choice(ALLERGENS, [allergen.weight for allergen in ALLERGENS]).key for _ in range(count)}
    return [allergen for allergen in ALLERGENS if allergen.key in keys]


class Illness(NamedTuple):
    """One illness."""

    key: str
    course: Literal["chronic", "acute", "severe"]
    name: str
    snomed: Term
    icd: Term
    ages: tuple[int, int] = (18, 120)
    """The minimum age of onset, and the maximum age of patients who have it."""
    weight: float = 1
    sex: str = ""
    regimens: tuple[tuple[str, ...], ...] = ()
    """Alternative treatments, each a set of drugs that are taken together."""
    panels: tuple[str, ...] = ()
    """Laboratory panels that monitor it."""
    specialty: str = ""
    """The specialty that patients may be referred to."""
    after: tuple[str, ...] = ()
    """It occurs only together with one of these illnesses."""
    without: tuple[str, ...] = ()
    """It never occurs together with these illnesses."""
    plan: str = ""
    """Advice besides drugs, for notes; drugs are listed from the prescriptions."""
    complaint: str = ""


ILLNESSES = {illness.key: illness for illness in read_table("conditions", Illness)}
CHRONIC = [illness for illness in ILLNESSES.values() if illness.course == "chronic"]
ACUTE = [illness for illness in ILLNESSES.values() if illness.course == "acute"]
SEVERE = [illness for illness in ILLNESSES.values() if illness.course == "severe"]
"""Reasons for admission: the first in any season, the others in winter."""
INFECTIONS = frozenset({"strep", "pharyngitis", "otitis", "pneumonia", "influenza", "cellulitis"})
"""Illnesses with fever."""
