"""The organizations and places of the valley: a clinic, a hospital, a laboratory, and who pays."""

from collections.abc import Iterator
from datetime import datetime
from typing import NamedTuple

from clerkship.fhir.resource import Resource
from clerkship.synthetic.addresses import STATE
from clerkship.synthetic.terms import NPI, Term, concept, hl7, made, reference
from clerkship.synthetic.times import instant

IDS = "https://riverbend.example/ids/"
"""What identifiers of the valley are numbered in: `mrn`, `staff`, `claim` and so on."""
PROVIDER = hl7("organization-type", "prov", "Healthcare Provider")
PAYER = hl7("organization-type", "pay", "Payer")
_SITE = "http://terminology.hl7.org/CodeSystem/location-physical-type"
_ROLE = "http://terminology.hl7.org/CodeSystem/v3-RoleCode"


class House(NamedTuple):
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


CLINIC = House(
    "org-clinic",
    "Riverbend Family Health Center",
    PROVIDER,
    "12 Orchard Street",
    "Riverbend",
    "00101",
    "(518) 555-0100",
    "9999900019",
)
HOSPITAL = House(
    "org-hospital",
    "Alder Falls General Hospital",
    PROVIDER,
    "400 Foundry Road",
    "Alder Falls",
    "00103",
    "(518) 555-0110",
    "9999900027",
)
LAB = House(
    "org-lab",
    "Stonegate Clinical Laboratory",
    PROVIDER,
    "77 Quarry Lane",
    "Stonegate",
    "00112",
    "(518) 555-0120",
    "9999900035",
)
HARBORLIGHT = House(
    "org-harborlight",
    "Harborlight Health Plan",
    PAYER,
    "1 Harbor Place",
    "Stonegate",
    "00112",
    "(518) 555-0130",
    "HL001",
)
CEDAR = House(
    "org-cedar", "Cedar Mutual Insurance", PAYER, "250 Cedar Avenue", "Quarry Hill", "00118", "(518) 555-0140", "CM002"
)
ASSISTANCE = House(
    "org-assistance",
    "Valley Medical Assistance Program",
    PAYER,
    "9 Chapel Court",
    "Riverbend",
    "00101",
    "(518) 555-0150",
    "VM003",
)
EVERGREEN = House(
    "org-evergreen",
    "Evergreen Senior Health Plan",
    PAYER,
    "31 Spruce Drive",
    "North Tamarack",
    "00124",
    "(518) 555-0160",
    "EV004",
)
HOUSES = (CLINIC, HOSPITAL, LAB, HARBORLIGHT, CEDAR, ASSISTANCE, EVERGREEN)


class Place(NamedTuple):
    """A location."""

    id: str
    name: str
    house: House
    kind: Term
    form: Term

    @property
    def key(self) -> str:
        """`Location/loc-clinic`."""
        return f"Location/{self.id}"


_BUILDING = Term(_SITE, "bu", "Building")
_WARD = Term(_SITE, "wa", "Ward")
ROOMS = Place(
    "loc-clinic",
    "Riverbend Family Health Center, exam rooms",
    CLINIC,
    Term(_ROLE, "OF", "Outpatient facility"),
    _BUILDING,
)
EMERGENCY = Place(
    "loc-emergency", "Alder Falls General, emergency department", HOSPITAL, Term(_ROLE, "ER", "Emergency room"), _WARD
)
WARD = Place("loc-ward", "Alder Falls General, medical ward 3", HOSPITAL, Term(_ROLE, "HU", "Hospital unit"), _WARD)
SPECIALTY = Place(
    "loc-specialty",
    "Alder Falls General, specialty clinic",
    HOSPITAL,
    Term(_ROLE, "HOSP", "Hospital"),
    _BUILDING,
)
DRAWS = Place(
    "loc-lab", "Stonegate Clinical Laboratory", LAB, Term(_ROLE, "DX", "Diagnostics or therapeutics unit"), _BUILDING
)
PLACES = (ROOMS, EMERGENCY, WARD, SPECIALTY, DRAWS)


def _address(house: House) -> dict[str, object]:
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


def place_resources(since: datetime) -> Iterator[Resource]:
    """Every organization and location."""
    updated = instant(since)
    for house in HOUSES:
        system = NPI if house.type is PROVIDER else f"{IDS}payer"
        yield made(
            "Organization",
            house.id,
            updated,
            identifier=[{"system": system, "value": house.number}],
            active=True,
            type=[concept(house.type)],
            name=house.name,
            telecom=[{"system": "phone", "value": house.phone, "use": "work"}],
            address=[_address(house)],
        )
    for place in PLACES:
        yield made(
            "Location",
            place.id,
            updated,
            status="active",
            name=place.name,
            mode="instance",
            type=[concept(place.kind)],
            telecom=[{"system": "phone", "value": place.house.phone, "use": "work"}],
            address=_address(place.house),
            physicalType=concept(place.form),
            managingOrganization=reference(place.house.key, place.house.name),
        )
