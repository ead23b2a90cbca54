"""What people cannot have, and what happens to them when they do."""

from datetime import date
from typing import NamedTuple

from clerkship.synthetic.people import SyntheticPerson
from clerkship.synthetic.random_source import RandomSource
from clerkship.synthetic.table import read_table
from clerkship.synthetic.terms import Term


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


def draw_allergies(rng: RandomSource, person: SyntheticPerson, today: date) -> list[Allergen]:
    """None for most; the newborn have had no time to find out."""
    if person.age(today) < 1 or not rng.chance(0.36):
        return []
    count = 2 if rng.chance(0.3) else 1
    keys = {rng.weighted_choice(ALLERGENS, [allergen.weight for allergen in ALLERGENS]).key for _ in range(count)}
    return [allergen for allergen in ALLERGENS if allergen.key in keys]
