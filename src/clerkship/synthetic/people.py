"""Who the patients are: their age and name, where they live, and how ill they are."""

from dataclasses import dataclass, replace
from datetime import date, timedelta
from typing import Literal

from clerkship.synthetic.addresses import Address, draw_address, draw_phone
from clerkship.synthetic.dice import Dice
from clerkship.synthetic.lookalikes import DECEASED, LIVING, MEN, PLANTED, WOMEN, Planted, place_of
from clerkship.synthetic.names import ORIGINS, SHORT, WEIGHTS, Origin
from clerkship.synthetic.planted import AGES as ELDERLY
from clerkship.synthetic.planted import ILL
from clerkship.synthetic.times import years

Health = Literal["healthy", "one", "several", "frail"]
YEAR = 365.25
MONTH = YEAR / 12
AGES: tuple[tuple[float, float], ...] = (
    (50, 64),
    (30, 39),
    (75, 84),
    (3, 5),
    (65, 74),
    (18, 29),
    (40, 49),
    (0, 27 / YEAR),
    (55, 69),
    (85, 94),
    (9, 13),
    (30, 45),
    (65, 74),
    (40, 49),
    (1 / 12, 11 / 12),
    (50, 64),
    (75, 84),
    (14, 17),
    (95, 101),
    (20, 29),
)
"""In years; every twenty patients have all of them, for chance would leave the very young and very old out."""
HEALTH: tuple[Health, ...] = ("healthy", "one", "several", "frail")
ILLNESS = (
    (18, (0.72, 0.28, 0.0, 0.0)),
    (40, (0.5, 0.38, 0.12, 0.0)),
    (65, (0.2, 0.35, 0.4, 0.05)),
    (85, (0.05, 0.25, 0.5, 0.2)),
    (200, (0.0, 0.1, 0.4, 0.5)),
)
"""Below which age, how likely each degree of illness is."""
MARITAL = ("S", "M", "M", "M", "D", "W")


@dataclass(frozen=True, slots=True, kw_only=True)
class Person:
    """A patient, before anything has happened to them."""

    number: int
    sex: Literal["female", "male"]
    born: date
    died: date | None
    health: Health
    origin: Origin
    given: str
    middle: str
    family: str
    maiden: str
    suffix: str
    mrn: str
    address: Address
    moved: Address | None
    phone: str
    mobile: str
    email: str
    language: tuple[str, str]
    marital: str
    kin: tuple[str, str, str]
    """Whom to call: relationship, name, phone."""

    @property
    def tag(self) -> str:
        """What all ids of theirs have in them."""
        return f"{self.number:04}"

    @property
    def key(self) -> str:
        """`Patient/pat-0001`."""
        return f"Patient/pat-{self.tag}"

    @property
    def name(self) -> str:
        """As they are called."""
        suffix = f" {self.suffix}" if self.suffix else ""
        return f"{self.given} {self.family}{suffix}"

    def age(self, day: date) -> int:
        """In years."""
        return years(self.born, day)


class Register:
    """Draws patients in order. Each depends on the seed, its number, and those before it in its fifty."""

    def __init__(self, seed: int, today: date) -> None:
        self._seed = seed
        self._today = today
        self._block: list[Person] = []
        self._taken: set[str] = set()

    def next(self, number: int) -> Person:
        """The patient of this number; they are asked for one after the other."""
        place = place_of(number)
        if place == 1:
            self._block = []
        dice = Dice(self._seed, "person", number)
        person = self._drawn(dice, number, place)
        if (planted := PLANTED.get(place)) is not None:
            person = _resembling(person, self._block[planted.model - 1], planted, dice)
        person = replace(person, mrn=self._free(person.mrn))
        self._taken.add(person.mrn)
        self._block.append(person)
        return person

    def _free(self, mrn: str) -> str:
        while mrn in self._taken:
            mrn = f"{(int(mrn) + 101) % 10_000_000:07}"
        return mrn

    def _drawn(self, dice: Dice, number: int, place: int) -> Person:
        days = _age(dice, number, place)
        born = self._today - timedelta(days=days)
        sex: Literal["female", "male"] = dice.pick(("female", "male"))
        sex = "female" if place in WOMEN else "male" if place in MEN else sex
        origin = dice.weighted(ORIGINS, WEIGHTS)
        given, middle = dice.some(origin.female if sex == "female" else origin.male, 2)
        family = dice.pick(origin.family)
        age = days / YEAR
        marital = "S" if age < 20 else dice.pick(MARITAL)
        maiden = dice.pick(origin.family) if sex == "female" and marital != "S" and dice.chance(0.35) else ""
        phone = draw_phone(dice)
        return Person(
            number=number,
            sex=sex,
            born=born,
            died=_died(dice, age, place, self._today),
            health="several" if place in ILL else _health(dice, age),
            origin=origin,
            given=given,
            middle=middle if dice.chance(0.6) else "",
            family=family,
            maiden="" if maiden == family else maiden,
            suffix="",
            mrn=f"{dice.whole(1_000_000, 9_899_999)}",
            address=draw_address(dice),
            moved=draw_address(dice) if age > 3 and dice.chance(0.12) else None,
            phone=phone,
            mobile=draw_phone(dice) if dice.chance(0.5) else "",
            email=f"{_plain(given)}.{_plain(family)}{dice.whole(2, 99)}@mail.example" if dice.chance(0.6) else "",
            language=origin.language if dice.chance(origin.speak_it) else ("en", "English"),
            marital=marital,
            kin=_kin(dice, age, marital, sex, origin, family),
        )


def _age(dice: Dice, number: int, place: int) -> int:
    """In days."""
    low, high = AGES[(number - 1) % len(AGES)]
    if place == DECEASED:
        low, high = 72, 92
    elif place in ILL:
        low, high = ELDERLY
    elif place in WOMEN:
        low, high = 30, 62
    elif place == 18:
        low, high = 52, 70
    return (
        dice.whole(int(low * YEAR), int((high + 1) * YEAR) - 1)
        if high >= 2
        else dice.whole(int(low * YEAR), int(high * YEAR))
    )


def _health(dice: Dice, age: float) -> Health:
    weights = next(weights for below, weights in ILLNESS if age < below)
    return dice.weighted(HEALTH, weights)


def _died(dice: Dice, age: float, place: int, today: date) -> date | None:
    """Some of the old have died, within the last two years."""
    dead = place == DECEASED or (age >= 70 and place not in LIVING and place not in ILL and dice.chance(0.05))
    return today - timedelta(days=dice.whole(15, 700)) if dead else None


def _plain(name: str) -> str:
    """A name as an address of mail has it."""
    return "".join(sign for sign in name.lower() if "a" <= sign <= "z")


def _kin(dice: Dice, age: float, marital: str, sex: str, origin: Origin, family: str) -> tuple[str, str, str]:
    """Parents of children, spouses of the married, children of the old, a friend of anybody else."""
    if age < 18:
        relation = dice.pick(("MTH", "FTH"))
        given = dice.pick(origin.female if relation == "MTH" else origin.male)
    elif marital == "M":
        relation = "SPS"
        given = dice.pick(origin.male if sex == "female" else origin.female)
    elif age >= 60:
        relation = dice.pick(("DAU", "SON"))
        given = dice.pick(origin.female if relation == "DAU" else origin.male)
    else:
        relation, given = "FRND", dice.pick((*origin.female, *origin.male))
        family = dice.pick(dice.weighted(ORIGINS, WEIGHTS).family)
    return relation, f"{given} {family}", draw_phone(dice)


def _resembling(person: Person, model: Person, planted: Planted, dice: Dice) -> Person:
    """The same patient made to look like an earlier one."""
    named = replace(person, sex=model.sex, given=model.given, family=model.family, maiden="", email="", died=None)
    match planted.kind:
        case "same name":
            near = abs((person.born - model.born).days) < 2 * YEAR
            return replace(named, born=person.born - timedelta(days=int(6 * YEAR)) if near else person.born)
        case "same name, born days apart":
            born = model.born - timedelta(days=dice.whole(1, 9))
            return replace(named, born=born, health=model.health, marital=model.marital, kin=person.kin)
        case "twins":
            return _twin(person, model, dice)
        case "record numbers transposed":
            return replace(person, mrn=transposed(model.mrn))
        case "maiden name":
            return replace(person, given=model.given, maiden=model.family, marital="M", email="", died=None)
        case "registered twice":
            return _again(person, model)
        case "father and son":
            born = model.born + timedelta(days=dice.whole(int(22 * YEAR), int(32 * YEAR)))
            return replace(named, born=born, address=model.address, suffix="Jr.", middle=model.middle, health="healthy")


def _twin(person: Person, model: Person, dice: Dice) -> Person:
    names = model.origin.female if person.sex == "female" else model.origin.male
    given = dice.pick([name for name in names if name not in (model.given, model.middle)])
    same = replace(person, family=model.family, born=model.born, address=model.address, phone=model.phone)
    shared = replace(same, health=model.health, language=model.language, kin=model.kin, marital=model.marital)
    return replace(shared, given=given, middle="", maiden="", died=None, email="")


def _again(person: Person, model: Person) -> Person:
    """The same person, entered a second time by somebody who did not look."""
    given = SHORT.get(model.given, model.given)
    family = model.family if given != model.given else miswritten(model.family)
    kept = replace(model, number=person.number, mrn=person.mrn, given=given, family=family, middle="", email="")
    moved = replace(kept, address=kept.address._replace(unit=""), moved=None, phone=person.phone)
    return replace(moved, health="healthy", maiden="")


def miswritten(name: str) -> str:
    """A name as somebody hears it on the phone: one of two equal letters is missing, or two have changed places."""
    for place in range(1, len(name)):
        if name[place] == name[place - 1]:
            return name[:place] + name[place + 1 :]
    last = len(name) - 1
    return name[: last - 1] + name[last] + name[last - 1] if last > 1 else name + name[last]


def transposed(mrn: str) -> str:
    """The same digits, two neighbours changed about: the last that differ."""
    for place in range(len(mrn) - 2, 0, -1):
        if mrn[place] != mrn[place + 1]:
            return mrn[:place] + mrn[place + 1] + mrn[place] + mrn[place + 2 :]
    return mrn[:-1] + str((int(mrn[-1]) + 1) % 10)
