"""The drugs of `tables/drugs.json`: RxNorm's clinical drugs, how each is taken, and what it is not combined with."""

from typing import NamedTuple

from clerkship.synthetic.table import read_table
from clerkship.synthetic.terms import SNOMED, Term


class Drug(NamedTuple):
    """One drug in one strength."""

    key: str
    term: Term
    name: str
    group: str
    """What it is one of: nobody takes two of a group."""
    dose: float
    unit: str
    times: int
    """A day."""
    sig: str
    ingredients: tuple[str, ...]
    """What somebody allergic to cannot take it."""
    needed: bool = False
    """Taken when needed only."""
    days: int = 90
    avoid: tuple[str, ...] = ()
    """Illnesses and groups of drugs it is not given beside."""
    route: Term = Term(SNOMED, "26643006", "Oral route")
    ages: tuple[int, int] = (0, 120)
    stopped: str = "Replaced by another drug"
    """Why it is stopped, when it is."""
    refills: int = 3
    """Of what is taken for long; a course has none."""
    first: float = 0
    """The dose of the first day, where that is another."""
    supply: int = 0
    """How many are dispensed of what is taken when needed, where that is fewer than could be taken."""


DRUGS = {drug.key: drug for drug in read_table("drugs", Drug)}
WEIGHT_DOSES = {
    ("amoxicillin_liquid", "otitis"): (0.55, 12.5),
    ("amoxicillin_liquid", "strep"): (0.31, 6.0),
    ("cefdinir_liquid", "otitis"): (0.28, 12.0),
    ("cefdinir_liquid", "strep"): (0.28, 12.0),
}
"""What children get for what: mL for each kilogram and dose, and the most. Amoxicillin is 88 mg/kg a day for an ear and
50 for a throat, cefdinir 14."""


def compute_dose(drug: Drug, illness: str, weight: float) -> float:
    """Return one dose: by weight, rounded down to half a millilitre, if the drug is dosed so; else the dose of the
    table.
    """
    if (drug.key, illness) not in WEIGHT_DOSES:
        return drug.dose
    each, most = WEIGHT_DOSES[drug.key, illness]
    return min(most, int(each * weight * 2) / 2)
