"""Draw patients: age, name, address, contacts and general health."""

from dataclasses import dataclass, replace
from datetime import date, timedelta
from typing import Literal

from clerkship.suite_files.synthetic.addresses import Address, PhoneNumberPool, draw_address
from clerkship.suite_files.synthetic.lookalikes import (
    BIRTH_NAME_PLACES,
    DECEASED_PLACE,
    FEMALE_PLACES,
    LIVING_PLACES,
    LOOK_ALIKE_RULES,
    MALE_PLACES,
    LookAlikeRule,
    get_place,
)
from clerkship.suite_files.synthetic.organizations import ORGANIZATIONS
from clerkship.suite_files.synthetic.random_source import RandomSource
from clerkship.suite_files.synthetic.times import age_in_years
from clerkship.text.known_names import ORIGIN_WEIGHTS, ORIGINS, SHORT_NAMES, Origin

PLANTED_ILLNESSES: dict[int, tuple[str, ...]] = {
    8: ("diabetes",),
    13: ("hypertension", "failure"),
    22: ("hypertension", "failure", "hypokalemia"),
    27: ("diabetes", "hyperlipidemia", "hypertension"),
    29: ("hypertension", "diabetes", "kidney3"),
    36: ("fibrillation", "hypertension"),
    41: ("coronary", "failure", "hyperlipidemia"),
    44: ("hypothyroidism", "anemia"),
}
"""Illnesses by place in a block of fifty patients, so that even a small dataset has patients for tasks about them."""
VISIBLE_ILLNESSES = ("obesity", "copd", "hypertension")
"""Illnesses that affect the build. A patient with two records has none of them, because both records would need it."""
ELDERLY = (60, 79)
"""Ages in years of the patients with planted illnesses."""
Health = Literal["healthy", "one", "several", "frail"]
YEAR = 365.25
MONTH = YEAR / 12
AGE_GROUPS: tuple[tuple[float, float], ...] = (
    (50, 64), (30, 39), (75, 84), (3, 5), (65, 74), (18, 29), (40, 49), (0, 27 / YEAR), (55, 69), (85, 94),
    (9, 13), (30, 45), (65, 74), (40, 49), (1 / 12, 11 / 12), (50, 64), (75, 84), (14, 17), (95, 101), (20, 29),
)  # fmt: skip
"""Ages in years. Every twenty patients cover all groups; random ages would rarely include the very young and old."""
HEALTH_LEVELS: tuple[Health, ...] = ("healthy", "one", "several", "frail")
HEALTH_WEIGHTS = (
    (18, (0.72, 0.28, 0.0, 0.0)),
    (40, (0.5, 0.38, 0.12, 0.0)),
    (65, (0.2, 0.35, 0.4, 0.05)),
    (85, (0.05, 0.25, 0.5, 0.2)),
    (200, (0.0, 0.1, 0.4, 0.5)),
)
"""Maximum age (exclusive), and the weight of each level of health."""
MARITAL_STATUSES: tuple[tuple[int, tuple[str, ...]], ...] = (
    (20, ("S",)),
    (30, ("S", "S", "S", "M")),
    (55, ("S", "M", "M", "M", "D")),
    (200, ("S", "M", "M", "M", "D", "W")),
)
"""Maximum age (exclusive), and possible marital statuses."""
NAMESAKES = ("same name", "same name, born days apart", "father and son")
MAX_NAME_TRIES = 40
"""How often another name is drawn if one is taken."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SyntheticPerson:
    """The identity of a patient, before any visit."""

    number: int
    sex: Literal["female", "male"]
    born: date
    died: date | None
    health: Health
    origin: Origin
    given: str
    middle: str = ""
    family: str
    maiden: str = ""
    suffix: str = ""
    mrn: str
    address: Address
    moved: Address | None
    phone: str = ""
    mobile: str = ""
    email: str = ""
    language: tuple[str, str]
    marital: str = "S"
    kin: tuple[str, str, str] = ("FRND", "", "")
    """The contact: relationship, name, phone."""
    body_number: int
    """The number of the patient whose body they share: their own number, except in a duplicate record."""

    @property
    def tag(self) -> str:
        """The part that all ids of the patient contain."""
        return f"{self.number:04}"

    @property
    def key(self) -> str:
        """The key of the Patient resource, such as `Patient/pat-0001`."""
        return f"Patient/pat-{self.tag}"

    @property
    def name(self) -> str:
        """Given name, family name and suffix."""
        suffix = f" {self.suffix}" if self.suffix else ""
        return f"{self.given} {self.family}{suffix}"

    def age(self, day: date) -> int:
        """Return the age on a day, in years."""
        return age_in_years(self.born, day)


class PatientRegister:
    """Draws patients in order. Each depends on the seed, its number, and the patients before it."""

    def __init__(self, seed: int, today: date) -> None:
        self._seed = seed
        self._today = today
        self._block: list[SyntheticPerson] = []
        self._taken: set[str] = set()
        self._named: set[tuple[str, str]] = set()
        self._phones = PhoneNumberPool(frozenset(organization.phone for organization in ORGANIZATIONS))

    def draw(self, number: int) -> SyntheticPerson:
        """Draw the patient with this number. Call it with consecutive numbers, from 1."""
        place = get_place(number)
        if place == 1:
            self._block = []
        rng = RandomSource(self._seed, "person", number)
        person = self._draw_person(rng, number, place)
        rule = LOOK_ALIKE_RULES.get(place)
        model = self._block[rule.model - 1] if rule is not None else None
        if rule is not None and model is not None:
            person = _make_look_alike(person, model, rule.kind, rng)
        if rule is None or rule.kind not in (*NAMESAKES, "registered twice"):
            person = self._make_name_unique(person, rng, rule)
        if rule is not None and model is not None and rule.kind == "registered twice":
            person = replace(person, phone=self._phones.assign(rng))
        else:
            person = self._add_details(person, rng, rule, model)
        person = replace(person, mrn=self._make_mrn_unique(person.mrn))
        self._taken.add(person.mrn)
        self._named |= _list_names(person)
        self._block.append(person)
        return person

    def _make_mrn_unique(self, mrn: str) -> str:
        while mrn in self._taken:
            mrn = f"{(int(mrn) + 101) % 10_000_000:07}"
        return mrn

    def _make_name_unique(
        self, person: SyntheticPerson, rng: RandomSource, rule: LookAlikeRule | None
    ) -> SyntheticPerson:
        """Return the person with a name that no earlier patient has; parts of the name that a look-alike rule sets
        stay.
        """
        kind = rule.kind if rule is not None else ""
        names = person.origin.female if person.sex == "female" else person.origin.male
        for _ in range(MAX_NAME_TRIES):
            if not self._is_name_taken(person.given, replace(person, maiden="")) and person.family != person.maiden:
                break
            given = person.given if kind == "maiden name" else rng.choice(names)
            family = person.family if kind == "twins" else rng.choice(person.origin.family)
            person = replace(person, given=given, family=family)
        return person

    def _is_name_taken(self, given: str, person: SyntheticPerson) -> bool:
        """Return whether an earlier patient has or had this name."""
        return any(
            (_keep_letters(given), _keep_letters(family)) in self._named
            for family in (person.family, person.maiden)
            if family
        )

    def _draw_maiden_name(self, person: SyntheticPerson, middle: str, rng: RandomSource) -> str:
        """Return the maiden name of some women, if no earlier patient has it; else nothing."""
        if person.sex == "male" or not rng.chance(0.35):
            return ""
        former = replace(person, family=rng.choice(person.origin.family))
        taken = (
            former.family == person.family
            or self._is_name_taken(person.given, former)
            or self._is_name_taken(middle, former)
        )
        return "" if taken else former.family

    def _add_details(
        self, person: SyntheticPerson, rng: RandomSource, rule: LookAlikeRule | None, model: SyntheticPerson | None
    ) -> SyntheticPerson:
        """Add what depends on the name: middle name, marital status, email, phone numbers and contact."""
        kind = rule.kind if rule is not None else ""
        age = (self._today - person.born).days / YEAR
        names = person.origin.female if person.sex == "female" else person.origin.male
        own = [name for name in names if name != person.given and not self._is_name_taken(name, person)]
        middle = rng.choice(own) if own and rng.chance(0.6) else ""
        marital = rng.choice(next(states for below, states in MARITAL_STATUSES if age < below))
        keeps_birth_name = rule is not None or get_place(person.number) in BIRTH_NAME_PLACES or marital == "S"
        maiden = person.maiden if keeps_birth_name else self._draw_maiden_name(person, middle, rng)
        mail = f"{_keep_letters(person.given)}.{_keep_letters(person.family)}{rng.integer(2, 99)}@mail.example"
        phone = self._phones.assign(rng) if kind != "twins" else person.phone
        mobile = self._phones.assign(rng) if age >= 12 and rng.chance(0.5) else ""
        person = replace(
            person,
            middle=model.middle if model is not None and kind == "father and son" else middle,
            marital="M" if kind == "maiden name" else marital,
            maiden=maiden,
            email=mail if age >= 12 and rng.chance(0.6) else "",
            phone=phone,
            mobile=mobile,
        )
        if model is not None and kind == "twins" and age < 18:
            return replace(person, kin=model.kin)
        return replace(person, kin=_draw_contact(rng, age, person, self._phones.assign_contact(rng), model))

    def _draw_person(self, rng: RandomSource, number: int, place: int) -> SyntheticPerson:
        days = _draw_age_in_days(rng, number, place)
        born = self._today - timedelta(days=days)
        sex: Literal["female", "male"] = rng.choice(("female", "male"))
        sex = "female" if place in FEMALE_PLACES else "male" if place in MALE_PLACES else sex
        origin = rng.weighted_choice(ORIGINS, ORIGIN_WEIGHTS)
        age = days / YEAR
        return SyntheticPerson(
            number=number,
            sex=sex,
            born=born,
            died=_draw_death(rng, age, place, self._today),
            health="several" if place in PLANTED_ILLNESSES else _draw_health(rng, age),
            origin=origin,
            given=rng.choice(origin.female if sex == "female" else origin.male),
            family=rng.choice(origin.family),
            mrn=f"{rng.integer(1_000_000, 9_899_999)}",
            address=draw_address(rng),
            moved=draw_address(rng) if age > 3 and rng.chance(0.12) else None,
            language=origin.language if rng.chance(origin.speak_it) else ("en", "English"),
            body_number=number,
        )


def _list_names(person: SyntheticPerson) -> set[tuple[str, str]]:
    """Return all current and former names in normalized form."""
    return {
        (_keep_letters(given), _keep_letters(family))
        for given in (person.given, person.middle)
        for family in (person.family, person.maiden)
        if given and family
    }


def _draw_age_in_days(rng: RandomSource, number: int, place: int) -> int:
    low, high = AGE_GROUPS[(number - 1) % len(AGE_GROUPS)]
    if place == DECEASED_PLACE:
        low, high = 72, 92
    elif place in PLANTED_ILLNESSES:
        low, high = ELDERLY
    elif place in FEMALE_PLACES:
        low, high = 30, 62
    elif place == 18:
        low, high = 52, 70
    return (
        rng.integer(int(low * YEAR), int((high + 1) * YEAR) - 1)
        if high >= 2
        else rng.integer(int(low * YEAR), int(high * YEAR))
    )


def _draw_health(rng: RandomSource, age: float) -> Health:
    weights = next(weights for below, weights in HEALTH_WEIGHTS if age < below)
    return rng.weighted_choice(HEALTH_LEVELS, weights)


def _draw_death(rng: RandomSource, age: float, place: int, today: date) -> date | None:
    """Return the day of death, within the last two years, for some old patients."""
    dead = place == DECEASED_PLACE or (
        age >= 70 and place not in LIVING_PLACES and place not in PLANTED_ILLNESSES and rng.chance(0.05)
    )
    return today - timedelta(days=rng.integer(15, 700)) if dead else None


def _keep_letters(name: str) -> str:
    """Return a name as it is used in an email address."""
    return "".join(sign for sign in name.lower() if "a" <= sign <= "z")


def _draw_contact(
    rng: RandomSource, age: float, person: SyntheticPerson, phone: str, model: SyntheticPerson | None
) -> tuple[str, str, str]:
    """Return a contact: a parent for children, a spouse for the married, a child for the old, else a friend."""
    origin, family = person.origin, person.family
    if age < 18:
        relation = rng.choice(("MTH", "FTH"))
        names: tuple[str, ...] = origin.female if relation == "MTH" else origin.male
    elif person.marital == "M":
        relation, names = "SPS", origin.male if person.sex == "female" else origin.female
    elif age >= 60:
        relation = rng.choice(("DAU", "SON"))
        names = origin.female if relation == "DAU" else origin.male
    else:
        relation, names = "FRND", (*origin.female, *origin.male)
        family = rng.choice(rng.weighted_choice(ORIGINS, ORIGIN_WEIGHTS).family)
    known = (person.given, model.kin[1].partition(" ")[0] if model is not None else "")
    return relation, f"{rng.choice([name for name in names if name not in known])} {family}", phone


def _make_look_alike(person: SyntheticPerson, model: SyntheticPerson, kind: str, rng: RandomSource) -> SyntheticPerson:
    """Return the person changed to resemble an earlier one."""
    alike = replace(person, origin=model.origin, language=model.language, died=None)
    named = replace(alike, sex=model.sex, given=model.given, family=model.family)
    match kind:
        case "same name":
            near = abs((person.born - model.born).days) < 2 * YEAR
            return replace(named, born=person.born - timedelta(days=int(6 * YEAR)) if near else person.born)
        case "same name, born days apart":
            return replace(named, born=model.born - timedelta(days=rng.integer(1, 9)), health=model.health)
        case "twins":
            return _make_twin(alike, model, rng)
        case "record numbers transposed":
            return replace(person, mrn=transpose_digits(model.mrn))
        case "maiden name":
            family = rng.choice([name for name in model.origin.family if name != model.family])
            return replace(alike, given=model.given, family=family, maiden=model.family)
        case "registered twice":
            return _duplicate(person, model)
        case _:
            born = model.born + timedelta(days=rng.integer(int(22 * YEAR), int(32 * YEAR)))
            return replace(named, born=born, address=model.address, suffix="Jr.", health="healthy")


def _make_twin(person: SyntheticPerson, model: SyntheticPerson, rng: RandomSource) -> SyntheticPerson:
    names = model.origin.female if person.sex == "female" else model.origin.male
    given = rng.choice([name for name in names if name not in (model.given, model.middle)])
    same = replace(person, family=model.family, born=model.born, address=model.address, phone=model.phone)
    return replace(same, given=given, health=model.health)


def _duplicate(person: SyntheticPerson, model: SyntheticPerson) -> SyntheticPerson:
    """Return the same person registered a second time, with a variant of the name."""
    given = SHORT_NAMES.get(model.given, model.given)
    family = model.family if given != model.given else misspell_name(model.family)
    duplicate = replace(model, number=person.number, mrn=person.mrn, given=given, family=family, middle="", email="")
    return replace(
        duplicate, address=duplicate.address._replace(unit=""), moved=None, mobile="", health="healthy", maiden=""
    )


def misspell_name(name: str) -> str:
    """Return a misspelt name: one of two equal letters is missing, or two letters are swapped."""
    for place in range(1, len(name)):
        if name[place] == name[place - 1]:
            return name[:place] + name[place + 1 :]
    last = len(name) - 1
    return name[: last - 1] + name[last] + name[last - 1] if last > 1 else name + name[last]


def transpose_digits(mrn: str) -> str:
    """Return the number with its last two different neighbouring digits swapped."""
    for place in range(len(mrn) - 2, 0, -1):
        if mrn[place] != mrn[place + 1]:
            return mrn[:place] + mrn[place + 1] + mrn[place] + mrn[place + 2 :]
    return mrn[:-1] + str((int(mrn[-1]) + 1) % 10)
