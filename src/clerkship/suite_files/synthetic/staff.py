"""Clinicians: a team of four for every hundred patients, and specialists who are shared by all."""

from collections.abc import Iterator
from datetime import datetime
from typing import NamedTuple

from clerkship.formats.fhir.resource import Resource
from clerkship.suite_files.synthetic.organizations import (
    CLINIC,
    HOSPITAL,
    IDS,
    ROOMS,
    SPECIALTY,
    Location,
    Organization,
)
from clerkship.suite_files.synthetic.random_source import RandomSource
from clerkship.suite_files.synthetic.terms import (
    NPI,
    Term,
    build_reference,
    build_resource,
    codeable_concept,
    read_table,
)
from clerkship.suite_files.synthetic.times import format_instant
from clerkship.text.known_names import ORIGIN_WEIGHTS, ORIGINS

TEAM_SIZE = 100
"""Patients of one team. Each team has its own appointment book, so that more patients do not change full teams."""


class StaffPosition(NamedTuple):
    """A position: role, specialty, title and degree."""

    key: str
    role: Term
    specialty: Term
    title: str
    degree: Term


STAFF_POSITIONS = read_table("posts", StaffPosition)
TEAM_POSITIONS, SPECIALIST_POSITIONS = STAFF_POSITIONS[:4], STAFF_POSITIONS[4:]


class Clinician(NamedTuple):
    """A clinician in a position."""

    tag: str
    position: StaffPosition
    given: str
    family: str
    gender: str
    organization: Organization
    location: Location
    npi: str

    @property
    def key(self) -> str:
        """The key, such as `Practitioner/prac-01-family`."""
        return f"Practitioner/prac-{self.tag}"

    @property
    def name(self) -> str:
        """Name and title, such as `Grace Fenwick, MD`."""
        return f"{self.given} {self.family}, {self.position.title}"

    @property
    def ref(self) -> dict[str, str]:
        """A Reference to the Practitioner."""
        return build_reference(self.key, self.name)

    @property
    def short_name(self) -> str:
        """The name for a salutation, such as `Dr. Fenwick`."""
        return f"{'Dr. ' if self.position.title == 'MD' else f'{self.given} '}{self.family}"


def build_npi(digits: int) -> str:
    """Return a fictional NPI: ten digits with a valid check digit, beginning with 9, which no real NPI does."""
    body = f"99999{digits:04}"
    total = 24 + sum(
        value // 10 + value % 10 for value in _double_alternate_digits(body)
    )  # 24 is the checksum of the prefix 80840
    return f"{body}{-total % 10}"


def _double_alternate_digits(body: str) -> list[int]:
    """Double every other digit from the right (Luhn)."""
    return [int(sign) * (2 if place % 2 == 0 else 1) for place, sign in enumerate(reversed(body))]


def _draw_clinician(
    rng: RandomSource, tag: str, position: StaffPosition, organization: Organization, location: Location, digits: int
) -> Clinician:
    origin = rng.weighted_choice(ORIGINS, ORIGIN_WEIGHTS)
    gender = rng.choice(("female", "male"))
    given = rng.choice(origin.female if gender == "female" else origin.male)
    return Clinician(tag, position, given, rng.choice(origin.family), gender, organization, location, build_npi(digits))


def draw_team(seed: int, team: int) -> tuple[Clinician, ...]:
    """Return the clinicians of a team; teams are counted from 1."""
    rng = RandomSource(seed, "team", team)
    first = 996 + team * len(TEAM_POSITIONS)
    return tuple(
        _draw_clinician(rng, f"{team:02}-{position.key}", position, CLINIC, ROOMS, first + place)
        for place, position in enumerate(TEAM_POSITIONS)
    )


def draw_specialists(seed: int) -> dict[str, Clinician]:
    """Return the specialists by specialty."""
    rng = RandomSource(seed, "specialists")
    return {
        position.key: _draw_clinician(rng, position.key, position, HOSPITAL, SPECIALTY, 51 + place)
        for place, position in enumerate(SPECIALIST_POSITIONS)
    }


def build_staff(clinician: Clinician, since: datetime) -> Iterator[Resource]:
    """Yield the Practitioner and PractitionerRole of a clinician."""
    updated = format_instant(since)
    digits = int(clinician.npi[5:9])
    yield build_resource(
        "Practitioner",
        f"prac-{clinician.tag}",
        updated,
        identifier=[{"system": NPI, "value": clinician.npi}, {"system": f"{IDS}staff", "value": f"S{digits:04}"}],
        active=True,
        name=[
            {
                "use": "official",
                "text": clinician.name,
                "family": clinician.family,
                "given": [clinician.given],
                "suffix": [clinician.position.title],
            }
        ],
        telecom=[{"system": "phone", "value": clinician.organization.phone, "use": "work"}],
        gender=clinician.gender,
        qualification=[{"code": codeable_concept(clinician.position.degree)}],
    )
    yield build_resource(
        "PractitionerRole",
        f"role-{clinician.tag}",
        updated,
        active=True,
        practitioner=clinician.ref,
        organization=clinician.organization.ref,
        code=[codeable_concept(clinician.position.role)],
        specialty=[codeable_concept(clinician.position.specialty)],
        location=[clinician.location.ref],
        telecom=[{"system": "phone", "value": clinician.organization.phone, "use": "work"}],
    )
