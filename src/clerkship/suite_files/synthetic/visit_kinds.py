"""The kinds of visits."""

from typing import NamedTuple

from clerkship.suite_files.synthetic.organizations import LOCATIONS, Location
from clerkship.suite_files.synthetic.table import read_table
from clerkship.suite_files.synthetic.terms import Term


class VisitKind(NamedTuple):
    """A kind of visit, a row of `tables/visit_kinds.json`."""

    key: str
    name: str
    encounter_class: Term
    """The `Encounter.class`."""
    type: Term
    location_id: str
    charge: int
    """Charge in dollars."""
    booked: bool = True
    """Whether it has an appointment."""
    measured: bool = True

    @property
    def location(self) -> Location:
        """The location of such visits."""
        return LOCATIONS[self.location_id]


CHECKUP, CHILD, FOLLOWUP, SYMPTOM, VIDEO, URGENT, ADMISSION = read_table("visit_kinds", VisitKind)
