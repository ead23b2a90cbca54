"""Organizations, locations and kinds of visits: a clinic, a hospital, a laboratory and insurers."""

from collections.abc import Iterator
from datetime import datetime
from typing import NamedTuple

from clerkship.formats.fhir.resource import Resource
from clerkship.suite_files.synthetic.addresses import STATE
from clerkship.suite_files.synthetic.terms import (
    NPI,
    TERMS,
    Term,
    build_reference,
    build_resource,
    codeable_concept,
    read_table,
)
from clerkship.suite_files.synthetic.times import format_instant

IDS = "https://riverbend.example/ids/"
"""The base of identifier systems: `mrn`, `staff`, `claim` and so on."""


class Organization(NamedTuple):
    """A clinic, hospital, laboratory or insurer."""

    id: str
    name: str
    type: Term
    line: str
    town: str
    zip: str
    phone: str
    number: str

    @property
    def key(self) -> str:
        """Its key, such as `Organization/org-clinic`."""
        return f"Organization/{self.id}"

    @property
    def ref(self) -> dict[str, str]:
        """A Reference to it."""
        return build_reference(self.key, self.name)


ORGANIZATIONS = read_table("organizations", Organization)
CLINIC, HOSPITAL, LAB, HARBORLIGHT, CEDAR, ASSISTANCE, EVERGREEN = ORGANIZATIONS


class Location(NamedTuple):
    """A place where visits happen."""

    id: str
    name: str
    organization_id: str
    kind: Term
    form: Term

    @property
    def key(self) -> str:
        """Its key, such as `Location/loc-clinic`."""
        return f"Location/{self.id}"

    @property
    def ref(self) -> dict[str, str]:
        """A Reference to it."""
        return build_reference(self.key, self.name)

    @property
    def organization(self) -> Organization:
        """The organization that runs it."""
        return _BY_ID[self.organization_id]


_BY_ID = {organization.id: organization for organization in ORGANIZATIONS}
LOCATIONS = {location.id: location for location in read_table("locations", Location)}
ROOMS, EMERGENCY, WARD, SPECIALTY, DRAWS = LOCATIONS.values()


def _build_address(organization: Organization) -> dict[str, object]:
    text = f"{organization.line}, {organization.town}, {STATE} {organization.zip}"
    return {
        "use": "work",
        "text": text,
        "line": [organization.line],
        "city": organization.town,
        "state": STATE,
        "postalCode": organization.zip,
        "country": "US",
    }


def build_places(since: datetime) -> Iterator[Resource]:
    """Yield every Organization and Location."""
    updated = format_instant(since)
    for organization in ORGANIZATIONS:
        system = NPI if organization.type == TERMS["organization.provider"] else f"{IDS}payer"
        yield build_resource(
            "Organization",
            organization.id,
            updated,
            identifier=[{"system": system, "value": organization.number}],
            active=True,
            type=[codeable_concept(organization.type)],
            name=organization.name,
            telecom=[{"system": "phone", "value": organization.phone, "use": "work"}],
            address=[_build_address(organization)],
        )
    for location in LOCATIONS.values():
        yield build_resource(
            "Location",
            location.id,
            updated,
            status="active",
            name=location.name,
            mode="instance",
            type=[codeable_concept(location.kind)],
            telecom=[{"system": "phone", "value": location.organization.phone, "use": "work"}],
            address=_build_address(location.organization),
            physicalType=codeable_concept(location.form),
            managingOrganization=location.organization.ref,
        )


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
