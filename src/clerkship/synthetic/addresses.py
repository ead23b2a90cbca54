"""Where people live: towns that are not on any map, ZIP codes that were never given out, numbers kept for fiction."""

from typing import Any, NamedTuple

from clerkship.synthetic.dice import Dice

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
STREETS = [
    "Alder",
    "Birch",
    "Cannery",
    "Canal",
    "Cedar",
    "Chapel",
    "Copper",
    "Dogwood",
    "Elm",
    "Ferry",
    "Foundry",
    "Garnet",
    "Harbor",
    "Hawthorn",
    "Juniper",
    "Larch",
    "Linden",
    "Maple",
    "Meadow",
    "Mill",
    "Orchard",
    "Poplar",
    "Quarry",
    "Rowan",
    "Spruce",
    "Sycamore",
    "Tannery",
    "Thistle",
    "Walnut",
    "Willow",
]
WAYS = ("Street", "Avenue", "Lane", "Road", "Court", "Drive", "Place")
AREAS = ("315", "332", "363", "516", "518", "585", "607", "624", "631", "680", "716", "838", "845", "914", "929", "934")


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


def draw_address(dice: Dice) -> Address:
    """Somewhere in the valley."""
    town, code = dice.pick(TOWNS)
    unit = f"Apt {dice.whole(1, 24)}{dice.pick(('', 'A', 'B', 'C'))}" if dice.chance(0.3) else ""
    return Address(f"{dice.whole(2, 989)} {dice.pick(STREETS)} {dice.pick(WAYS)}", unit, town, code)


def draw_phone(dice: Dice) -> str:
    """555-0100 to 555-0199 are kept for fiction, in every area."""
    return f"({dice.pick(AREAS)}) 555-01{dice.whole(0, 99):02}"
