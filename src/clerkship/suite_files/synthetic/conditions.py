"""The illnesses of `tables/conditions.json`: their codes, who has them, how they are treated and monitored."""

from typing import Literal, NamedTuple

from clerkship.suite_files.synthetic.table import read_table
from clerkship.suite_files.synthetic.terms import Term


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
