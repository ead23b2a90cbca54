"""The drugs of `tables/drugs.json`: RxNorm's clinical drugs, how each is taken, and what it is not combined with."""

from typing import NamedTuple

from clerkship.suite_files.synthetic.terms import SNOMED, Term, read_table


class Drug(NamedTuple):
    """One drug in one strength."""

    key: str
    term: Term
    name: str
    group: str
    """The drug group; no patient takes two drugs of a group."""
    dose: float
    unit: str
    times: int
    """Doses per day."""
    sig: str
    ingredients: tuple[str, ...]
    """Patients who are allergic to one of these cannot take it."""
    needed: bool = False
    """Whether it is taken only as needed."""
    days: int = 90
    avoid: tuple[str, ...] = ()
    """Illnesses and drug groups that it must not be combined with."""
    route: Term = Term(SNOMED, "26643006", "Oral route")
    ages: tuple[int, int] = (0, 120)
    stopped: str = "Replaced by another drug"
    """The reason if it is stopped."""
    refills: int = 3
    """Refills of a chronic medication; a course has none."""
    first: float = 0
    """The dose of the first day, if it differs."""
    supply: int = 0
    """The dispensed quantity of an as-needed drug, if it is less than the maximum use."""


DRUGS = {drug.key: drug for drug in read_table("drugs", Drug)}
WEIGHT_DOSES = {
    ("amoxicillin_liquid", "otitis"): (0.55, 12.5),
    ("amoxicillin_liquid", "strep"): (0.31, 6.0),
    ("cefdinir_liquid", "otitis"): (0.28, 12.0),
    ("cefdinir_liquid", "strep"): (0.28, 12.0),
}
"""Doses for children by drug and illness: mL per kilogram and dose, and the maximum. Amoxicillin is 88 mg/kg per day
for otitis and 50 for strep throat, cefdinir 14."""


def compute_dose(drug: Drug, illness: str, weight: float) -> float:
    """Return one dose: by weight, rounded down to half a millilitre, if the drug is dosed so; else the dose of the
    table.
    """
    if (drug.key, illness) not in WEIGHT_DOSES:
        return drug.dose
    each, most = WEIGHT_DOSES[drug.key, illness]
    return min(most, int(each * weight * 2) / 2)
