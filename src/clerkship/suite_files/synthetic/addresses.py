"""Fictional addresses and phone numbers: invented towns, unassigned ZIP codes, and numbers reserved for fiction."""

from typing import Any, NamedTuple

from clerkship.suite_files.synthetic.random_source import RandomSource

STATE = "NY"
TOWNS = (
    ("Riverbend", "00101"), ("Alder Falls", "00103"), ("Millbrook Landing", "00107"), ("Stonegate", "00112"),
    ("Quarry Hill", "00118"), ("North Tamarack", "00124"), ("Lower Fennimore", "00131"),
)  # fmt: skip
STREETS = ("Alder", "Birch", "Cannery", "Canal", "Cedar", "Chapel", "Copper", "Dogwood", "Elm", "Ferry", "Foundry",
           "Garnet", "Harbor", "Hawthorn", "Juniper", "Larch", "Linden", "Maple", "Meadow", "Mill", "Orchard",
           "Poplar", "Quarry", "Rowan", "Spruce", "Sycamore", "Tannery", "Thistle", "Walnut", "Willow")  # fmt: skip
STREET_TYPES = ("Street", "Avenue", "Lane", "Road", "Court", "Drive", "Place")
AREA_CODES = (
    "315", "332", "363", "516", "518", "585", "607", "624", "631", "680", "716", "838", "845", "914", "929", "934",
)  # fmt: skip


class Address(NamedTuple):
    """A home address."""

    line: str
    unit: str
    town: str
    zip: str

    def to_fhir(self, since: str = "") -> dict[str, Any]:
        lines = [self.line, self.unit] if self.unit else [self.line]
        text = f"{', '.join(lines)}, {self.town}, {STATE} {self.zip}"
        address = {"use": "home", "type": "both", "text": text, "line": lines, "city": self.town, "state": STATE}
        address |= {"postalCode": self.zip, "country": "US"}
        return address | ({"period": {"start": since}} if since else {})

    @property
    def text(self) -> str:
        """The address on one line."""
        unit = f", {self.unit}" if self.unit else ""
        return f"{self.line}{unit}, {self.town}, {STATE} {self.zip}"


def draw_address(rng: RandomSource) -> Address:
    """Draw an address from the random numbers of a patient."""
    town, code = rng.choice(TOWNS)
    unit = f"Apt {rng.integer(1, 24)}{rng.choice(('', 'A', 'B', 'C'))}" if rng.chance(0.3) else ""
    return Address(f"{rng.integer(2, 989)} {rng.choice(STREETS)} {rng.choice(STREET_TYPES)}", unit, town, code)


PHONE_NUMBERS = tuple(f"({area}) 555-01{last:02}" for area in AREA_CODES for last in range(100))
"""All numbers of these areas that are reserved for fiction: 555-0100 to 555-0199."""
MAX_TRIES = 12


class PhoneNumberPool:
    """Assigns phone numbers, each to one patient as long as there are any left."""

    def __init__(self, reserved: frozenset[str]) -> None:
        self._taken = set(reserved)
        self._others: set[str] = set()

    def assign(self, rng: RandomSource) -> str:
        """Return a phone number for a patient."""
        index = rng.integer(0, len(PHONE_NUMBERS) - 1)
        free = [PHONE_NUMBERS[(index + step * 7) % len(PHONE_NUMBERS)] for step in range(MAX_TRIES)]
        number = next((number for number in free if number not in self._taken and number not in self._others), "")
        if not number and len(self._taken) < len(PHONE_NUMBERS):
            walk = (PHONE_NUMBERS[(index + step) % len(PHONE_NUMBERS)] for step in range(len(PHONE_NUMBERS)))
            number = next(number for number in walk if number not in self._taken)
        self._taken.add(number or PHONE_NUMBERS[index])
        return number or PHONE_NUMBERS[index]

    def assign_contact(self, rng: RandomSource) -> str:
        """Return a phone number for a contact. It may repeat, because patients have priority."""
        number = PHONE_NUMBERS[rng.integer(0, len(PHONE_NUMBERS) - 1)]
        for _ in range(MAX_TRIES):
            if number not in self._taken and number not in self._others:
                break
            number = PHONE_NUMBERS[rng.integer(0, len(PHONE_NUMBERS) - 1)]
        self._others.add(number)
        return number
