"""The organizations and places of the valley: a clinic, a hospital, a laboratory, and who pays."""

from collections.abc import Iterator
from datetime import datetime
from typing import NamedTuple

from clerkship.fhir.resource import Resource
from clerkship.synthetic.addresses import STATE
from clerkship.synthetic.table import TERMS, read_table
from clerkship.synthetic.terms import NPI, Term, build_reference, build_resource, codeable_concept
from clerkship.synthetic.times import format_instant

IDS = "https://riverbend.example/ids/"
"""What identifiers of the valley are numbered in: `mrn`, `staff`, `claim` and so on."""


class Organization(NamedTuple):
    """An organization."""

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
        """`Organization/org-clinic`."""
        return f"Organization/{self.id}"

    @property
    def ref(self) -> dict[str, str]:
        """A reference to it."""
        return build_reference(self.key, self.name)


ORGANIZATIONS = read_table("organizations", Organization)
CLINIC, HOSPITAL, LAB, HARBORLIGHT, CEDAR, ASSISTANCE, EVERGREEN = ORGANIZATIONS


class Location(NamedTuple):
    """A location."""

    id: str
    name: str
    house_id: str
    kind: Term
    form: Term

    @property
    def key(self) -> str:
        """`Location/loc-clinic`."""
        return f"Location/{self.id}"

    @property
    def ref(self) -> dict[str, str]:
        """A reference to it."""
        return build_reference(self.key, self.name)

    @property
    def house(self) -> Organization:
        """The organization that runs it."""
        return _BY_ID[self.house_id]


_BY_ID = {house.id: house for house in ORGANIZATIONS}
LOCATIONS = {place.id: place for place in read_table("locations", Location)}
ROOMS, EMERGENCY, WARD, SPECIALTY, DRAWS = LOCATIONS.values()


def _build_address(house: Organization) -> dict[str, object]:
    text = f"{house.line}, {house.town}, {STATE} {house.zip}"
    return {
        "use": "work",
        "text": text,
        "line": [house.line],
        "city": house.town,
        "state": STATE,
        "postalCode": house.zip,
        "country": "US",
    }


def build_places(since: datetime) -> Iterator[Resource]:
    """Every organization and location."""
    updated = format_instant(since)
    for house in ORGANIZATIONS:
        system = NPI if house.type == TERMS["organization.provider"] else f"{IDS}payer"
        yield build_resource(
            "Organization",
            house.id,
            updated,
            identifier=[{"system": system, "value": house.number}],
            active=True,
            type=[codeable_concept(house.type)],
            name=house.name,
            telecom=[{"system": "phone", "value": house.phone, "use": "work"}],
            address=[_build_address(house)],
        )
    for place in LOCATIONS.values():
        yield build_resource(
            "Location",
            place.id,
            updated,
            status="active",
            name=place.name,
            mode="instance",
            type=[codeable_concept(place.kind)],
            telecom=[{"system": "phone", "value": place.house.phone, "use": "work"}],
            address=_build_address(place.house),
            physicalType=codeable_concept(place.form),
            managingOrganization=place.house.ref,
        )
