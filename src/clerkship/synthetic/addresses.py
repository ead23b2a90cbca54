"""Where people live: towns that are not on any map, ZIP codes that were never given out, numbers kept for fiction."""

from typing import Any, NamedTuple

from clerkship.synthetic.random_source import RandomSource

STATE = "NY"
TOWNS = (
    ("Riverbend", "00101"),
    ("Alder Falls", "00103"),
    ("Millbrook Landing", "00107"),
    ("Stonegate", "00112"),
    ("Quarry Hill", "00118"),
    ("North Tamarack", "00124"),
    ("Lower Fennimore", "00131"),
)
STREETS = ("Alder", "Birch", "Cannery", "Canal", "Cedar", "Chapel", "Copper", "Dogwood", "Elm", "Ferry", "Foundry",
           "Garnet", "Harbor", "Hawthorn", "Juniper", "Larch", "Linden", "Maple", "Meadow", "Mill", "Orchard",
           "Poplar", "Quarry", "Rowan", "Spruce", "Sycamore", "Tannery", "Thistle", "Walnut", "Willow")  # fmt: skip
STREET_TYPES = ("Street", "Avenue", "Lane", "Road", "Court", "Drive", "Place")
AREA_CODES = (
    "315",
    "332",
    "363",
    "516",
    "518",
    "585",
    "607",
    "624",
    "631",
    "680",
    "716",
    "838",
    "845",
    "914",
    "929",
    "934",
)


class Address(NamedTuple):
    """One of them."""

    line: str
    unit: str
    town: str
    zip: str

    def rendered(self, since: str = "") -> dict[str, Any]:
        """As an Address."""
        lines = [self.line, self.unit] if self.unit else [self.line]
        text = f"{', '.join(lines)}, {self.town}, {STATE} {self.zip}"
        address = {"use": "home", "type": "both", "text": text, "line": lines, "city": self.town, "state": STATE}
        address |= {"postalCode": self.zip, "country": "US"}
        return address | ({"period": {"start": since}} if since else {})

    @property
    def text(self) -> str:
        """On one line."""
        unit = f", {self.unit}" if self.unit else ""
        return f"{self.line}{unit}, {self.town}, {STATE} {self.zip}"


def draw_address(dice: RandomSource) -> Address:
    """Somewhere in the valley."""
    town, code = dice.pick(TOWNS)
    unit = f"Apt {dice.whole(1, 24)}{dice.pick(('', 'A', 'B', 'C'))}" if dice.chance(0.3) else ""
    return Address(f"{dice.whole(2, 989)} {dice.pick(STREETS)} {dice.pick(STREET_TYPES)}", unit, town, code)


PHONE_NUMBERS = tuple(f"({area}) 555-01{last:02}" for area in AREA_CODES for last in range(100))
"""555-0100 to 555-0199 are kept for fiction, in every area: these are all there are."""
MAX_TRIES = 12


class PhoneNumberPool:
    """Gives out phone numbers: nobody gets another's as long as there are any left."""

    def __init__(self, reserved: frozenset[str]) -> None:
        self._taken = set(reserved)
        self._others: set[str] = set()

    def number(self, dice: RandomSource) -> str:
        """A patient's own."""
        place = dice.whole(0, len(PHONE_NUMBERS) - 1)
        free = [PHONE_NUMBERS[(place + step * 7) % len(PHONE_NUMBERS)] for step in range(MAX_TRIES)]
        found = next((one for one in free if one not in self._taken and one not in self._others), "")
        if not found and len(self._taken) < len(PHONE_NUMBERS):
            walk = (PHONE_NUMBERS[(place + step) % len(PHONE_NUMBERS)] for step in range(len(PHONE_NUMBERS)))
            found = next(one for one in walk if one not in self._taken)
        self._taken.add(found or PHONE_NUMBERS[place])
        return found or PHONE_NUMBERS[place]

    def other(self, dice: RandomSource) -> str:
        """That of somebody who is no patient: there are not enough for all, and so patients' come first."""
        found = PHONE_NUMBERS[dice.whole(0, len(PHONE_NUMBERS) - 1)]
        for _ in range(MAX_TRIES):
            if found not in self._taken and found not in self._others:
                break
            found = PHONE_NUMBERS[dice.whole(0, len(PHONE_NUMBERS) - 1)]
        self._others.add(found)
        return found
