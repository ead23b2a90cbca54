"""The illnesses of `tables/conditions.json`: their codes, who has them, how they are treated and monitored."""

from typing import Literal, NamedTuple

from clerkship.synthetic.table import read_table
from clerkship.synthetic.terms import Term


class Illness(NamedTuple):
    """One illness."""

    key: str
    course: Literal["chronic", "acute", "severe"]
    name: str
    snomed: Term
    icd: Term
    ages: tuple[int, int] = (18, 120)
    """From which age it begins in anybody, up to which somebody has it."""
    weight: float = 1
    sex: str = ""
    regimens: tuple[tuple[str, ...], ...] = ()
    """Ways to treat it; a way is drugs that are taken together."""
    panels: tuple[str, ...] = ()
    """What is measured because of it."""
    specialty: str = ""
    """Whom they may be referred to."""
    after: tuple[str, ...] = ()
    """Only beside one of these."""
    without: tuple[str, ...] = ()
    """Never beside these."""
    plan: str = ""
    """What is done beside drugs: these are written from what was prescribed."""
    complaint: str = ""


ILLNESSES = {illness.key: illness for illness in read_table("conditions", Illness)}
CHRONIC = [illness for illness in ILLNESSES.values() if illness.course == "chronic"]
ACUTE = [illness for illness in ILLNESSES.values() if illness.course == "acute"]
SEVERE = [illness for illness in ILLNESSES.values() if illness.course == "severe"]
"""What people are admitted for: the first at any time of the year, the others in winter."""
INFECTIONS = frozenset({"strep", "pharyngitis", "otitis", "pneumonia", "influenza", "cellulitis"})
"""What fever goes with."""
