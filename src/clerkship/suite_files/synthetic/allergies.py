"""Allergens of `tables/allergens.json`, and which patients are allergic to them."""

from datetime import date
from typing import NamedTuple

from clerkship.suite_files.synthetic.people import SyntheticPerson
from clerkship.suite_files.synthetic.random_source import RandomSource
from clerkship.suite_files.synthetic.table import read_table
from clerkship.suite_files.synthetic.terms import Term


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
