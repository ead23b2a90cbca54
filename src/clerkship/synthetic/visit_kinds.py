"""The sorts of visits, and what each is called."""

from typing import NamedTuple

from clerkship.synthetic.places import EMERGENCY, ROOMS, WARD, Place
from clerkship.synthetic.terms import Term, hl7, snomed


class Kind(NamedTuple):
    """One sort."""

    key: str
    name: str
    act: Term
    """What FHIR calls the class."""
    type: Term
    place: Place
    charge: int
    """In dollars."""
    booked: bool = True
    """Whether people come by appointment."""
    measured: bool = True


def _act(code: str, display: str) -> Term:
    return hl7("v3-ActCode", code, display)


CHECKUP = Kind(
    "checkup",
    "annual wellness visit",
    _act("AMB", "ambulatory"),
    snomed("162673000", "General examination of patient"),
    ROOMS,
    185,
)
CHILD = Kind(
    "child", "well child visit", _act("AMB", "ambulatory"), snomed("410620009", "Well child visit"), ROOMS, 160
)
FOLLOWUP = Kind(
    "followup", "follow-up visit", _act("AMB", "ambulatory"), snomed("390906007", "Follow-up encounter"), ROOMS, 140
)
SYMPTOM = Kind(
    "symptom", "sick visit", _act("AMB", "ambulatory"), snomed("185345009", "Encounter for symptom"), ROOMS, 125
)
VIDEO = Kind(
    "video",
    "video visit",
    _act("VR", "virtual"),
    snomed("448337001", "Telemedicine consultation with patient"),
    ROOMS,
    95,
    measured=False,
)
URGENT = Kind(
    "urgent",
    "emergency visit",
    _act("EMER", "emergency"),
    snomed("50849002", "Emergency room admission"),
    EMERGENCY,
    1280,
    booked=False,
)
ADMISSION = Kind(
    "admission",
    "hospital stay",
    _act("IMP", "inpatient encounter"),
    snomed("32485007", "Hospital admission"),
    WARD,
    8400,
    booked=False,
)
